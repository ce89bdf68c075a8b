#!/usr/bin/env python3
"""Puts a server of endpoints under load over real sockets, and prints what each scenario found as JSON.

    bench/serving/serving_bench.py SCENARIO... [--build build/release] [--model MODEL] [--scale 1]

    streams     1,000 streams of chat completions at once, each with the right bytes
    idle        10,000 kept connections that ask nothing: memory of each
    overload    four times the requests that the server can finish: what it finishes, and how fast it refuses the others
    resets      10,000 times connect, send and reset: pages, descriptors and memory before and after
    crash       SIGKILL under load, ten times: until it serves again, and what it acknowledged

--scale multiplies the counts. Each scenario has a server of its own. They need as many descriptors as connections
(ulimit -n), here and in the server.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import scenarios  # noqa: E402
from crash import crash  # noqa: E402
from server_process import ROOT, ServerProcess, free_port  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent


class Bench:
    def __init__(self, build, model, scale):
        self.quire, self.model, self.scale = build / "quire", model, scale

    def scaled(self, count):
        return max(1, round(count * self.scale))

    def serve(self, *flags, store="", port=0):
        model = ["--model", self.model] if self.model else []
        return ServerProcess(self.quire, [*model, *(["--store", store] if store else ["--no-store"]), *flags], port)

    def streams(self):
        count = self.scaled(1000)
        with self.serve("--instances", count + 24, "--connections", count + 24) as server:
            return scenarios.streams(server, count, 16)

    def idle(self):
        count = self.scaled(10_000)
        with self.serve("--connections", count + 24) as server:
            return scenarios.idle(server, count, 30 * min(1, self.scale))

    def overload(self):
        with self.serve("--instances", 16, "--launch-queue", 16) as server:
            return scenarios.overload(server, (1, 4, 16, 24), 16, 10 * min(1, self.scale))

    def resets(self):
        # Memory grows until each page of the pool was used once: it has few.
        with self.serve("--kv-pages", 96) as server:
            return scenarios.resets(server, self.scaled(10_000), 64)

    def crash(self):
        with tempfile.TemporaryDirectory() as folder:
            keeper = pathlib.Path(folder) / "keeper.wasm"
            subprocess.run([self.quire, "build", FOLDER / "keeper.cpp", "-o", keeper], check=True)
            flags = ["--endpoint", f"POST /keep/*={keeper}", "--endpoint", f"GET /keep/*={keeper}"]
            port = free_port()
            return crash(lambda: self.serve(*flags, store=f"{folder}/store", port=port), self.scaled(10))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ["streams", "idle", "overload", "resets", "crash"]
    parser.add_argument("scenario", nargs="+", choices=names)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--model", default="", help="a name or a file; without it the default model")
    parser.add_argument("--scale", type=float, default=1)
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    bench = Bench(arguments.build.resolve(), arguments.model, arguments.scale)
    for name in arguments.scenario:
        print(json.dumps({name: getattr(bench, name)()}), flush=True)


if __name__ == "__main__":
    main()
