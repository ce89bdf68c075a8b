#!/usr/bin/env python3
"""Times techniques as programs of Quire against the same logic as a client of llama-server.

    bench/programs/compare.py --model FILE.gguf [--llama FOLDER] [--suite techniques|calls|depth|stacked]
                              [--only NAME,...] [--clients 1,16] [--rounds 3] [--json FILE]

Both servers have two threads and the same model file. In each round Quire and llama-server take
turns. One client takes --repeat turns in a round. Several clients take one turn, in which each asks
once, all at the same time. Tasks are new in each turn. A local tool server that waits --delay-ms
stands for the web. Without --llama only Quire is timed. The option --json adds the results to those
in FILE. They replace those of the same technique, side and clients.

It needs a Python with the library websockets. README.md says what each side does, and which flags
were tried.
"""
import argparse
import asyncio
import collections
import contextlib
import itertools
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time
from typing import Any, AsyncIterator, Callable, Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients/python"))

import quire  # noqa: E402

import llama  # noqa: E402
import techniques  # noqa: E402
from http_client import HttpClient  # noqa: E402
from techniques import Task, Technique  # noqa: E402

CLIENT_COUNT_MAX = 256


class QuireSide:
    """Each client has a connection of its own, and launches the program for each task."""
    name = "quire"

    def __init__(self, clients: list[quire.Client]) -> None:
        self._clients = clients
        self.computed = self.found = 0

    async def run(self, technique: Technique, task: Task, client: int) -> None:
        instance = await self._clients[client].launch(technique.program, technique.arguments(task))
        async for _ in instance:
            pass
        end = (await instance.result()).check()
        self.computed += end.computed_token_count
        self.found += end.found_token_count

    def take_counts(self) -> dict[str, int]:
        counts = {"computed": self.computed, "found": self.found}
        self.computed = self.found = 0
        return counts


class LlamaSide:
    """The client's logic runs here, on one event loop; connections stay open."""
    name = "llama-server"

    def __init__(self, url: str, tool_url: str) -> None:
        self._llama = llama.Llama(url, llama.Counts())
        self._tools = HttpClient(tool_url, CLIENT_COUNT_MAX)

    async def run(self, technique: Technique, task: Task, _: int) -> None:
        await technique.client(self._llama, self._tools, task)

    def take_counts(self) -> dict[str, int]:
        counts = self._llama.counts
        self._llama.counts = llama.Counts()
        return {"computed": counts.prompt_computed + counts.generated, "found": counts.prompt_found,
                "requests": counts.requests}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def started(command: list[Any]) -> Iterator[str]:
    """A process, and its first line of output."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("QUIRE_")}
    process = subprocess.Popen([str(each) for each in command], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"{command[0]} did not start")
        yield line
    finally:
        process.terminate()
        process.wait(30)


@contextlib.asynccontextmanager
async def quire_side(options: argparse.Namespace, tool_url: str) -> AsyncIterator[QuireSide]:
    tool = tool_url.removeprefix("http://").rstrip("/")
    command = [options.quire, "serve", *options.programs, "--listen", "127.0.0.1:0", "--json", "--no-store",
               "--no-endpoints", "--model", options.model, "--allow-http", tool, *options.quire_flag]
    with started(command) as line:
        async with contextlib.AsyncExitStack() as stack:
            url = json.loads(line)["url"]
            clients = [await stack.enter_async_context(quire.Client(url)) for _ in range(max(options.clients))]
            yield QuireSide(clients)


@contextlib.asynccontextmanager
async def llama_side(options: argparse.Namespace, tool_url: str) -> AsyncIterator[LlamaSide]:
    with llama.Server(options.llama, options.model, free_port(), options.slots, options.llama_flag) as server:
        await server.ready()
        yield LlamaSide(server.url, tool_url)


async def at_once(side: Any, technique: Technique, tasks: list[Task]) -> float:
    begun = time.perf_counter()
    await asyncio.gather(*(side.run(technique, task, client) for client, task in enumerate(tasks)))
    return time.perf_counter() - begun


def row_of(technique: Technique, side: str, clients: int, seconds: list[float], counts: dict[str, int],
           task_count: int) -> dict[str, Any]:
    """Seconds of each measurement, in which each client had one task done."""
    rates = sorted(clients / each for each in seconds)
    return {
        "technique": technique.name, "side": side, "clients": clients, "measurements": len(seconds),
        "seconds": statistics.median(seconds), "seconds_least": min(seconds), "seconds_most": max(seconds),
        "tasks_per_minute": 60 * statistics.median(rates), "tasks_per_minute_least": 60 * rates[0],
        "tasks_per_minute_most": 60 * rates[-1], "generated": technique.generated, "calls": technique.calls,
        "size": technique.size,
        **{f"{name}_tokens" if name != "requests" else name: round(count / task_count, 1)
           for name, count in counts.items()}}


async def measure(entrants: list[tuple[Any, Technique]], clients: int, options: argparse.Namespace,
                  tasks: Callable[[int], list[Task]]) -> list[dict[str, Any]]:
    seconds: list[list[float]] = [[] for _ in entrants]
    counts: list[collections.Counter[str]] = [collections.Counter() for _ in entrants]
    for side, technique in entrants:  # Programs, templates and documents that a server has are there already.
        await at_once(side, technique, tasks(1))
        side.take_counts()
    order = range(len(entrants))
    for index in range(options.rounds):
        for _ in range(options.repeat if clients == 1 else 1):
            for i in order if index % 2 == 0 else order[::-1]:
                side, technique = entrants[i]
                # Each has tasks of its own: several of one side must not find one another's pages.
                seconds[i].append(await at_once(side, technique, tasks(clients)))
                counts[i].update(side.take_counts())
    rows = []
    for (side, technique), each, count in zip(entrants, seconds, counts):
        rows.append(row_of(technique, side.name, clients, each, count, clients * len(each)))
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def suite_of(options: argparse.Namespace) -> list[list[Technique]]:
    suite = techniques.SUITES[options.suite]()
    if not options.only:
        return suite
    named = {group[0].name: group for group in suite}
    unknown = [each for each in options.only if each not in named]
    if unknown:
        sys.exit(f"--only {','.join(unknown)}: the suite {options.suite} has {', '.join(named)}")
    return [named[each] for each in options.only]


def merged(file: pathlib.Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows of the file, and these, which replace those of the same technique, side and clients."""
    def key(row: dict[str, Any]) -> tuple[Any, ...]:
        return row["technique"], row["side"], row["clients"]

    old = json.loads(file.read_text())["results"] if file.exists() else []
    by_key = {key(row): row for row in [*old, *rows]}
    return {"results": list(by_key.values())}


