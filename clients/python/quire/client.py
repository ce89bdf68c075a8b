"""Client: one connection to a server."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import inspect
import logging
import os
import pathlib
import urllib.parse
from typing import Any, Callable, NamedTuple, Sequence, TypeVar

import websockets
from websockets.exceptions import ConnectionClosed, InvalidHandshake, WebSocketException

from .errors import (
    Cancelled,
    ConnectionLost,
    InvalidArgument,
    QuireError,
    Stalled,
    error_of,
)
from .frames import (
    FRAME_BYTES_MAX,
    KEY_SUBPROTOCOL,
    PAYLOAD_BYTES_MAX,
    SUBPROTOCOL,
    Frame,
    decode,
    encode,
)
from .instance import Instance
from .values import (
    Adapter,
    InstanceInfo,
    InstanceList,
    Limits,
    LogLine,
    ProgramState,
    ServerStatus,
    checked_arguments,
)

T = TypeVar("T")
_logger = logging.getLogger("quire")
_STAY_SECONDS = 10.0  # Much less than half of the time after which a server closes.


class _Asked(NamedTuple):
    """A request whose reply has not come."""

    reply: asyncio.Future[Any]
    convert: Callable[[Frame], Any]
    undo: str  # The verb that is sent for the instance if no caller waits for the reply any more.


class Client:
    """Use it as `async with Client(url) as client`, or call open() and close(). `key` is for a server
    that wants one (`quire serve --keys`).

    The client keeps about `buffer_bytes_max` of the instances' output until it is received. Beyond
    that it reads nothing more from the server, which stops the programs. If that lasts for
    `stall_seconds`, calls that wait for the server raise Stalled instead of waiting forever.
    """

    def __init__(
        self,
        url: str = "ws://127.0.0.1:7847",
        *,
        key: str = "",
        open_seconds: float = 10.0,
        buffer_bytes_max: int = 64 << 20,
        stall_seconds: float = 30.0,
    ) -> None:
        self.url = url
        self._key = key
        self.is_shutting_down = False  # The server has said so.
        self._open_seconds = open_seconds
        self._buffer_bytes_max = buffer_bytes_max
        self._stall_seconds = stall_seconds
        self._socket: Any = None
        self._reader: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lost: QuireError | None = ConnectionLost(f"the connection to {url} is not open")
        self._stalled: QuireError | None = None
        self._last_id = 0
        self._pending: dict[int, _Asked] = {}
        self._undoing: set[asyncio.Task[None]] = set()
        self._waiting: set[asyncio.Future[Any]] = set()
        self._instances: dict[int, Instance] = {}
        self._uploading = asyncio.Lock()  # A connection uploads one program at a time.
        self._held_bytes = 0
        self._room = asyncio.Event()

    async def open(self) -> None:
        """ConnectionLost, with retry_after where the server is full; InvalidArgument for an address
        that is none."""
        _check_address(self.url)
        try:
            self._socket = await websockets.connect(
                self.url,
                subprotocols=[websockets.Subprotocol(each) for each in self._subprotocols()],
                max_size=FRAME_BYTES_MAX,
                compression=None,
                open_timeout=self._open_seconds,
                ping_interval=None,  # The server pings.
                **_without_proxy(),
            )
        except InvalidHandshake as error:
            raise _refusal(self.url, error) from error
        except (OSError, asyncio.TimeoutError) as error:
            raise ConnectionLost(
                f"nothing listens at {self.url} ({error or 'no answer in time'}); "
                "`quire serve` starts a server"
            ) from error
        except (WebSocketException, EOFError, ValueError) as error:
            raise ConnectionLost(f"{self.url} is not a Quire server: {error}") from error
        if self._socket.subprotocol != SUBPROTOCOL:
            await self._socket.close()
            raise ConnectionLost(
                f"{self.url} is not a Quire server: it does not speak {SUBPROTOCOL}"
            )
        self._lost = None
        self._loop = asyncio.get_running_loop()
        self._reader = asyncio.create_task(self._read(self._socket))

    def _subprotocols(self) -> list[str]:
        # All versions of `websockets` can say this, and so can a browser.
        return [SUBPROTOCOL, KEY_SUBPROTOCOL + self._key] if self._key else [SUBPROTOCOL]

    async def close(self) -> None:
        """Instances that are not detached are stopped after the server's grace time."""
        socket, reader = self._socket, self._reader
        if socket is not None:
            await socket.close()
        if reader is not None:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
        self._lose(socket, ConnectionLost(f"the connection to {self.url} was closed"))

    async def __aenter__(self) -> "Client":
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # ---- Programs.

    async def find_program(self, program: str) -> ProgramState:
        """By "sha256:..." or by its name."""
        return await self.ask(
            {"verb": "find_program", "program": program},
            convert=lambda frame: ProgramState(
                frame.head.get("program"), frame.head["state"], frame.head["received_bytes"]
            ),
        )

    async def upload(self, source: str | os.PathLike[str] | bytes, name: str = "") -> str:
        """Brings a module to the server, unless it is there, and returns its "sha256:...".

        With a name, clients and programs may launch it by that from here on.
        """
        wasm = source if isinstance(source, bytes) else pathlib.Path(source).read_bytes()
        program = "sha256:" + hashlib.sha256(wasm).hexdigest()
        if not await self._has_program(program):
            async with self._uploading:
                if not await self._has_program(program):  # Who went before may have brought it.
                    await self._upload_parts(program, wasm)
        if name:
            await self.name_program(program, name)
        return program

    async def _has_program(self, program: str) -> bool:
        return (await self.find_program(program)).state in ("compiling", "ready")

    async def _upload_parts(self, program: str, wasm: bytes) -> None:
        head = {"verb": "upload", "program": program, "program_bytes": len(wasm)}
        for offset in range(0, max(len(wasm), 1), PAYLOAD_BYTES_MAX):
            await self.ask({**head, "offset": offset}, wasm[offset : offset + PAYLOAD_BYTES_MAX])

    async def name_program(self, program: str, name: str) -> None:
        """AlreadyExists: the operator of the server gave this name to another program."""
        await self.ask({"verb": "name_program", "program": program, "name": name})

    # ---- Adapters. A name is NAME, or MODEL:NAME for another than the first model.

    async def upload_adapter(self, name: str, path: str | os.PathLike[str]) -> Adapter:
        """Brings a folder that PEFT saved, or a GGUF file. AlreadyExists: another adapter has the name."""
        parts = _adapter_files(pathlib.Path(path))
        content = b"".join(parts.values())
        head = {
            "verb": "upload_adapter",
            "name": name,
            "files": [{"name": each, "bytes": len(part)} for each, part in parts.items()],
            "digest": "sha256:" + hashlib.sha256(content).hexdigest(),
        }
        async with self._uploading:
            for offset in range(0, len(content), PAYLOAD_BYTES_MAX):
                added = await self.ask(
                    {**head, "offset": offset},
                    content[offset : offset + PAYLOAD_BYTES_MAX],
                    convert=lambda frame: frame.head,
                )
        return Adapter.of(added)

    async def add_adapter(self, name: str, path: str) -> Adapter:
        """The path lies below the folder of the server's `--adapters`."""
        return await self.ask(
            {"verb": "add_adapter", "name": name, "path": path},
            convert=lambda frame: Adapter.of(frame.head),
        )

    async def remove_adapter(self, name: str) -> None:
        """Programs that use it go on. NotFound: this client's tenant has no adapter of that name."""
        await self.ask({"verb": "remove_adapter", "name": name})

    async def list_adapters(self) -> Sequence[Adapter]:
        """The adapters that this client's programs may use; of very many the first 200."""
        return await self.ask(
            {"verb": "list_adapters"},
            convert=lambda frame: [Adapter.of(each) for each in frame.head["adapters"]],
        )

    # ---- Instances.

    async def launch(
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
    ) -> Instance:
        """Unavailable, with retry_after: the server, or the tenant, has as many instances as it takes.
        TypeError: `arguments` is not a list of texts.

        `deadline` is in seconds from now: of the work of one tenant, the earlier deadline goes first.
        With a `seed`, below 2**53, the program's random numbers are the same each time.

        A detached instance goes on when this client leaves. Lines of its log go to `on_log`, or to
        the logger "quire".
        """
        head = _launch_head(program, arguments, limits, tenant, deadline, seed)
        if detached:
            head["detached"] = True
        return await self.ask(
            head, convert=lambda frame: self._adopt(frame, on_log), undo="abort"
        )

    async def start(
        self,
        program: str,
        arguments: Sequence[str] = (),
        *,
        limits: Limits | None = None,
        tenant: int = 0,
        deadline: float | None = None,
        seed: int | None = None,
    ) -> InstanceInfo:
        """As launch(), without attaching: the instance goes on by itself, and all of its output
        waits for the client that attaches."""
        head = _launch_head(program, arguments, limits, tenant, deadline, seed)
        return await self.ask({**head, "attach": False}, convert=lambda frame: _info_of(frame.head))

    async def attach(
        self,
        instance: str | int,
        *,
        take: bool = False,
        on_log: Callable[[LogLine], None] | None = None,
    ) -> Instance:
        """The instance of that name, or with that number (status(detail=True)) if the key has the
        right see-tenant or operate.

        AlreadyExists: another client is attached to it. With `take` that client is detached, and
        what it waits for fails with Unavailable.
        """
        head: dict[str, Any] = {"verb": "attach"}
        head["name" if isinstance(instance, str) else "instance"] = instance
        if take:
            head["take"] = True
        return await self.ask(
            head, convert=lambda frame: self._adopt(frame, on_log), undo="detach"
        )

    # To an instance of another client, by its number. The key needs the right see-tenant or operate.

    async def send(self, instance: int, message: bytes | str) -> None:
        """As Instance.send(). NotFound: it has ended, or the key may not see it."""
        payload = message.encode() if isinstance(message, str) else message
        await self.ask({"verb": "send", "instance": instance}, payload)

    async def close_input(self, instance: int) -> None:
        """As Instance.close_input()."""
        await self.ask({"verb": "close_input", "instance": instance})

    async def abort(self, instance: int) -> None:
        """As Instance.abort(); also one that a program or a request launched."""
        await self.ask({"verb": "abort", "instance": instance})

    async def list(self) -> InstanceList:
        """The instances of this connection; of very many `left_out_count` says how many more."""
        return await self.ask(
            {"verb": "list"},
            convert=lambda frame: InstanceList(
                map(_info_of, frame.head["instances"]), frame.head.get("left_out_count", 0)
            ),
        )

    async def status(self, *, detail: bool = False) -> ServerStatus:
        """With `detail`, what tenants and instances hold and have used, as the protocol spells it."""
        head: dict[str, Any] = {"verb": "status"}
        if detail:
            head["detail"] = True
        return await self.ask(head, convert=lambda frame: ServerStatus.of(frame.head))

    # ---- Requests and their replies.

    async def ask(
        self,
        head: dict[str, Any],
        payload: bytes | None = None,
        convert: Callable[[Frame], Any] = lambda frame: None,
        undo: str = "",
    ) -> Any:
        """Any request of the protocol; `convert` makes a value of the reply before further frames
        are looked at."""
        if self._lost is not None:
            raise self._lost
        self._last_id += 1
        request_id = self._last_id
        socket = self._socket
        message = encode(Frame({"verb": head["verb"], "id": request_id, **head}, payload))
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = _Asked(reply, convert, undo)
        try:
            try:  # If this is canceled, the message may have been sent all the same.
                await socket.send(message)
            except ConnectionClosed as error:
                self._lose(socket, _loss(self.url, error))
            return await self.wait(reply)
        finally:
            reply.cancel()  # If the reply has not come, no caller waits for it any more.

    async def wait(self, future: asyncio.Future[T]) -> T:
        """Waits for the server. Stalled: the client reads nothing from it any more."""
        if future.done():
            return await future
        if self._stalled is not None:
            raise self._stalled
        stall: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.add(stall)
        copy = functools.partial(_copy, to=stall)
        future.add_done_callback(copy)
        try:
            return await stall
        finally:
            future.remove_done_callback(copy)
            self._waiting.discard(stall)

    def hold(self, size: int) -> None:
        self._held_bytes += size
        if self._held_bytes <= self._buffer_bytes_max:
            self._room.set()

    def release(self, size: int) -> None:
        self.hold(-size)

    def release_from_anywhere(self, size: int) -> None:
        """As release(), from any thread: what was not received goes where its last holder is."""
        if size == 0 or self._loop is None:
            return
        if asyncio._get_running_loop() is self._loop:
            self.release(size)
            return
        with contextlib.suppress(RuntimeError):  # The loop has ended, and the client with it.
            self._loop.call_soon_threadsafe(self.release, size)

    async def abort_for_sure(self, instance: Instance) -> None:
        """Aborts the instance even if the waiting task is canceled. No error if it has ended."""
        await asyncio.shield(self._start_undoing("abort", instance.info.instance))

    def forget(self, instance: Instance, why: QuireError) -> None:
        """No event of it comes any more."""
        self._instances.pop(instance.info.instance, None)
        instance.close(why)

    # ---- What the server says.

    def _adopt(self, frame: Frame, on_log: Callable[[LogLine], None] | None) -> Instance:
        info = _info_of(frame.head)
        instance = Instance(self, info, on_log)
        self._instances[info.instance] = instance
        return instance

    async def _keep(self, socket: Any) -> None:
        """Sends pongs. The server's pings wait after frames that are not read yet, and without a
        pong the server would close the connection."""
        with contextlib.suppress(ConnectionClosed):  # What came before is read all the same.
            while True:
                await asyncio.sleep(_STAY_SECONDS)
                await socket.pong()

    async def _read(self, socket: Any) -> None:
        keeper = asyncio.create_task(self._keep(socket))
        try:
            async for message in socket:
                self._handle(decode(message))
                if self._held_bytes > self._buffer_bytes_max:
                    await self._wait_for_room()
            self._lose(socket, _loss(self.url, None, socket))
        except ConnectionClosed as error:
            self._lose(socket, _loss(self.url, error))
        except (QuireError, LookupError, TypeError, ValueError) as error:
            why = f"{self.url} sent a frame that is not understood: {error!r}"
            self._lose(socket, ConnectionLost(why))
            await socket.close()
        except Exception as error:
            _logger.exception("the reader of %s has failed", self.url)
            why = f"the client of {self.url} has failed: {error!r}"
            self._lose(socket, ConnectionLost(why))
            await socket.close()
        finally:  # If this task is canceled or fails, only _lose() wakes the calls that wait.
            keeper.cancel()
            self._lose(socket, ConnectionLost(f"the connection to {self.url} was closed"))

    async def _wait_for_room(self) -> None:
        self._room.clear()
        try:
            await asyncio.wait_for(self._room.wait(), self._stall_seconds)
            return
        except asyncio.TimeoutError:
            pass
        waiting = {number: each.held_bytes for number, each in self._instances.items()}
        number = max(waiting, key=lambda each: waiting[each], default=0)
        self._stalled = Stalled(
            f"buffer_bytes_max: {self._held_bytes} bytes that programs sent were not received, most "
            f"of those that run are of instance {number} ({waiting.get(number, 0)}); receive them, "
            "or use a connection of its own for each instance"
        )
        for each in list(self._waiting):
            if not each.done():
                each.set_exception(self._stalled)
        try:
            await self._room.wait()
        finally:  # Also if close() canceled it: a connection that is opened later has not stalled.
            self._stalled = None

    def _handle(self, frame: Frame) -> None:
        head = frame.head
        if "reply" in head:
            self._handle_reply(frame)
        elif head.get("event") == "shutdown":
            self.is_shutting_down = True
            _logger.warning(
                "the server is shutting down; what runs is stopped in %d ms", head["grace_ms"]
            )
        elif head.get("event") == "error":
            raise error_of(head["code"], head["message"])
        elif head.get("instance") in self._instances:
            self._instances[head["instance"]].handle(frame)

    def _handle_reply(self, frame: Frame) -> None:
        head = frame.head
        reply, convert, undo = self._pending[head["id"]]
        if head["reply"] == "error":
            error = error_of(head["code"], head["message"], head.get("retry_after_ms"))
            del self._pending[head["id"]]
            if not reply.done():
                reply.set_exception(error)
                reply.exception()  # Counts as retrieved: the caller may have been canceled.
            return
        value = convert(frame)
        del self._pending[head["id"]]  # Not earlier: if convert() fails, _lose() fails the request.
        if not reply.done():
            reply.set_result(value)
        elif undo:
            self.forget(value, Cancelled("no caller waits for the instance"))
            self._start_undoing(undo, value.info.instance)

    def _start_undoing(self, verb: str, instance: int) -> asyncio.Task[None]:
        task = asyncio.create_task(self._undo(verb, instance))
        self._undoing.add(task)
        task.add_done_callback(self._undoing.discard)
        return task

    async def _undo(self, verb: str, instance: int) -> None:
        try:
            await self.ask({"verb": verb, "instance": instance})
        except QuireError as error:
            _logger.debug("%s of instance %d, for which no caller waits: %s", verb, instance, error)

    def _lose(self, socket: Any, why: QuireError) -> None:
        """The connection is over, for everyone who waits; not the one that was opened since."""
        if self._lost is not None or self._socket is not socket:
            return
        self._lost = why
        for each in self._pending.values():
            if not each.reply.done():
                each.reply.set_exception(why)
                each.reply.exception()
        self._pending.clear()
        for instance in list(self._instances.values()):
            self.forget(instance, why)


