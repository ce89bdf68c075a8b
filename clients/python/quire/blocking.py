"""The client for scripts and notebooks: the same names, and calls that wait until they are done."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from typing import Any, Callable, Coroutine, Iterator, Sequence, TypeVar

from .client import Client
from .errors import ConnectionLost, NotFound
from .instance import Instance, ReceivedFile
from .values import Adapter, End, InstanceInfo, InstanceList, Limits, LogLine, ProgramState, ServerStatus

T = TypeVar("T")
_END_SECONDS = 5.0  # For what waits when the client is closed.


class _Loop:
    """A thread with an event loop, in which the client lives."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()  # What is submitted under it comes before the stop.
        self.is_stopped = False
        self._thread = threading.Thread(target=self._run, name="quire", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(_finish(asyncio.all_tasks(self._loop)))
        finally:
            self._loop.close()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Waits for it; an interrupt (Ctrl-C) cancels it. RuntimeError: from the loop's own thread,
        as in on_log, where it would wait for itself, or after stop()."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("on_log cannot call a blocking client: it would wait for itself")
        with self._lock:
            if self.is_stopped:
                work.close()
                raise RuntimeError("the client is closed; quire.connect_blocking() makes another")
            waiting = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return waiting.result()
        except concurrent.futures.CancelledError:
            raise ConnectionLost("the client was closed meanwhile") from None
        except BaseException:
            waiting.cancel()
            raise

    def stop(self) -> None:
        """Calls that wait in other threads end before it."""
        with self._lock:
            if self.is_stopped:
                return
            self.is_stopped = True
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


async def _finish(tasks: set[asyncio.Task[Any]]) -> None:
    """The tasks know that the connection is closed. Those that do not end in time are canceled."""
    if not tasks:
        return
    _, pending = await asyncio.wait(tasks, timeout=_END_SECONDS)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)


class BlockingClient:
    """Made by connect_blocking(). Several threads may use it at once.

    Use it with `with`, or call close().
    """

    def __init__(self, url: str, **options: Any) -> None:
        self.url = url
        self._client = Client(url, **options)
        self._loop = _Loop()
        try:
            self._loop.call(self._client.open())
        except BaseException:
            self._loop.stop()
            raise

    def close(self) -> None:
        """As Client.close(); a second time it does nothing."""
        if not self._loop.is_stopped:
            self._loop.call(self._client.close())
            self._loop.stop()

    def __enter__(self) -> "BlockingClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_shutting_down(self) -> bool:
        return self._client.is_shutting_down

    def find_program(self, program: str) -> ProgramState:
        return self._loop.call(self._client.find_program(program))

    def upload_adapter(self, name: str, path: str | os.PathLike[str]) -> Adapter:
        return self._loop.call(self._client.upload_adapter(name, path))

    def add_adapter(self, name: str, path: str) -> Adapter:
        return self._loop.call(self._client.add_adapter(name, path))

    def remove_adapter(self, name: str) -> None:
        self._loop.call(self._client.remove_adapter(name))

    def list_adapters(self) -> Sequence[Adapter]:
        return self._loop.call(self._client.list_adapters())

    def upload(self, source: str | os.PathLike[str] | bytes, name: str = "") -> str:
        return self._loop.call(self._client.upload(source, name))

    def name_program(self, program: str, name: str) -> None:
        self._loop.call(self._client.name_program(program, name))

    def launch(
        self,
        program: str,
        arguments: Sequence[str] = (),
        *,
        limits: Limits | None = None,
        detached: bool = False,
        tenant: int = 0,
        deadline: float | None = None,
        seed: int | None = None,
        on_log: Callable[[LogLine], None] | None = None,
    ) -> "BlockingInstance":
        """As Client.launch(). `on_log` is called in another thread, and cannot call this client."""
        launching = self._client.launch(
            program,
            arguments,
            limits=limits,
            detached=detached,
            tenant=tenant,
            deadline=deadline,
            seed=seed,
            on_log=on_log,
        )
        return BlockingInstance(self._loop, self._loop.call(launching))

    def start(self, program: str, arguments: Sequence[str] = (), **options: Any) -> InstanceInfo:
        """As Client.start(), with its keyword arguments."""
        return self._loop.call(self._client.start(program, arguments, **options))

    def attach(
        self,
        instance: str | int,
        *,
        take: bool = False,
        on_log: Callable[[LogLine], None] | None = None,
    ) -> "BlockingInstance":
        attaching = self._client.attach(instance, take=take, on_log=on_log)
        return BlockingInstance(self._loop, self._loop.call(attaching))

    def send(self, instance: int, message: bytes | str) -> None:
        self._loop.call(self._client.send(instance, message))

    def close_input(self, instance: int) -> None:
        self._loop.call(self._client.close_input(instance))

    def abort(self, instance: int) -> None:
        self._loop.call(self._client.abort(instance))

    def list(self) -> InstanceList:
        return self._loop.call(self._client.list())

    def status(self, *, detail: bool = False) -> ServerStatus:
        return self._loop.call(self._client.status(detail=detail))


