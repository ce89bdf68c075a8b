#!/usr/bin/env python3
"""Asks whether a server computes again after `kill -9` what it computed before.

    bench/notebook/restart.py --model FILE.gguf [--server quire|responses|FOLDER] [--kv-memory 8GB] [--scale 1.0]
                              [--turns 12] [--tokens 1000,20000] [--json OUT]

Four conversations grow as in notebook.py, three to 8,000 tokens and one to 20,000 (times --scale). Then the server is
killed and started again. Each conversation goes on for a turn. The first one branches at an older message, the second
is edited in the middle, and the first goes on where it was.

With "quire" each turn is a run of turn.js, which saves its context. With "responses" it is a POST to /v1/responses with
`store` and `previous_response_id`. That branches, but edits nothing. A schema says what its answers are: texts that a
random model draws are read as other tokens in the next prompt, and these would be new to the server. FOLDER holds a
llama-server, which saves a slot after each turn and restores it. The table has the tokens that are new to the server,
and those that it computed. Nothing else should run on the machine.
"""
import argparse
import contextlib
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

import notebook
from notebook import ANSWER_TOKENS, LENGTHS, QUIRE, REQUEST_SECONDS_MAX, ServerProcess, free_port, post, some_tokens

TURN = pathlib.Path(__file__).resolve().parent / "turn.js"
WORDS = "one two three four five six seven eight nine ten".split()


class Quire:
    """Conversations as snapshots that a program opens and saves."""

    can_edit = True

    def __init__(self, args, folder):
        self.flags = ["--model", args.model, "--store", folder, "--kv-memory", args.kv_memory]
        self.server, self.lengths = None, {}
        self.start()

    def start(self):
        self.server = ServerProcess(QUIRE, self.flags)

    def restart(self):
        self.server.kill()
        self.start()

    def end(self):
        self.server.end()

    def computed(self):
        """Tokens that the model computed since the start: prompts, answers, and what was computed again."""
        return int(self.server.metrics()["quire_computed_tokens_total"])

    def turn(self, name, added, keep=None, to=None):
        """New tokens and computed ones of a turn after the first `keep` tokens of a conversation, which becomes `to`."""
        before = self.computed()
        command = [QUIRE, "run", "--server", self.server.url, TURN, "--", "--name", name, "--tokens", json.dumps(added),
                   "--count", ANSWER_TOKENS]
        command += ["--keep", keep] if keep is not None else []
        command += ["--as", to] if to else []
        done = subprocess.run(list(map(str, command)), capture_output=True, timeout=REQUEST_SECONDS_MAX)
        if done.returncode != 0:
            sys.exit(f"a turn of {name} failed: {done.stderr.decode(errors='replace')}")
        self.lengths[to or name] = int(done.stdout)
        return len(added) + ANSWER_TOKENS, self.computed() - before

    def length(self, name):
        return self.lengths[name]


class Responses(Quire):
    """Conversations as kept responses."""

    can_edit = False

    def __init__(self, args, folder):
        super().__init__(args, folder)
        self.model, self.rng, self.last = notebook.model_of(self.server.port), random.Random(2), {}

    def turn(self, name, added, keep=None, to=None):
        before = self.computed()
        history = self.last.get(name, [])
        parent = history[keep] if keep is not None else (history[-1] if history else None)
        text = " ".join(self.rng.choice(WORDS) for _ in added)
        said = " ".join(self.rng.choice(WORDS) for _ in range(ANSWER_TOKENS - 2))
        format_of_answer = {"type": "json_schema", "name": "words", "schema": {"const": said}}
        body = {"model": self.model, "input": text, "store": True, "max_output_tokens": 4 * ANSWER_TOKENS, "temperature": 0,
                "text": {"format": format_of_answer}}
        answer = post(self.server.port, "/v1/responses", body | ({"previous_response_id": parent[0]} if parent else {}))
        length = answer["usage"]["total_tokens"]
        self.last[to or name] = (history[:keep + 1] if keep is not None else history) + [(answer["id"], length)]
        return length - (parent[1] if parent else 0), self.computed() - before

    def length(self, name):
        return len(self.last[name])


