"""The exceptions: one class for each code of the protocol (docs/reference/protocol.md)."""

from __future__ import annotations


class QuireError(Exception):
    """`code` is the protocol's word, `message` says what, which and how much.

    `retry_after` is in seconds: the same request may succeed after that time. None: it may not.
    """

    code = "internal"

    def __init__(self, message: str, retry_after: float | None = None, code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after
        self.code = code or type(self).code


class InvalidArgument(QuireError, ValueError):
    """A ValueError too, because this package raises some before it sends anything."""

    code = "invalid-argument"


class OutOfRange(QuireError):
    code = "out-of-range"


class NotFound(QuireError):
    code = "not-found"


class AlreadyExists(QuireError):
    code = "already-exists"


class NotSupported(QuireError):
    code = "not-supported"


class PermissionDenied(QuireError):
    code = "permission-denied"


class QuotaExceeded(QuireError):
    code = "quota-exceeded"


class Cancelled(QuireError):
    code = "cancelled"


class TimedOut(QuireError):
    code = "timeout"


class TooLarge(QuireError):
    code = "too-large"


class Unavailable(QuireError):
    code = "unavailable"


class ConnectionLost(Unavailable):
    """The connection is over, or never came to be. Programs go on for the server's grace time."""


class Stalled(QuireError):
    """This client has stopped reading, because what instances said was not taken; it names them."""

    code = "quota-exceeded"


class InstanceFailed(QuireError):
    """A program did not end well: the message holds its reason, `end` all that is known."""

    code = "internal"

    def __init__(self, message: str, end: object) -> None:
        super().__init__(message)
        self.end = end


_CLASSES = {
    each.code: each
    for each in (
        InvalidArgument,
        OutOfRange,
        NotFound,
        AlreadyExists,
        NotSupported,
        PermissionDenied,
        QuotaExceeded,
        Cancelled,
        TimedOut,
        TooLarge,
        Unavailable,
    )
}


def error_of(code: str, message: str, retry_after_ms: int | None = None) -> QuireError:
    """The exception for an error that the server reported."""
    retry_after = None if retry_after_ms is None else retry_after_ms / 1000
    return _CLASSES.get(code, QuireError)(message, retry_after, code)
