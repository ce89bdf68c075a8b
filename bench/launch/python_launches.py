#!/usr/bin/env python3
"""Launches from the Python client: from the request to the program's first message, many at once.

    bench/launch/python_launches.py [--simultaneous 1,896] [--rounds 5] [--quire build/release/quire]

One connection, one server of its own, first_message; the figures are those of
`quire bench launch`, with "client": "python". It needs a Python with the library websockets.
"""

import argparse
import asyncio
import json
import math
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients/python"))

import quire  # noqa: E402

ARGUMENTS = ["--prompt", "x"]


def never_seen(wasm: bytes) -> bytes:
    """The same code with a custom section that makes it another program."""
    section = b"\5nonce" + os.urandom(16)
    return wasm + bytes([0, len(section)]) + section


async def acknowledged(client: quire.Client, program: str, begun: float) -> tuple[float, quire.Instance]:
    instance = await client.launch(program, ARGUMENTS)
    await instance.receive()
    return (time.perf_counter() - begun) * 1e3, instance


async def round_of(client: quire.Client, wasm: bytes, count: int, cold: bool) -> list[float]:
    begun = time.perf_counter()
    program = await client.upload(never_seen(wasm) if cold else wasm)
    if not cold:
        begun = time.perf_counter()
    done = await asyncio.gather(*(acknowledged(client, program, begun) for _ in range(count)))
    await asyncio.gather(*(instance.abort() for _, instance in done))
    await asyncio.gather(*(instance.result() for _, instance in done))
    return [each for each, _ in done]


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


async def measure(url: str, wasm: bytes, counts: list[int], rounds: int) -> list[dict]:
    results = []
    async with quire.Client(url) as client:
        await round_of(client, wasm, 1, cold=False)
        for cold in (False, True):
            for count in counts:
                repetitions = max(rounds, min((100 if cold else 1000) // count, 100))
                times: list[float] = []
                for _ in range(repetitions):
                    times += await round_of(client, wasm, count, cold)
                results.append(
                    {
                        "client": "python",
                        "simultaneous": count,
                        "mode": "cold" if cold else "warm",
                        "p50_ms": percentile(times, 0.50),
                        "p99_ms": percentile(times, 0.99),
                        "launches": len(times),
                    }
                )
                print(json.dumps(results[-1]), file=sys.stderr)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--simultaneous", default="1,8,64,128,256,512,896")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quire", type=pathlib.Path, default=ROOT / "build/release/quire")
    parser.add_argument("--model", default="")
    options = parser.parse_args()
    program = options.quire.parent / "bench/first_message.wasm"
    command = [options.quire, "serve", program, "--listen", "127.0.0.1:0", "--json"]
    if options.model:
        command += ["--model", options.model]
    wasm = program.read_bytes()
    counts = [int(each) for each in options.simultaneous.split(",")]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline()
        if not line:
            sys.exit("the server did not start")
        results = asyncio.run(measure(json.loads(line)["url"], wasm, counts, options.rounds))
    finally:
        server.terminate()
        server.wait()
    print(json.dumps({"results": results}))


if __name__ == "__main__":
    main()
