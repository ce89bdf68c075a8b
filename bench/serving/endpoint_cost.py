#!/usr/bin/env python3
"""Measures what an endpoint adds to the time to the first text of a launched program.

    bench/serving/endpoint_cost.py [--model MODEL] [--pairs 200]

In each pair one question goes to /v1/chat/completions as a stream, and another of the same length to the program
text_completion, which one connection launches; they take turns in going first. It needs a Python with `websockets`.
"""
import argparse
import asyncio
import json
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients" / "python"))
import quire  # noqa: E402
from compare_chat import first_text  # noqa: E402
from http_load import Connection  # noqa: E402
from scenarios import first_model  # noqa: E402
from server_process import ROOT, ServerProcess  # noqa: E402

QUESTION = "What would you show visitor {} of a museum of ships first, and why?"
TOKENS = 4


async def by_endpoint(connection, model, number):
    answer = await connection.request("POST", "/v1/chat/completions", {
        "model": model, "messages": [{"role": "user", "content": QUESTION.format(number)}], "max_tokens": TOKENS,
        "temperature": 0, "ignore_eos": True, "stream": True})
    return first_text(answer)


async def by_program(client, number):
    began = time.monotonic()
    instance = await client.launch("text_completion", [
        "--chat", "--temperature", "0", "--ignore-eos", "--max-tokens", str(TOKENS), QUESTION.format(number)])
    first = None
    async for _ in instance:
        first = first or time.monotonic() - began
    (await instance.result()).check()
    return first


async def measure(server, model, pairs):
    times = {"endpoint": [], "program": []}
    async with await Connection.open(server.host, server.port) as connection, quire.Client(server.url) as client:
        for pair in range(-10, pairs):  # The first ten are not counted.
            sides = [("endpoint", lambda number: by_endpoint(connection, model, number)),
                     ("program", lambda number: by_program(client, number))]
            for index, (name, ask) in enumerate(sides if pair % 2 == 0 else sides[::-1]):
                seconds = await ask(10_000 + 2 * (pair + 10) + index)
                if pair >= 0:
                    times[name].append(1e3 * seconds)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="", help="a name or a file; without it the default model")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--pairs", type=int, default=200)
    options = parser.parse_args()
    flags = [options.build / "inferlets" / "text_completion.wasm", "--no-store",
             *(["--model", options.model] if options.model else [])]
    with ServerProcess(options.build / "quire", flags) as server:
        times = asyncio.run(measure(server, first_model(server), options.pairs))
    added = [endpoint - program for endpoint, program in zip(times["endpoint"], times["program"])]
    print(json.dumps({"pairs": options.pairs, "first_text_ms": {name: round(statistics.median(each), 2)
                                                                for name, each in times.items()},
                      "added_ms": round(statistics.median(added), 2)}))


if __name__ == "__main__":
    main()