class Llama:
    """Conversations as slots that are saved after each turn."""

    can_edit = True

    def __init__(self, args, folder):
        self.args, self.folder, self.texts, self.slots = args, folder, {}, {}
        self.start()

    def start(self):
        self.port = free_port()
        command = [pathlib.Path(self.args.server) / "llama-server", "-m", self.args.model, "--host", "127.0.0.1", "--port", self.port,
                   "-np", 4, "-c", 4 * 24_576, "-ctxcp", 64, "-cms", 256, "-cram", 8192, "--slot-save-path", self.folder, "--no-webui"]
        self.log = tempfile.TemporaryFile()
        self.server = subprocess.Popen(list(map(str, command)), stdout=self.log, stderr=self.log)
        notebook.wait_until_ready(self.server, self.port, self.log)

    def restart(self):
        self.server.kill()
        self.server.wait()
        self.start()
        for name, slot in self.slots.items():
            post(self.port, f"/slots/{slot}?action=restore", {"filename": name.replace(" ", "_")})

    def end(self):
        self.server.terminate()
        self.server.wait()
        self.log.close()

    def turn(self, name, added, keep=None, to=None):
        text = self.texts.get(name, [])
        text = (text if keep is None else text[:keep]) + added
        slot = self.slots.setdefault(to or name, self.slots.get(name, len(self.slots) % 4))
        answer = post(self.port, "/completion", {"prompt": text, "n_predict": ANSWER_TOKENS, "temperature": 0, "ignore_eos": True,
                                                 "cache_prompt": True, "id_slot": slot, "return_tokens": True})
        self.texts[to or name] = text + answer["tokens"]
        post(self.port, f"/slots/{slot}?action=save", {"filename": (to or name).replace(" ", "_")})
        return len(added) + ANSWER_TOKENS, answer["timings"]["prompt_n"] + ANSWER_TOKENS

    def length(self, name):
        return len(self.texts[name])


def middle_of(served, name):
    return served.length(name) // 2


def write(served, args, rows):
    rng = random.Random(1)
    steps = [round(length * args.scale / args.turns) for length in LENGTHS]

    def send(label, *arguments, **options):
        begin = time.monotonic()
        new, computed = served.turn(*arguments, **options)
        row = {"name": label, "new": new, "computed": computed, "seconds": time.monotonic() - begin}
        rows.append(row)
        print(f"{label:32} {new:7} {computed:9} {computed - new:7} {row['seconds']:9.2f}", flush=True)

    names = [f"conversation {number + 1}" for number in range(len(steps))]
    for turn in range(args.turns):
        for name, step in zip(names, steps):
            send(f"{name} turn {turn + 1}", name, some_tokens(rng, args, step))
    served.restart()
    print("killed, and started again")
    for name, step in zip(names, steps):
        send(f"{name} goes on", name, some_tokens(rng, args, step))
    send("a branch at the middle", names[0], some_tokens(rng, args, steps[0]), keep=middle_of(served, names[0]), to="branch")
    if served.can_edit:
        send("an edit in the middle", names[1], some_tokens(rng, args, steps[1]), keep=middle_of(served, names[1]), to="edit")
    send("back to the first", names[0], some_tokens(rng, args, steps[0]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--server", default="quire", help="quire, responses, or a folder with llama-server")
    parser.add_argument("--kv-memory", default="8GB")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--tokens", type=lambda text: tuple(map(int, text.split(","))), default=(1_000, 20_000),
                        help="the vocabulary's tokens that prompts have, from the first up to the last")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    print(f"{'turn':32} {'new':>7} {'computed':>9} {'beyond':>7} {'seconds':>9}")
    rows = []
    folder = tempfile.mkdtemp()
    try:
        with contextlib.closing(notebook_of(args, folder)) as served:
            write(served, args, rows)
    finally:
        shutil.rmtree(folder)
    print(f"computed {sum(row['computed'] for row in rows)} tokens, of which {sum(row['new'] for row in rows)} were new")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


def notebook_of(args, folder):
    served = {"quire": Quire, "responses": Responses}.get(args.server, Llama)(args, folder)
    served.close = served.end
    return served


if __name__ == "__main__":
    main()
