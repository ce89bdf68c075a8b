"""run(): a program in a process of its own, by the command line's `quire run`."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import Sequence

from .errors import NotFound, QuireError, TimedOut
from .values import checked_arguments


@dataclass(frozen=True)
class RunResult:
    """The output of `quire run`, and its exit code."""

    text: str  # What the program sent, with a newline at its end.
    exit_code: int
    log: str  # The program's log, and the closing line of `quire run`.


class RunFailed(QuireError):
    """`quire run` has ended with an exit code that is not 0: the message is its error."""

    code = "run-failed"

    def __init__(self, message: str, result: RunResult) -> None:
        super().__init__(message)
        self.result = result


def run(
    program: str | os.PathLike[str],
    *arguments: str,
    options: Sequence[str] = (),
    input: bytes | str = b"",
    timeout: float | None = None,
    quire: str | os.PathLike[str] = "",
    check: bool = True,
) -> RunResult:
    """Runs a program to its end: a script, a C++ source, a module or the name of one.

    `options` are those of `quire run`, as ["--model", "tiny", "--server", url]; lines of `input`
    reach the program's receive(). `quire` is the executable, else $QUIRE, else the one on the path.

    RunFailed: it ended with an exit code that is not 0 (unless `check` is False). TimedOut: it
    ran for more than `timeout` seconds, and was ended. NotFound: there is no such executable.
    """
    given = [*checked_arguments(arguments)]
    command = [_executable(quire), "run", os.fspath(program), *checked_arguments(options), "--"]
    data = input.encode() if isinstance(input, str) else input
    try:
        done = subprocess.run(command + given, input=data, capture_output=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        what = os.fspath(program)
        raise TimedOut(f"{what} ran for more than {timeout} s, and was ended") from None
    log = done.stderr.decode(errors="replace")
    result = RunResult(done.stdout.decode(errors="replace"), done.returncode, log)
    if check and result.exit_code != 0:
        raise RunFailed(_error_in(result), result)
    return result


def _executable(wanted: str | os.PathLike[str]) -> str:
    name = os.fspath(wanted) or os.environ.get("QUIRE", "") or "quire"
    found = shutil.which(name)
    if found is None:
        raise NotFound(
            f"no executable {name!r}: put quire on the path, set QUIRE to it, or pass quire=PATH"
        )
    return found


def _error_in(result: RunResult) -> str:
    """From the line that begins with "error: " on; all of the log where there is none."""
    _, found, error = ("\n" + result.log).rpartition("\nerror: ")
    text = (error if found else result.log).strip()
    return text or f"quire run ended with exit code {result.exit_code} and said nothing"