def _copy(done: asyncio.Future[T], to: asyncio.Future[T]) -> None:
    if to.done():
        return
    if done.cancelled():
        to.cancel()
    elif done.exception() is not None:
        to.set_exception(done.exception())  # type: ignore[arg-type]
    else:
        to.set_result(done.result())


def _launch_head(
    program: str,
    arguments: Sequence[str],
    limits: Limits | None,
    tenant: int,
    deadline: float | None,
    seed: int | None,
) -> dict[str, Any]:
    head: dict[str, Any] = {
        "verb": "launch",
        "program": program,
        "arguments": checked_arguments(arguments),
    }
    if limits is not None and limits.to_json():
        head["limits"] = limits.to_json()
    if tenant:
        head["tenant"] = tenant
    if deadline is not None:
        head["deadline_ms"] = max(1, round(deadline * 1000))
    if seed is not None:
        head["seed"] = seed
    return head


def _check_address(url: str) -> None:
    """InvalidArgument with the address that was probably meant."""
    wrong = f"{url!r} is not the address of a server, which is ws://HOST:PORT"
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in ("ws", "wss"):
        meant = rest if separator else url
        hint = f"; did you mean ws://{meant}?" if meant.strip("/") else ""
        raise InvalidArgument(wrong + hint)
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidArgument(f"{wrong}: {error}") from None
    if not host:
        raise InvalidArgument(f"{wrong}: it has no host")
    if port == 0:
        raise InvalidArgument(f"{wrong}: port 0 cannot be connected to")