async def run(options: argparse.Namespace, keep: Callable[[list[dict[str, Any]]], None]) -> list[dict[str, Any]]:
    numbers = itertools.count(1000)
    rows = []
    tools = pathlib.Path(__file__).with_name("tools.py")
    with started([sys.executable, tools, "--delay-ms", options.delay_ms]) as line:
        tool_url = line.strip()

        def tasks(count: int) -> list[Task]:
            return [Task(next(numbers), tool_url) for _ in range(count)]

        async with contextlib.AsyncExitStack() as stack:
            sides: list[Any] = []
            if options.side != "llama-server":
                sides.append(await stack.enter_async_context(quire_side(options, tool_url)))
            if options.llama and options.side != "quire":
                sides.append(await stack.enter_async_context(llama_side(options, tool_url)))
            for group in suite_of(options):
                entrants = [(side, each) for side in sides for each in (group if side.name == "quire" else group[:1])]
                for clients in options.clients:
                    rows += await measure(entrants, clients, options, tasks)
                    keep(rows)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--llama", type=pathlib.Path, help="the folder of llama-server")
    parser.add_argument("--quire", type=pathlib.Path, default=ROOT / "build/release/quire")
    parser.add_argument("--programs", type=pathlib.Path, nargs="+",
                        default=[ROOT / "build/release/inferlets", ROOT / "build/release/bench"])
    parser.add_argument("--suite", choices=list(techniques.SUITES), default="techniques")
    parser.add_argument("--only", type=lambda names: names.split(","), help="techniques of the suite, by name")
    parser.add_argument("--side", choices=("quire", "llama-server"), help="one side alone")
    parser.add_argument("--clients", type=lambda counts: [int(each) for each in counts.split(",")], default=[1, 16])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=3, help="tasks of one client in a round")
    parser.add_argument("--delay-ms", type=float, default=10.0)
    parser.add_argument("--slots", type=int, default=llama.SLOT_COUNT, help="of llama-server")
    parser.add_argument("--llama-flag", action="append", default=[])
    parser.add_argument("--quire-flag", action="append", default=[])
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()

    def keep(rows: list[dict[str, Any]]) -> None:
        if options.json:  # After each measurement, so that a run that is cut leaves what it has.
            options.json.write_text(json.dumps(merged(options.json, rows), indent=1) + "\n")

    rows = asyncio.run(run(options, keep))
    if not options.json:
        print(json.dumps({"results": rows}, indent=1))


if __name__ == "__main__":
    main()
