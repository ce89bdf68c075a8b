"""A client of HTTP for load: many connections at once, in one thread, with the time of each event.

A Connection is kept; one request is on it at a time. It knows what the endpoints of `quire serve` answer with: a body with
a length, or chunks. Whatever else comes is an error, so no answer counts that is not whole.
"""
import asyncio
import dataclasses
import json
import time

TIMEOUT_SECONDS = 300


class BrokenOff(Exception):
    """The server closed the connection before its answer was whole."""


@dataclasses.dataclass
class Answer:
    status: int
    headers: dict
    body: bytes
    began: float          # When the request was sent, in seconds of time.monotonic();
    first_byte: float     # when the head of the answer was there,
    first_event: float    # when the first part of its body was, and
    ended: float          # when all of it was.
    parts: list           # (when, bytes) of each part of the body.

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def is_event_stream(self):
        return self.headers.get("content-type", "").startswith("text/event-stream")

    @property
    def events(self):
        """The data of the events, as texts. BrokenOff if the stream does not say that it is whole."""
        blocks = self.body.decode().split("\n\n")
        data = ["".join(line.removeprefix("data: ") for line in block.splitlines() if line.startswith("data: "))
                for block in blocks]
        return [each for each in data if each]


class Connection:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, host, port):
        return cls(*await asyncio.open_connection(host, port))

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.close()

    def close(self):
        self.writer.close()

    async def request(self, method, path, body=None):
        return await asyncio.wait_for(self._request(method, path, body), TIMEOUT_SECONDS)

    async def _request(self, method, path, body):
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
        if body is not None:
            head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
        began = time.monotonic()
        self.writer.write(head.encode() + b"\r\n" + data)
        try:
            status, headers = await self._head()
            first_byte = time.monotonic()
            parts = [part async for part in self._parts(headers)]
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise BrokenOff(str(error)) from None
        first_event = parts[0][0] if parts else first_byte
        return Answer(status, headers, b"".join(part for _, part in parts), began, first_byte, first_event,
                      time.monotonic(), parts)

    async def _head(self):
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        pairs = [line.split(":", 1) for line in lines[1:] if line]
        return int(lines[0].split()[1]), {name.lower(): value.strip() for name, value in pairs}

    async def _parts(self, headers):
        """(when, bytes) of each part of the body."""
        if headers.get("transfer-encoding") != "chunked":
            body = await self.reader.readexactly(int(headers["content-length"]))
            yield time.monotonic(), body
            return
        while True:
            count = int(await self.reader.readuntil(b"\r\n"), 16)
            chunk = await self.reader.readexactly(count + 2)
            if count == 0:
                return
            yield time.monotonic(), chunk[:-2]


def percentile(values, share):
    """Nearest rank; `values` may be in any order."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def milliseconds(values):
    """{"p50", "p99", "max"} of durations in seconds."""
    if not values:
        return {}
    return {"p50": round(1e3 * percentile(values, 0.5), 2), "p99": round(1e3 * percentile(values, 0.99), 2),
            "max": round(1e3 * max(values), 2)}
