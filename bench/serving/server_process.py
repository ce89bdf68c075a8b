"""`quire serve` as a process: started on a free port, measured from outside, killed and started again."""
import json
import os
import pathlib
import select
import socket
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
START_SECONDS = 120
SETTLE_SECONDS = 20


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ServerProcess:
    """`program` is build/release/quire. `flags` are those of `quire serve`, without its address."""

    def __init__(self, program, flags, port=0):
        self.program = program
        command = [str(program), "serve", "--listen", f"127.0.0.1:{port}", *map(str, flags)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("QUIRE_")}
        self.log = tempfile.TemporaryFile()  # A pipe would fill up, and then the server would wait.
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, env=environment)
        self.url = self._announced()
        address = urllib.parse.urlparse(self.url)
        self.host, self.port = address.hostname, address.port

    def _announced(self):
        readable, _, _ = select.select([self.process.stdout], [], [], START_SECONDS)
        line = self.process.stdout.readline().decode() if readable else ""
        url = next((word for word in line.split() if word.startswith("ws://")), None)
        if url is None:
            self.process.kill()
            raise RuntimeError("the server did not start: " + line + self.log_text())
        return url

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        self.log.close()

    def log_text(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def kill(self):
        """SIGKILL: no part of the server can do anything about it."""
        self.process.kill()
        self.process.wait()
        self.end()

    def is_alive(self):
        return self.process.poll() is None

    def resident_bytes(self, figure="VmRSS"):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(figure + ":"):
                return int(line.split()[1]) * 1024
        raise RuntimeError("the server has gone")

    def metrics(self):
        """The value of each line of /metrics, by its name and labels."""
        with urllib.request.urlopen(f"http://{self.host}:{self.port}/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}

    def descriptor_count(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def status(self):
        answer = subprocess.run([str(self.program), "status", "--server", self.url, "--json"], check=True,
                                stdout=subprocess.PIPE, timeout=60)
        return json.loads(answer.stdout)

    def settled(self, read, wanted):
        """Returns read() once it is at most `wanted`, or after SETTLE_SECONDS."""
        until = time.monotonic() + SETTLE_SECONDS
        while read() > wanted and time.monotonic() < until:
            time.sleep(0.1)
        return read()
