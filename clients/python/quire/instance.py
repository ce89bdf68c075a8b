"""Instance: one running program, seen from its client."""

from __future__ import annotations

import asyncio
import collections
import logging
import mimetypes
import os
import pathlib
import weakref
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Coroutine, Generic, TypeVar

from .errors import InvalidArgument, NotFound, QuireError, QuotaExceeded, TimedOut, Unavailable
from .frames import PAYLOAD_BYTES_MAX, Frame
from .values import End, InstanceInfo, LogLine

if TYPE_CHECKING:
    from .client import Client

T = TypeVar("T")
_logger = logging.getLogger("quire")
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}


async def within(work: Coroutine[Any, Any, T], timeout: float | None) -> T:
    """The value of `work`; TimedOut after so many seconds. With 0 it has what is there already."""
    try:
        return await asyncio.wait_for(work, timeout if timeout is None else max(timeout, 1e-9))
    except asyncio.TimeoutError:
        raise TimedOut(f"nothing came within {timeout} s") from None


class Mailbox(Generic[T]):
    """Values in order, until it is closed with a reason. The client limits their bytes. A value
    counts until it is taken, or until the mailbox is gone and no caller can take it."""

    OVERHEAD_BYTES = 256  # Added to the bytes of each value.

    def __init__(self, client: Client, size: Callable[[T], int]) -> None:
        self._client = client
        self._size = lambda value: Mailbox.OVERHEAD_BYTES + size(value)
        self._values: collections.deque[T] = collections.deque()
        self._waiting: set[asyncio.Future[None]] = set()
        self._closed: QuireError | None = None
        self._held_bytes = 0

    @property
    def held_bytes(self) -> int:
        return self._held_bytes

    def __del__(self) -> None:
        self._client.release_from_anywhere(self._held_bytes)

    def _hold(self, size: int) -> None:
        self._held_bytes += size
        self._client.hold(size)

    def _wake(self) -> None:
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)
        self._waiting.clear()

    def put(self, value: T) -> None:
        self._values.append(value)
        self._hold(self._size(value))
        self._wake()

    def close(self, why: QuireError) -> None:
        self._closed = self._closed or why
        self._wake()

    async def get(self) -> T:
        while not self._values:
            if self._closed is not None:
                raise self._closed
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.add(waiting)
            try:
                await self._client.wait(waiting)
            finally:
                self._waiting.discard(waiting)
        value = self._values.popleft()
        self._hold(-self._size(value))
        return value


class ReceivedFile:
    """A file that a program sends: read it whole, or iterate over its parts as they come."""

    def __init__(self, client: Client, head: dict[str, Any]) -> None:
        self.name: str = head["name"]
        self.media_type: str = head["media_type"]
        self.file_bytes: int = head["file_bytes"]
        self.parts: Mailbox[bytes] = Mailbox(client, len)
        self.received_bytes = 0
        self._read_bytes = 0

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._read_bytes == self.file_bytes:
            raise StopAsyncIteration
        part = await self.parts.get()
        self._read_bytes += len(part)
        return part

    async def read(self) -> bytes:
        """All that was not read yet. Unavailable: the program gave the file up."""
        return b"".join([part async for part in self])


