#!/usr/bin/env python3
"""Times conversations through /v1/chat/completions of Quire against the same requests to llama-server.

    bench/serving/compare_chat.py --model FILE.gguf --llama FOLDER [--clients 1,16] [--turns 4] [--tokens 32] [--rounds 3]

Each client has a conversation of its own, of --turns questions under one system prompt. A request
has the question and all turns before it, and its answer is a stream of --tokens tokens. Both
servers have two threads and the same file, and take turns. The output has a line of JSON for each
count of clients: the time to the first text and the tokens per second, as the median (least to
most) over the rounds.
"""
import argparse
import asyncio
import itertools
import json
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "programs"))
import llama  # noqa: E402
from http_load import Connection, percentile  # noqa: E402
from scenarios import Wrong, first_model, streamed_text  # noqa: E402
from server_process import ROOT, ServerProcess, free_port  # noqa: E402

SYSTEM = ("You are the guide of a museum of ships. Answer in plain words. The museum has a whaler of 1841, a river steamer of "
          "1876 with its engine, two lifeboats, a lightship that still floats, and the wheelhouse of a trawler. It is open "
          "from ten to five, on Mondays from noon. Children enter without a ticket. The café is behind the lightship. "
          "Do not speak of the repairs to the whaler, and send questions about money to the office at the gate.")
QUESTIONS = ("I am visitor number {number}. What should I see first, and how long does it take?",
             "And after that? We are {number} people, and some of us cannot climb stairs.",
             "Who built it, and when did visitor {number} see it last?",
             "Thank you. Write a short note about this for group {number}.")


def first_text(answer):
    """When the first chunk with text came, in seconds after the request."""
    for when, part in answer.parts:
        for line in part.decode(errors="replace").splitlines():
            if not line.startswith("data: {"):
                continue
            if any(choice["delta"].get("content") for choice in json.loads(line[len("data: "):])["choices"]):
                return when - answer.began
    raise Wrong(f"no text: {answer.body[:400]!r}")


async def conversation(host, port, model, number, options):
    """One client: the time to the first text of each turn."""
    messages = [{"role": "system", "content": SYSTEM}]
    times = []
    for turn in range(options.turns):
        messages.append({"role": "user", "content": QUESTIONS[turn % len(QUESTIONS)].format(number=number)})
        # llama-server closes a connection after a stream.
        async with await Connection.open(host, port) as connection:
            answer = await connection.request("POST", "/v1/chat/completions", {
                "model": model, "messages": messages, "max_tokens": options.tokens, "temperature": 0, "ignore_eos": True,
                "stream": True})
        messages.append({"role": "assistant", "content": streamed_text(answer)})
        times.append(first_text(answer))
    return times


async def at_once(host, port, model, numbers, options):
    began = time.monotonic()
    times = await asyncio.gather(*(conversation(host, port, model, number, options) for number in numbers))
    seconds = time.monotonic() - began
    return ([each for one in times for each in one], len(times) * options.turns * options.tokens / seconds)


def spread(values, digits):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def compare(sides, clients, options, numbers):
    """`sides`: name -> (host, port, model)."""
    first, rates = {name: [] for name in sides}, {name: [] for name in sides}
    names = list(sides)
    for name in names:  # The system prompt is known to both, as in a server that has been up for a while.
        asyncio.run(at_once(*sides[name], [next(numbers)], options))
    for index in range(options.rounds):
        for name in names if index % 2 == 0 else names[::-1]:
            times, rate = asyncio.run(at_once(*sides[name], [next(numbers) for _ in range(clients)], options))
            first[name].append(1e3 * percentile(times, 0.5))
            rates[name].append(rate)
    row = {"clients": clients}
    for name in names:
        row[name] = {"first_text_ms": spread(first[name], 0), "tokens_per_second": spread(rates[name], 0)}
    quire, peer = names
    row["times_sooner"] = round(statistics.median(first[peer]) / statistics.median(first[quire]), 2)
    row["times_the_tokens"] = round(statistics.median(rates[quire]) / statistics.median(rates[peer]), 2)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--llama", type=pathlib.Path, required=True, help="the folder of llama-server")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--clients", type=lambda counts: [int(each) for each in counts.split(",")], default=[1, 16])
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    numbers = itertools.count(1000)
    port = free_port()
    with ServerProcess(options.build / "quire", ["--model", options.model, "--no-store"]) as quire, \
            llama.Server(options.llama, options.model, port) as peer:
        asyncio.run(peer.ready())
        sides = {"quire": (quire.host, quire.port, first_model(quire)), "llama-server": ("127.0.0.1", port, "any")}
        for clients in options.clients:
            print(json.dumps(compare(sides, clients, options, numbers)), flush=True)


if __name__ == "__main__":
    main()
