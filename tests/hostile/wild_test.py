#!/usr/bin/env python3
"""Random calls on a server beside a victim whose tokens must be those that it gives alone.

    wild_test.py BUILD [SEED...]

64 seeds of 16,000 calls each, 1,024,000 in all; this run's share is QUIRE_SEED_SHARE's (base/seeds.h).
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import sys
import tempfile

import beside

sys.path.insert(0, str(beside.SOURCE / "tests" / "conformance"))
import http_peer  # noqa: E402

SEED_COUNT = 64
CALL_COUNT = 16_000
SUCCEEDED_COUNT_MIN = 100  # Of 124, in each seed.
# No model here has these traits, this one no template for chats, no request launched it, and no client sends a file.
NEVER = re.compile(r"(adapter|input-image|serve)\.|tokenize\.(apply-chat-template|tokenize-chat)$|session\.read-file$")
OTHER_MODEL = "tiny_other"  # Of the same weights, by another name.
TOKEN_COUNT = 100
PAGE_COUNT = 40_000  # More than random calls ever hold at once: the victim must have some.


def share():
    match = re.fullmatch(r"(\d+)/(\d+)", os.environ.get("QUIRE_SEED_SHARE", ""))
    index, count = (int(match.group(1)), int(match.group(2))) if match else (0, 8)
    if count == 0 or index >= count:
        index, count = 0, 8
    return list(range(index, SEED_COUNT, count)) or [index % SEED_COUNT]


def main(build, seeds):
    """Beside all that a server may have: a store, another model, logits, a peer to talk to."""
    peer, port = http_peer.start()
    with tempfile.TemporaryDirectory() as folder:
        other = pathlib.Path(folder) / OTHER_MODEL
        shutil.copytree(beside.TINY, other)
        store = pathlib.Path(folder) / "store"
        flags = ["--allow-http", f"127.0.0.1:{port}", "--allow-public-exports", "--model", str(other)]
        try:
            return run_all(build, seeds, flags, store, f"http://127.0.0.1:{port}/page")
        finally:
            peer.shutdown()


def run_all(build, seeds, flags, store, url):
    failures, made, fewest, refused = [], 0, sys.maxsize, []
    print(f"seeds {seeds[0]} to {seeds[-1]}, {len(seeds)} of {SEED_COUNT}; one alone: "
          f"tests/hostile/wild_test.py {build.name} SEED", flush=True)
    victim = beside.guest(build, "victim")
    with beside.Server(build, flags, PAGE_COUNT, store=store) as server, \
            concurrent.futures.ThreadPoolExecutor(1) as readers:
        alone = beside.streams_of(server.run(victim, [TOKEN_COUNT]))
        if alone is None:
            failures.append("the victim alone did not end well")
        for seed in seeds:
            # Read as it comes: a client whose output is not read waits, and never ends.
            wild = readers.submit(server.run, beside.guest(build, "wild"), [seed, CALL_COUNT, url, OTHER_MODEL])
            while True:  # As long as it is wild.
                is_over = wild.done()
                result = server.run(victim, [TOKEN_COUNT])
                if beside.streams_of(result) != alone:
                    failures.append(f"seed {seed}: the victim gives other tokens than alone: "
                                    f"{result[0]} {result[2][-500:]}")
                if is_over or not server.is_alive():
                    break
            code, out, said = wild.result()
            told = re.findall(r"^CALLS (\d+) (\d+)$", out, re.MULTILINE)
            made += sum(int(count) for count, _ in told)
            fewest = min([fewest, *(int(succeeded) for _, succeeded in told)])
            refused += [set(names.split()) for names in re.findall(r"^REFUSED(.*)$", out, re.MULTILINE)]
            if code != 0 or not told:
                failures.append(f"seed {seed}: {code} {out[-200:]!r} {said[-500:]}")
            if not server.is_alive():
                failures.append(f"seed {seed}: the server has gone: {server.log.name}")
                break
    if server.exit_code != 0:
        failures.append(f"the server ended with {server.exit_code}: {server.log.name}")
    # Random calls that all fail test little.
    if fewest < SUCCEEDED_COUNT_MIN:
        failures.append(f"only {fewest} different calls ever succeeded, of a seed")
    never = sorted(set.intersection(*refused)) if refused else []
    print(f"{len(never)} calls never succeeded: {', '.join(never)}")
    astray = [name for name in never if not NEVER.match(name)]
    if astray and len(seeds) == SEED_COUNT:
        failures.append(f"with all seeds these should succeed: {', '.join(astray)}")
    print("\n".join(failures) or f"{made} calls, at least {fewest} different ones with success")
    return not failures


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    given = [int(each) for each in sys.argv[2:]]
    sys.exit(0 if main(pathlib.Path(sys.argv[1]).resolve(), given or share()) else 1)
