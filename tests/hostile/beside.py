"""A server, a victim with eight streams on it, and what runs beside the victim."""
import os
import pathlib
import select
import subprocess
import threading
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
TINY = SOURCE / "tests" / "golden" / "tiny_llama"
LIMIT_SECONDS = 540  # Of one program; with sanitizers the victim alone takes a minute.
PAGE_COUNT = 256
START_COUNT_MAX = 1000  # Of one attacker beside one victim.
BEGIN_SECONDS = 60
DEAF_SECONDS = 0.2
QUIET_SECONDS = 2.5  # After a second with nothing to do, which it notices within one more.


def environment():
    """Ours, without the user's settings of Quire."""
    return {key: value for key, value in os.environ.items() if not key.startswith("QUIRE_")} | {
        "QUIRE_CONFIG": "/dev/null"}


class Server:
    """`quire serve` on a free port, for as long as the block lasts; without endpoints unless asked."""

    def __init__(self, build, flags=(), page_count=PAGE_COUNT, model=TINY, client_niceness=0, store=None,
                 has_endpoints=False, variables=()):
        self.build = build
        self.client_niceness = client_niceness
        self.log = (build / "tests" / "hostile" / "server.log").open("wb")
        self.process = subprocess.Popen(
            [str(build / "quire"), "serve", "--listen", "127.0.0.1:0", "--model", str(model),
             "--kv-pages", str(page_count), "--pages-max", str(page_count),
             *(["--store", str(store)] if store else ["--no-store"]),
             *([] if has_endpoints else ["--no-endpoints"]), *flags],
            stdout=subprocess.PIPE, stderr=self.log, env=environment() | dict(variables))
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
            bufsize=0, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
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


class Attackers:
    """Programs beside the victim, each started again when it has ended, until the victim has."""

    def __init__(self, start, count, has_word):
        self.start, self.has_word = start, has_word
        self.ends, self.spans = [], []  # Of each start: how it ended, and from when to when it was there.
        self.is_over = threading.Event()
        self.have_begun = threading.Semaphore(0)
        self.threads = [threading.Thread(target=self.go_on, args=[i]) for i in range(count)]
        for thread in self.threads:
            thread.start()
        for _ in self.threads:
            self.have_begun.acquire(timeout=BEGIN_SECONDS)

    def go_on(self, index):
        for number in range(START_COUNT_MAX):
            process = self.start(index, number)
            if self.has_word:
                # "BEGUN", or its log, which may be too much to let that through.
                select.select([process.stdout, process.stderr], [], [], BEGIN_SECONDS)
            begun = time.monotonic()
            if number == 0:
                self.have_begun.release()
            try:  # Its client does not read at once: what it says stays with the server.
                process.wait(DEAF_SECONDS)
            except subprocess.TimeoutExpired:
                pass
            self.ends.append(end_of(process))
            self.spans.append((begun, time.monotonic()))
            if self.is_over.is_set():
                break

    def end(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join()
        return self.ends

    def share_of(self, begun, ended):
        """The share of the time between, in which at least one of them was there."""
        covered, until = 0.0, begun
        for first, last in sorted(self.spans):
            covered += max(0.0, min(last, ended) - max(first, until))
            until = max(until, min(last, ended))
        return covered / (ended - begun)


def timed_end_of(victim):
    """How it ended, and from when to when its tokens came."""
    victim.stdout.readline()
    begun = time.monotonic()
    select.select([victim.stdout], [], [], LIMIT_SECONDS)
    return end_of(victim), (begun, time.monotonic())


def guest(build, name):
    return build / "tests" / "hostile" / f"{name}.wasm"


def streams_of(result):
    """The victim's tokens; None where it did not end well."""
    code, out, _ = result
    lines = [line for line in out.splitlines() if line.startswith("STREAM")]
    return lines if code == 0 and len(lines) == 8 else None


def settled(read, wanted, seconds=20):
    """The value of read(), once it is at most `wanted` or the time is over."""
    end = time.monotonic() + seconds
    while read() > wanted and time.monotonic() < end:
        time.sleep(0.05)
    return read()
