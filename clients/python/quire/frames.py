"""Frames and their bytes. docs/reference/protocol.md describes them; nothing here waits or connects."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from .errors import InvalidArgument, TooLarge

SUBPROTOCOL = "quire.1"
KEY_SUBPROTOCOL = "quire.key."  # With the key after it.
HEADER_BYTES_MAX = 64 << 10  # Of a binary message.
PAYLOAD_BYTES_MAX = 1 << 20
FRAME_BYTES_MAX = 2 << 20
_LENGTH_BYTES = 4


class Frame(NamedTuple):
    """The content of a WebSocket message: a JSON object, and in a binary message bytes after it."""

    head: dict[str, Any]
    payload: bytes | None = None  # None: a text message.


def _check_size(what: str, size: int, size_max: int) -> None:
    if size > size_max:
        raise TooLarge(f"{what} of {size} bytes; at most {size_max} are allowed")


def encode(frame: Frame) -> str | bytes:
    """TooLarge: a server would not read it, and might close the connection for it."""
    text = json.dumps(frame.head, ensure_ascii=False, separators=(",", ":"))
    head = text.encode()
    if frame.payload is None:
        _check_size("text frame", len(head), FRAME_BYTES_MAX)
        return text
    _check_size("header of a binary frame", len(head), HEADER_BYTES_MAX)
    _check_size("payload", len(frame.payload), PAYLOAD_BYTES_MAX)
    return len(head).to_bytes(_LENGTH_BYTES, "little") + head + frame.payload


def decode(message: str | bytes) -> Frame:
    payload = None
    text: str | bytes = message
    if isinstance(message, bytes):
        end = _LENGTH_BYTES + int.from_bytes(message[:_LENGTH_BYTES], "little")
        if len(message) < end or len(message) < _LENGTH_BYTES:
            raise InvalidArgument(
                f"a binary frame of {len(message)} bytes announces a header up to byte {end}"
            )
        text, payload = message[_LENGTH_BYTES:end], message[end:]
    try:
        head = json.loads(text)
    except ValueError as error:
        raise InvalidArgument(f"the header of a frame is no JSON: {error}") from None
    if not isinstance(head, dict):
        raise InvalidArgument(f"a frame holds {type(head).__name__}, not an object")
    return Frame(head, payload)
