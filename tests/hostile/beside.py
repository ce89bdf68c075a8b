"""A server, a victim with eight streams on it, and what runs beside the victim."""
import os
import pathlib
import select
import subprocess
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
TINY = SOURCE / "tests" / "golden" / "tiny_llama"
LIMIT_SECONDS = 540  # Of one program; with sanitizers the victim alone takes a minute.
PAGE_COUNT = 256
QUIET_SECONDS = 2.5  # After a second with nothing to do, which it notices within one more.


def environment():
    return {key: value for key, value in os.environ.items() if not key.startswith("QUIRE_")}


class Server:
    """`quire serve` on a free port, for as long as the block lasts."""

    def __init__(self, build, flags=(), page_count=PAGE_COUNT, model=TINY, client_niceness=0):
        self.build = build
        self.client_niceness = client_niceness
        self.log = (build / "tests" / "hostile" / "server.log").open("wb")
        self.process = subprocess.Popen(
            [str(build / "quire"), "serve", "--listen", "127.0.0.1:0", "--model", str(model),
             "--kv-pages", str(page_count), "--pages-max", str(page_count), "--no-store", *flags],
            stdout=subprocess.PIPE, stderr=self.log, env=environment())
        readable, _, _ = select.select([self.process.stdout], [], [], 60)
        line = self.process.stdout.readline().decode() if readable else ""
        self.url = next((word for word in line.split() if word.startswith("ws://")), "")
        if not self.url:
            raise RuntimeError(f"the server did not start: {line}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.exit_code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.log.close()

    def is_alive(self):
        return self.process.poll() is None

    def resident_bytes(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError("the server has gone")

    def quiet_resident_bytes(self):
        """Once it has given back what it needs no more, as it does when nothing runs for a second."""
        time.sleep(QUIET_SECONDS)
        return self.resident_bytes()

    def child_count(self):
        """Processes that it started: one waits to compile the next module."""
        folder = pathlib.Path(f"/proc/{self.process.pid}/task")
        return sum(len((task / "children").read_text().split()) for task in folder.iterdir())

    def start(self, program, arguments=(), flags=()):
        """A program on the server, as a client of its own."""
        return subprocess.Popen(
            ["nice", "-n", str(self.client_niceness), str(self.build / "quire"), "run", "--server", self.url, str(program), *flags, "--",
             *(str(each) for each in arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment())

    def run(self, program, arguments=(), flags=()):
        return end_of(self.start(program, arguments, flags))


def end_of(process):
    """(exit code, what it sent, what was said of it)"""
    try:
        out, err = process.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += b"\nnot done within the limit of the test\n"
    return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")


def guest(build, name):
    return build / "tests" / "hostile" / f"{name}.wasm"


def streams_of(result):
    """The victim's tokens; None where it did not end well."""
    code, out, _ = result
    lines = [line for line in out.splitlines() if line.startswith("STREAM")]
    return lines if code == 0 and len(lines) == 8 else None


def settled(read, wanted, seconds=20):
    """What read() gives, once it is at most `wanted` or the time is over."""
    end = time.monotonic() + seconds
    while read() > wanted and time.monotonic() < end:
        time.sleep(0.05)
    return read()
