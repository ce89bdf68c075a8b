#!/usr/bin/env python3
"""The memory that instances of a program cost a server: parked ones, and what stays after many launches.

    bench/launch/script_memory.py PROGRAM [--parked 200] [--launches 10000] [--simultaneous 64] [--quire build/release/quire]

PROGRAM is a script, a module or a Cargo project that sends a message and then waits for one. The server is one of its
own, with the tiny model of the tests. The first figure is the growth of the server's Pss (proportional set size) while
`--parked` instances wait. The second is the growth after `--launches` launches, each ended by its client, `--simultaneous`
at once. The free pages must be those from before. Run it with a Python that has the library websockets.
"""
import argparse
import asyncio
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients/python"))

import quire  # noqa: E402

TINY = ROOT / "tests" / "golden" / "tiny_llama"
QUIET_SECONDS = 3.0  # The server releases what it keeps for the next launches when nothing runs.
MIB = 1 << 20


def pss_bytes(process: int) -> int:
    for line in pathlib.Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the server has gone")


async def quiet_state(client: quire.Client, process: int) -> tuple[int, int]:
    """(Pss, free pages) once the server has nothing to do."""
    await asyncio.sleep(QUIET_SECONDS)
    status = await client.status()
    return pss_bytes(process), status.page_count_free


async def begun(client: quire.Client, program: str) -> quire.Instance:
    instance = await client.launch(program)
    await instance.receive()
    return instance


async def end(instances: list[quire.Instance]) -> None:
    await asyncio.gather(*(each.abort() for each in instances))
    await asyncio.gather(*(each.result() for each in instances))


async def launch_many(client: quire.Client, program: str, count: int, simultaneous: int) -> None:
    for first in range(0, count, simultaneous):
        await end(await asyncio.gather(*(begun(client, program) for _ in range(min(simultaneous, count - first)))))


async def measure(url: str, process: int, module: bytes, options: argparse.Namespace) -> dict:
    async with quire.Client(url) as client:
        program = await client.upload(module)
        await end([await begun(client, program)])
        before, _ = await quiet_state(client, process)
        parked = await asyncio.gather(*(begun(client, program) for _ in range(options.parked)))
        with_parked, _ = await quiet_state(client, process)
        await end(parked)
        await launch_many(client, program, options.simultaneous * 4, options.simultaneous)
        base, pages = await quiet_state(client, process)
        started = time.perf_counter()
        await launch_many(client, program, options.launches, options.simultaneous)
        seconds = time.perf_counter() - started
        after, pages_after = await quiet_state(client, process)
        return {
            "parked": options.parked,
            "parked_mib": (with_parked - before) / MIB,
            "launches": options.launches,
            "seconds": seconds,
            "base_mib": base / MIB,
            "growth_mib": (after - base) / MIB,
            "pages_missing": pages - pages_after,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--parked", type=int, default=200)
    parser.add_argument("--launches", type=int, default=10_000)
    parser.add_argument("--simultaneous", type=int, default=64)
    parser.add_argument("--quire", type=pathlib.Path, default=ROOT / "build/release/quire")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        module = pathlib.Path(options.program)
        if module.suffix != ".wasm":
            module = pathlib.Path(folder) / "program.wasm"
            subprocess.run([options.quire, "build", options.program, "-o", module], check=True)
        command = [options.quire, "serve", "--listen", "127.0.0.1:0", "--model", TINY, "--no-store", "--no-endpoints", "--json"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            line = server.stdout.readline()
            if not line:
                sys.exit("the server did not start")
            print(json.dumps(asyncio.run(measure(json.loads(line)["url"], server.pid, module.read_bytes(), options))))
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
