"""For the tests of access: `quire serve` as a process with flags of the test, on a free port and the tiny model."""
import json
import os
import pathlib
import select
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("QUIRE_BUILD", ROOT / "build/release")).resolve()
PATIENCE = 60.0


def environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("QUIRE_")}


def quire(*arguments, **more):
    """Runs it to its end."""
    return subprocess.run([BUILD / "quire", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, env={**environment(), **more})


def add_key(keys, name, *flags):
    added = quire("keys", "add", name, "--keys", keys, *flags)
    if added.returncode != 0:
        raise RuntimeError(added.stderr)
    return added.stdout.strip()


class Server:
    """For as long as the block lasts. `log` is what it wrote to standard error, once it has ended."""

    def __init__(self, *flags, model=ROOT / "tests/golden/tiny_llama", has_store=False):
        self.process = subprocess.Popen(
            [BUILD / "quire", "serve", "--listen", "127.0.0.1:0", "--json", "--kv-pages", "256", "--model", model,
             *([] if has_store else ["--no-store"]), *map(str, flags)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        readable, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline() if readable else ""
        if not line:
            raise RuntimeError(f"the server did not start: {self.stop()}")
        self.url = json.loads(line)["url"]
        self.address = self.url.split("//")[1]

    def stop(self):
        self.process.terminate()
        try:
            _, self.log = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, self.log = self.process.communicate()
        return self.log

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
