"""For tests: `quire serve` as a process of its own, on a free port and a tiny model."""

import json
import os
import pathlib
import signal
import subprocess
import sys
from typing import Sequence

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("QUIRE_BUILD", ROOT / "build/release"))
sys.path.insert(0, str(ROOT / "clients/python"))


def guest(name: str) -> pathlib.Path:
    return BUILD / "tests/end_to_end" / f"{name}.wasm"


class Server:
    def __init__(self, *arguments: str, programs: Sequence[pathlib.Path] = ()) -> None:
        command = [
            str(BUILD / "quire"),
            *("serve", "--no-endpoints"),
            *map(str, programs),
            *("--listen", "127.0.0.1:0", "--json", "--kv-pages", "64"),
            *("--model", str(ROOT / "tests/golden/tiny_llama"), *arguments),
        ]
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "QUIRE_NO_STORE": "1"},
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"no server: {self.stop()[1]}")
        self.url: str = json.loads(line)["url"]

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def stop(self) -> tuple[int, str]:
        """The exit code, and what it wrote to standard error."""
        self.interrupt()
        try:
            _, errors = self._process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            _, errors = self._process.communicate()
        return self._process.returncode, errors

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
