#!/usr/bin/env python3
"""Asks whether a server computes again what it has computed: conversations that interleave, branch, are edited and go on.

    bench/notebook/notebook.py --model FILE.gguf [--server quire|FOLDER] [--kv-memory 8GB] [--state-memory BYTES]
                               [--scale 1.0] [--turns 12] [--tokens 1000,20000] [--chat] [--json OUT]

FOLDER holds a llama-server. Four conversations of so many turns take turns themselves. Three grow to 8,000
tokens and one to 20,000 (times --scale). Then the first one branches at an older message, the second is
edited in the middle, and the first goes on where it was. The prompts are random tokens, so each prompt's
longest prefix that the server has computed is known. For each request the table has the tokens of the prompt,
those after that prefix (new), those that the server computed, and the time to the answer.
Nothing else should run on the machine.

With --chat the requests are conversations of random words. Earlier answers in them are not what the model wrote,
as with templates that leave out thoughts. So each prompt differs from the text that the server has right after
the last message of the user.
"""
import argparse
import contextlib
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serving"))
from server_process import ROOT, ServerProcess, free_port  # noqa: E402

QUIRE = ROOT / "build/release/quire"
LENGTHS = [8_000, 8_000, 8_000, 20_000]
ANSWER_TOKENS = 16
START_SECONDS_MAX = 120
REQUEST_SECONDS_MAX = 600


@contextlib.contextmanager
def started(args):
    """Gives the port of a server of args.server."""
    if args.server != "quire":
        with started_peer(args) as port:
            yield port
        return
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--model", args.model, "--store", folder, "--kv-memory", args.kv_memory]
        flags += ["--state-memory", args.state_memory] if args.state_memory else []
        with ServerProcess(QUIRE, flags) as server:
            yield server.port


@contextlib.contextmanager
def started_peer(args):
    port = free_port()
    command = [pathlib.Path(args.server) / "llama-server", "-m", args.model, "--host", "127.0.0.1", "--port", port,
               "-np", 4, "-c", 4 * 24_576, "-ctxcp", 64, "-cms", 256, "-cram", 8192, "--no-webui"]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log)
        try:
            wait_until_ready(server, port, log)
            yield port
        finally:
            server.terminate()
            server.wait()


def wait_until_ready(server, port, log):
    end = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < end and server.poll() is None:
        with contextlib.suppress(OSError, urllib.error.URLError):
            if urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).status == 200:
                return
        time.sleep(0.2)
    log.seek(0)
    sys.exit(f"the server did not become ready:\n{log.read().decode(errors='replace')[-2000:]}")


def model_of(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=REQUEST_SECONDS_MAX) as reply:
        return json.load(reply)["data"][0]["id"]


def post(port, path, body):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=REQUEST_SECONDS_MAX) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        sys.exit(f"{path} was refused: {error.read().decode(errors='replace')}")


def ask(port, path, body):
    """The tokens of the prompt that the server computed, and the seconds until the answer is there."""
    begin = time.monotonic()
    answer = post(port, path, {**body, "max_tokens": ANSWER_TOKENS, "temperature": 0, "ignore_eos": True, "cache_prompt": True})
    seconds = time.monotonic() - begin
    usage = answer["usage"]
    if "timings" in answer:  # llama-server.
        return answer["timings"]["prompt_n"], seconds
    return usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"], seconds


def some_tokens(rng, args, count):
    return [rng.randrange(*args.tokens) for _ in range(count)]


class Notebook:
    """Sends prompts, and knows the longest prefix of each that was computed before. A prompt is a list of tokens."""

    def __init__(self, port, args):
        self.port, self.args, self.model, self.seen, self.rows = port, args, model_of(port), [], []

    def some(self, rng, count):
        return some_tokens(rng, self.args, count)

    def edited(self, prompt):
        edited = list(prompt)
        edited[len(edited) // 2] = self.args.tokens[1]  # No other token of a prompt is that one.
        return edited

    def tokens_of(self, prompt):
        return prompt

    def ask(self, prompt):
        return ask(self.port, "/v1/completions", {"model": self.model, "prompt": prompt})

    def send(self, name, prompt):
        tokens = self.tokens_of(prompt)
        known = max((shared_count(tokens, each) for each in self.seen), default=0)
        computed, seconds = self.ask(prompt)
        self.seen.append(tokens)
        row = {"name": name, "prompt": len(tokens), "new": len(tokens) - known, "computed": computed, "seconds": seconds}
        self.rows.append(row)
        print(f"{name:24} {row['prompt']:7} {row['new']:7} {computed:9} {computed - row['new']:7} {seconds:9.2f}", flush=True)


class ChatNotebook(Notebook):
    """The same. A prompt is a list of messages, each turn's and its answer; the last one has no answer yet."""
    WORD_TOKENS = 2  # About.

    def some(self, rng, count):
        words = ("".join(rng.choice(["ka", "lo", "mi", "ru", "te"]) for _ in range(2)) for _ in range(count // self.WORD_TOKENS))
        return [{"role": "user", "content": " ".join(words)}, {"role": "assistant", "content": "Yes."}]

    def edited(self, prompt):
        edited = list(prompt)
        at = len(edited) // 4 * 2
        edited[at] = {**edited[at], "content": edited[at]["content"] + " no"}
        return edited

    def tokens_of(self, prompt):
        text = post(self.port, "/apply-template", {"model": self.model, "messages": prompt[:-1]})["prompt"]
        return post(self.port, "/tokenize", {"model": self.model, "content": text, "parse_special": True})["tokens"]

    def ask(self, prompt):
        return ask(self.port, "/v1/chat/completions", {"model": self.model, "messages": prompt[:-1]})


def shared_count(left, right):
    for index, (one, other) in enumerate(zip(left, right)):
        if one != other:
            return index
    return min(len(left), len(right))


def write(notebook, args):
    rng = random.Random(1)
    steps = [round(length * args.scale / args.turns) for length in LENGTHS]
    texts = [[] for _ in steps]
    for turn in range(args.turns):
        for number, step in enumerate(steps):
            texts[number] = texts[number] + notebook.some(rng, step)
            notebook.send(f"conversation {number + 1} turn {turn + 1}", texts[number])
    older = texts[0][:len(texts[0]) // 4 * 2]
    notebook.send("a branch at the middle", older + notebook.some(rng, steps[0]))
    notebook.send("an edit in the middle", notebook.edited(texts[1]))
    notebook.send("back to the first", texts[0] + notebook.some(rng, steps[0]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--server", default="quire", help="quire, or a folder with llama-server")
    parser.add_argument("--kv-memory", default="8GB")
    parser.add_argument("--state-memory")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--tokens", type=lambda text: tuple(map(int, text.split(","))), default=(1_000, 20_000),
                        help="the vocabulary's tokens that prompts have, from the first up to the last")
    parser.add_argument("--chat", action="store_true", help="conversations whose earlier answers are not what the model wrote")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    print(f"{'request':24} {'prompt':>7} {'new':>7} {'computed':>9} {'beyond':>7} {'seconds':>9}")
    with started(args) as port:
        notebook = (ChatNotebook if args.chat else Notebook)(port, args)
        write(notebook, args)
    total = sum(row["computed"] for row in notebook.rows)
    print(f"computed {total} tokens, of which {sum(row['new'] for row in notebook.rows)} were new")
    if args.json:
        args.json.write_text(json.dumps(notebook.rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
