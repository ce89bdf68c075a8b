"""The parameters of requests and the values of replies, as plain values."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from typing import Any, Iterable, Sequence

from .errors import InstanceFailed


def checked_arguments(arguments: Sequence[str]) -> list[str]:
    """Arguments of a program as a list. TypeError: they are one text, or one of them is none."""
    if isinstance(arguments, (str, bytes)):
        wanted = repr(arguments.split()) if isinstance(arguments, str) else "a list of texts"
        raise TypeError(f"arguments are a list of texts, not one text: {arguments!r}; pass {wanted}")
    for index, argument in enumerate(arguments):
        if not isinstance(argument, str):
            kind = type(argument).__name__
            raise TypeError(f"arguments[{index}] is no text but {kind}: {argument!r}")
    return list(arguments)


@dataclass(frozen=True)
class Limits:
    """At most what the server allows; None is the server's own."""

    memory_bytes_max: int | None = None
    cpu_ns_max: int | None = None
    cpu_ns_between_waits_max: int | None = None
    page_count_max: int | None = None
    output_bytes_max: int | None = None

    def to_json(self) -> dict[str, int]:
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class ProgramState:
    """`program` is "sha256:..."; None where no program has the name that was asked for."""

    program: str | None
    state: str  # "unknown", "partial", "compiling" or "ready".
    received_bytes: int


@dataclass(frozen=True)
class Adapter:
    """An adapter that the server has loaded."""

    name: str
    model: str
    digest: str  # "sha256:..." of its matrices.
    rank_max: int
    parameter_count: int
    bytes: int  # Of memory.
    source: str  # A path, or "upload"; empty: this client may not know it.
    own: bool  # Its tenant's, and not the server's.
    in_use: bool

    @classmethod
    def of(cls, head: dict[str, Any]) -> "Adapter":
        return cls(**{name: head[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class InstanceInfo:
    instance: int
    name: str  # The secret by which another connection attaches.
    program: str
    detached: bool


class InstanceList(list[InstanceInfo]):
    """As many instances as the server lists at once, and the number of further ones."""

    def __init__(self, instances: Iterable[InstanceInfo], left_out_count: int) -> None:
        super().__init__(instances)
        self.left_out_count = left_out_count


@dataclass(frozen=True)
class LogLine:
    source: str  # "log", "stdout" or "stderr".
    level: str  # "debug", "info", "warning" or "error".
    line: str


@dataclass(frozen=True)
class End:
    """How an instance ended, and what it used."""

    kind: str  # "finished", "trapped", "limit-exceeded", "killed" or "not-started".
    exit_code: int
    message: str  # Why it did not end well; of a program that returned an error, that error.
    limit: str  # The one that was exceeded; else empty.
    result: bytes  # What the program set last.
    duration_ns: int
    first_message_ns: int  # After the launch; 0: it sent none.
    cpu_ns: int
    asked_token_count: int
    computed_token_count: int
    found_token_count: int
    page_count_max: int
    first_token_ns: int = 0  # After the launch; 0: it drew none, or the server is older.
    opened_token_count: int = 0  # Of snapshots that it opened. An older server says 0, also below.
    children_asked_token_count: int = 0  # Of the programs that it launched, and of theirs.
    children_computed_token_count: int = 0
    children_found_token_count: int = 0
    children_opened_token_count: int = 0

    @property
    def text(self) -> str:
        """The result as text. UnicodeDecodeError: it is none."""
        return self.result.decode()

    @property
    def ok(self) -> bool:
        return self.kind == "finished" and self.exit_code == 0

    def check(self) -> "End":
        """Itself, or InstanceFailed where the program did not end well."""
        if self.ok:
            return self
        how = self.kind
        if self.kind == "finished":
            how = "ended" if self.message else f"ended with exit code {self.exit_code}"
        raise InstanceFailed(
            f"the program {how}: {self.message}" if self.message else f"the program {how}", self
        )

    @classmethod
    def of(cls, head: dict[str, Any], payload: bytes) -> "End":
        counts = {
            name: int(head[name] if field.default is MISSING else head.get(name, field.default))
            for name, field in cls.__dataclass_fields__.items()
            if name not in ("kind", "result", "message", "limit")
        }
        return cls(
            kind=head["end"],
            message=head["message"],
            limit=head["limit"],
            result=payload,
            **counts,
        )


@dataclass(frozen=True)
class ServerStatus:
    """The server's report on itself; further members are in `all`."""

    version: str
    models: tuple[str, ...]
    instance_count: int
    instance_count_max: int
    connection_count: int
    program_count: int
    page_count: int
    page_count_free: int
    all: dict[str, Any]

    @property
    def detail(self) -> dict[str, Any] | None:
        """Figures of the server, its tenants and instances; None unless they were asked for."""
        return self.all.get("detail")

    @classmethod
    def of(cls, head: dict[str, Any]) -> "ServerStatus":
        names = [name for name in cls.__dataclass_fields__ if name not in ("models", "all")]
        return cls(
            models=tuple(head["models"]), all=dict(head), **{name: head[name] for name in names}
        )