class Instance:
    """Made by Client.launch and Client.attach. Iterating gives its messages, until it has ended.

    As `async with await client.launch(...) as instance` it is aborted where the block is left while
    it runs, also by an exception and by the end of a task, unless this client has detached from it.
    """

    def __init__(
        self, client: Client, info: InstanceInfo, on_log: Callable[[LogLine], None] | None
    ) -> None:
        self.info = info
        self._client = client
        self._log = on_log  # Not bound to self: without a cycle, an unused instance goes at once.
        self._messages: Mailbox[bytes] = Mailbox(client, len)
        self._files: Mailbox[ReceivedFile] = Mailbox(client, lambda _: 0)
        self._open_files: dict[int, ReceivedFile] = {}
        # Files that can still be read, also those that came whole.
        self._readable_files: weakref.WeakSet[ReceivedFile] = weakref.WeakSet()
        self._sending_file = asyncio.Lock()  # One goes to an instance at a time.
        self._ended: asyncio.Future[End] = asyncio.get_running_loop().create_future()
        # The caller may never ask for the end, and asyncio would log its exception.
        self._ended.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    @property
    def name(self) -> str:
        """By it any connection attaches: keep it as one keeps a password."""
        return self.info.name

    async def __aenter__(self) -> "Instance":
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self._ended.done():
            await self._client.abort_for_sure(self)

    # ---- To the program.

    async def send(self, message: bytes | str) -> None:
        """QuotaExceeded, with retry_after: the program has not received enough of them."""
        payload = message.encode() if isinstance(message, str) else message
        await self._ask("send", {}, payload)

    async def close_input(self) -> None:
        """No more messages and files: the program's receive() then says so."""
        await self._ask("close_input")

    async def send_file(
        self,
        source: str | os.PathLike[str] | bytes,
        name: str = "",
        media_type: str = "",
    ) -> None:
        """A path, or bytes with a name. Waits where the program reads slowly, and for the files
        that are on their way."""
        data = source if isinstance(source, bytes) else pathlib.Path(source).read_bytes()
        if not name:
            if isinstance(source, bytes):
                raise InvalidArgument("bytes that are sent as a file need a name")
            name = pathlib.Path(source).name
        media_type = media_type or mimetypes.guess_type(name)[0] or "application/octet-stream"
        head = {"name": name, "media_type": media_type, "file_bytes": len(data)}
        async with self._sending_file:
            for offset in range(0, max(len(data), 1), PAYLOAD_BYTES_MAX):
                part = data[offset : offset + PAYLOAD_BYTES_MAX]
                await self._send_part({**head, "offset": offset}, part)

    async def _send_part(self, head: dict[str, Any], part: bytes) -> None:
        while True:
            try:
                return await self._ask("send_file", head, part)
            except QuotaExceeded as error:
                if error.retry_after is None:
                    raise
                await asyncio.sleep(error.retry_after)

    async def abort(self) -> None:
        """Stops the program; its end says "killed"."""
        await self._ask("abort")

    async def detach(self) -> None:
        """The program goes on without a client; attach(name) finds it again."""
        await self._client.ask(
            {"verb": "detach", "instance": self.info.instance},
            convert=lambda _: self._client.forget(
                self, Unavailable("this client has detached from the instance")
            ),
        )

    async def _ask(
        self, verb: str, more: dict[str, Any] | None = None, payload: bytes | None = None
    ) -> None:
        head = {"verb": verb, "instance": self.info.instance, **(more or {})}
        await self._client.ask(head, payload)

    # ---- From the program.

    async def receive(self, timeout: float | None = None) -> bytes:
        """The next message. NotFound: it has ended, and all were received. TimedOut: none came
        within so many seconds; one that comes later can be received all the same."""
        return await within(self._messages.get(), timeout)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await self._messages.get()
        except NotFound:
            raise StopAsyncIteration from None

    async def receive_file(self, timeout: float | None = None) -> ReceivedFile:
        """The next file, which may still be on its way. NotFound and TimedOut: as receive()."""
        return await within(self._files.get(), timeout)

    @property
    def held_bytes(self) -> int:
        """Bytes of messages that were not received, and of files that were not read."""
        files = sum(each.parts.held_bytes for each in self._readable_files)
        return self._messages.held_bytes + self._files.held_bytes + files

    async def result(self, timeout: float | None = None) -> End:
        """Waits for the end. Messages and files stay to be received. TimedOut: as receive()."""
        return await within(self._client.wait(self._ended), timeout)

    # ---- What the client hands on.

    def handle(self, frame: Frame) -> None:
        getattr(self, "_on_" + frame.head["event"], lambda _: None)(frame)

    def _on_message(self, frame: Frame) -> None:
        self._messages.put(frame.payload or b"")

    def _on_log(self, frame: Frame) -> None:
        line = LogLine(frame.head["source"], frame.head["level"], frame.head["line"])
        if self._log is not None:
            try:
                self._log(line)
            except Exception:  # The user's: the connection and its other instances go on.
                _logger.exception("instance %d: on_log has failed", self.info.instance)
            return
        level = _LEVELS.get(line.level, logging.ERROR)
        _logger.log(level, "instance %d: %s", self.info.instance, line.line)

    def _on_file(self, frame: Frame) -> None:
        head, part = frame.head, frame.payload or b""
        file = self._open_files.get(head["file"])
        if file is None:
            file = self._open_files[head["file"]] = ReceivedFile(self._client, head)
            self._readable_files.add(file)
            self._files.put(file)
        file.parts.put(part)
        file.received_bytes += len(part)
        if file.received_bytes >= file.file_bytes:
            del self._open_files[head["file"]]

    def _on_file_dropped(self, frame: Frame) -> None:
        file = self._open_files.pop(frame.head["file"], None)
        if file is not None:
            file.parts.close(Unavailable("the program gave the file up"))

    def _on_detached(self, frame: Frame) -> None:
        self._client.forget(self, Unavailable("the client is detached: " + frame.head["message"]))

    def _on_ended(self, frame: Frame) -> None:
        self._client.forget(self, NotFound("the program has ended"))
        if not self._ended.done():
            self._ended.set_result(End.of(frame.head, frame.payload or b""))

    def close(self, why: QuireError) -> None:
        """Nothing more comes; what came stays to be received."""
        self._messages.close(why)
        self._files.close(why)
        for file in self._open_files.values():
            file.parts.close(why)
        self._open_files.clear()
        if not self._ended.done() and not isinstance(why, NotFound):
            self._ended.set_exception(why)