def _without_proxy() -> dict[str, Any]:
    """From version 15 on websockets asks the proxy that the environment names, also for loopback;
    earlier versions know neither proxies nor the parameter."""
    knows_proxies = "proxy" in inspect.signature(websockets.connect).parameters
    return {"proxy": None} if knows_proxies else {}


def _adapter_files(path: pathlib.Path) -> dict[str, bytes]:
    if not path.is_dir():
        return {path.name: path.read_bytes()}
    names = ("adapter_config.json", "adapter_model.safetensors")
    return {name: (path / name).read_bytes() for name in names}


def _info_of(head: dict[str, Any]) -> InstanceInfo:
    return InstanceInfo(head["instance"], head["name"], head["program"], head["detached"])


def _loss(url: str, error: ConnectionClosed | None, socket: Any = None) -> ConnectionLost:
    close = getattr(error, "rcvd", None)
    reason = getattr(close, "reason", "") or getattr(socket, "close_reason", "") or ""
    return ConnectionLost(f"the connection to {url} was lost: {reason or error or 'it was closed'}")


def _refusal(url: str, error: InvalidHandshake) -> ConnectionLost:
    response = getattr(error, "response", error)
    status = getattr(response, "status_code", None)
    headers = getattr(response, "headers", None) or {}
    retry_after = headers.get("Retry-After")
    why = f"HTTP status {status}" if status is not None else str(error)
    if status == 401:
        why += ": it wants a key that it knows, as Client(url, key=...)"
    return ConnectionLost(
        f"{url} refused the connection: {why}", float(retry_after) if retry_after else None
    )
