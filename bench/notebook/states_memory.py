#!/usr/bin/env python3
"""Asks how much memory a server takes for each state that it keeps.

    bench/notebook/states_memory.py --model FILE.gguf [--count 40] [--tokens 1000,20000]

The pool of pages is small and filled first, so that what grows after that is states. Prints RssAnon before and after so many
prompts that each leave one state, and the growth for each of them beside the bytes of a state.
"""
import argparse
import json
import random
import subprocess
import sys
import tempfile

import notebook
from notebook import QUIRE, ServerProcess

PAGE_POOL_BYTES = 64 << 20
PROMPT_TOKENS = 32


def prompt(port, model, rng, args, count):
    notebook.ask(port, "/v1/completions", {"model": model, "prompt": notebook.some_tokens(rng, args, count)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--tokens", type=lambda text: tuple(map(int, text.split(","))), default=(1_000, 20_000))
    args = parser.parse_args()
    shown = json.loads(subprocess.run([QUIRE, "model", "show", args.model, "--json"], check=True, stdout=subprocess.PIPE).stdout)
    state = shown["state_bytes"]
    memory = (args.count + 8) * state
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--model", args.model, "--store", folder, "--state-memory", memory, "--kv-memory", memory + PAGE_POOL_BYTES]
        with ServerProcess(QUIRE, flags) as server:
            model = notebook.model_of(server.port)
            pool_tokens = PAGE_POOL_BYTES // shown["kv_bytes_per_token"]
            for _ in range(6):  # A program may have a part of the pool.
                prompt(server.port, model, rng, args, pool_tokens // 4)
            before, kept = server.resident_bytes("RssAnon"), server.metrics()["quire_states_kept"]
            for _ in range(args.count):
                prompt(server.port, model, rng, args, PROMPT_TOKENS)
            grown = server.resident_bytes("RssAnon") - before
            kept = int(server.metrics()["quire_states_kept"] - kept)
    print(f"{args.count} states more ({kept} in all more): RssAnon grew by {grown} bytes, {grown / args.count:.0f} for each; a state has {state}")
    sys.exit(0 if grown <= args.count * (state + 8192) else 1)


if __name__ == "__main__":
    main()
