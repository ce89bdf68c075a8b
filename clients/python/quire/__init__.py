"""Launch programs on a Quire server and talk to them.

    async with quire.Client("ws://127.0.0.1:7847") as client:
        program = await client.upload("hello.wasm")
        instance = await client.launch(program, ["--name", "you"])
        async for message in instance:
            print(message.decode(), end="")
        (await instance.result()).check()

connect_blocking() is the same without asyncio, run() runs one program to its end.
"""

from .blocking import BlockingClient, BlockingFile, BlockingInstance, connect_blocking
from .client import Client
from .errors import (
    AlreadyExists,
    Cancelled,
    ConnectionLost,
    InstanceFailed,
    InvalidArgument,
    NotFound,
    NotSupported,
    OutOfRange,
    PermissionDenied,
    QuireError,
    QuotaExceeded,
    Stalled,
    TimedOut,
    TooLarge,
    Unavailable,
)
from .instance import Instance, ReceivedFile
from .running import RunFailed, RunResult, run
from .values import Adapter, End, InstanceInfo, InstanceList, Limits, LogLine, ProgramState, ServerStatus

__version__ = "0.1.0"
__all__ = [
    "Adapter",
    "AlreadyExists",
    "BlockingClient",
    "BlockingFile",
    "BlockingInstance",
    "Cancelled",
    "Client",
    "ConnectionLost",
    "End",
    "Instance",
    "InstanceFailed",
    "InstanceInfo",
    "InstanceList",
    "InvalidArgument",
    "Limits",
    "LogLine",
    "NotFound",
    "NotSupported",
    "OutOfRange",
    "PermissionDenied",
    "ProgramState",
    "QuireError",
    "QuotaExceeded",
    "ReceivedFile",
    "RunFailed",
    "RunResult",
    "ServerStatus",
    "Stalled",
    "TimedOut",
    "TooLarge",
    "Unavailable",
    "connect_blocking",
    "run",
]