class BlockingInstance:
    """An instance of a BlockingClient: iterating gives its messages, `with` aborts it as
    `async with` does an Instance. A `timeout` is in seconds; then TimedOut, and nothing is lost."""

    def __init__(self, loop: _Loop, instance: Instance) -> None:
        self._loop = loop
        self._instance = instance

    @property
    def info(self) -> InstanceInfo:
        return self._instance.info

    @property
    def name(self) -> str:
        """By it any connection attaches: keep it as one keeps a password."""
        return self._instance.name

    @property
    def held_bytes(self) -> int:
        return self._instance.held_bytes

    def __enter__(self) -> "BlockingInstance":
        return self

    def __exit__(self, *_: object) -> None:
        if not self._loop.is_stopped:  # Else the instance has lost its client.
            self._loop.call(self._instance.__aexit__())

    def send(self, message: bytes | str) -> None:
        self._loop.call(self._instance.send(message))

    def close_input(self) -> None:
        self._loop.call(self._instance.close_input())

    def send_file(
        self, source: str | os.PathLike[str] | bytes, name: str = "", media_type: str = ""
    ) -> None:
        self._loop.call(self._instance.send_file(source, name, media_type))

    def abort(self) -> None:
        self._loop.call(self._instance.abort())

    def detach(self) -> None:
        self._loop.call(self._instance.detach())

    def receive(self, timeout: float | None = None) -> bytes:
        return self._loop.call(self._instance.receive(timeout))

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return self.receive()
        except NotFound:
            raise StopIteration from None

    def receive_file(self, timeout: float | None = None) -> "BlockingFile":
        return BlockingFile(self._loop, self._loop.call(self._instance.receive_file(timeout)))

    def result(self, timeout: float | None = None) -> End:
        return self._loop.call(self._instance.result(timeout))


class BlockingFile:
    """A file that a program sends: read it whole, or iterate over its parts as they come."""

    def __init__(self, loop: _Loop, file: ReceivedFile) -> None:
        self._loop = loop
        self._file = file
        self.name = file.name
        self.media_type = file.media_type
        self.file_bytes = file.file_bytes

    @property
    def received_bytes(self) -> int:
        return self._file.received_bytes

    def read(self) -> bytes:
        return self._loop.call(self._file.read())

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        part = self._loop.call(_next_part(self._file))
        if part is None:
            raise StopIteration
        return part


async def _next_part(file: ReceivedFile) -> bytes | None:
    async for part in file:
        return part
    return None


def connect_blocking(
    url: str = "ws://127.0.0.1:7847",
    *,
    key: str = "",
    open_seconds: float = 10.0,
    buffer_bytes_max: int = 64 << 20,
    stall_seconds: float = 30.0,
) -> BlockingClient:
    """A client that is open, for scripts and notebooks: an event loop in a thread of its own does
    the work, so that it does not matter whether the caller has one. Parameters as of Client."""
    return BlockingClient(
        url,
        key=key,
        open_seconds=open_seconds,
        buffer_bytes_max=buffer_bytes_max,
        stall_seconds=stall_seconds,
    )
