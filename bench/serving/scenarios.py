"""Scenarios of load on a server of endpoints. Each is a function that returns its figures.

A scenario raises Wrong if an answer is not what it must be. Whether its figures are good enough is for its caller to judge.
"""
import asyncio
import collections
import itertools
import json
import random
import socket
import struct
import time

from http_load import BrokenOff, Connection, milliseconds

CONNECT_BATCH = 200  # Connections opened at once: fewer than the kernel's queue for a listening socket holds.
ANSWER_COUNT = 8     # Different answers among the streams.


class Wrong(Exception):
    """An answer was not what it must be."""


def chat(model, seed, tokens, stream, text="Tell a story about number {}."):
    """The request of one client."""
    return {"model": model, "messages": [{"role": "user", "content": text.format(seed)}], "max_tokens": tokens,
            "temperature": 0.8, "seed": seed, "ignore_eos": True, "stream": stream}


async def _first_model(server):
    async with await Connection.open(server.host, server.port) as connection:
        return (await connection.request("GET", "/v1/models")).json["data"][0]["id"]


def first_model(server):
    return asyncio.run(_first_model(server))


def streamed_text(answer):
    """The text of a stream of chat completions, which is whole."""
    events = answer.events
    if answer.status != 200 or not events or events[-1] != "[DONE]":
        raise Wrong(f"status {answer.status}, the end of the stream: {answer.body[-200:]!r}")
    chunks = [json.loads(event) for event in events[:-1]]
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


async def open_many(server, count):
    connections = []
    while len(connections) < count:
        batch = min(CONNECT_BATCH, count - len(connections))
        connections += await asyncio.gather(*(Connection.open(server.host, server.port) for _ in range(batch)))
    return connections


# ---- streams -----------------------------------------------------------------------------------------------------------


async def _streams(server, model, count, tokens):
    connections = await open_many(server, count)
    wanted = []
    for seed in range(ANSWER_COUNT):
        answer = await connections[0].request("POST", "/v1/chat/completions", chat(model, seed, tokens, False))
        wanted.append(answer.json["choices"][0]["message"]["content"])
    began = time.monotonic()
    answers = await asyncio.gather(*(
        connection.request("POST", "/v1/chat/completions", chat(model, i % ANSWER_COUNT, tokens, True))
        for i, connection in enumerate(connections)))
    ended = time.monotonic()
    for connection in connections:
        connection.close()
    for i, answer in enumerate(answers):
        if streamed_text(answer) != wanted[i % ANSWER_COUNT]:
            raise Wrong(f"stream {i}: {streamed_text(answer)!r} instead of {wanted[i % ANSWER_COUNT]!r}")
    return {"streams": count, "tokens_each": tokens, "open_at_once": most_at_once(answers),
            "seconds": round(ended - began, 2), "tokens_per_second": round(count * tokens / (ended - began)),
            "first_event_ms": milliseconds([each.first_event - each.began for each in answers])}


def most_at_once(answers):
    """How many answers had begun and not ended, at most."""
    changes = sorted([(each.first_byte, 1) for each in answers] + [(each.ended, -1) for each in answers])
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def streams(server, count, tokens):
    """`count` streams at once. Each must have the text that the same request has alone."""
    return asyncio.run(_streams(server, first_model(server), count, tokens))


# ---- idle connections ----------------------------------------------------------------------------------------------------

HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


def read_answer(connection):
    """One short answer with a length, on a plain socket."""
    received = b""
    while b"\r\n\r\n" not in received or not received.endswith(b"}\n"):
        part = connection.recv(4096)
        if not part:
            raise Wrong(f"the server closed the connection after {received!r}")
        received += part
    if not received.startswith(b"HTTP/1.1 200 "):
        raise Wrong(repr(received))


def idle(server, count, seconds):
    """`count` kept connections that had an answer and ask no more: what each costs the server's memory."""
    with socket.create_connection((server.host, server.port)) as warm:
        warm.sendall(HEALTH)
        read_answer(warm)
    base = server.resident_bytes()
    connections = []
    for _ in range(count):
        connections.append(socket.create_connection((server.host, server.port), timeout=60))
        connections[-1].sendall(HEALTH)
        read_answer(connections[-1])
    time.sleep(seconds)
    grown = server.resident_bytes() - base
    for each in connections:  # None of them was closed meanwhile.
        each.sendall(HEALTH)
        read_answer(each)
    for each in connections:
        each.close()
    return {"connections": count, "idle_seconds": seconds, "kib_each": round(grown / count / 1024, 1)}


# ---- more than the server can do -----------------------------------------------------------------------------------------


async def _one(server, model, seed, tokens, answers):
    try:
        async with await Connection.open(server.host, server.port) as connection:
            answers.append(await connection.request("POST", "/v1/chat/completions", chat(model, seed, tokens, True)))
    except (BrokenOff, OSError) as error:
        raise Wrong(f"a request got no answer: {error}") from None


async def _closed_loop(server, model, clients, tokens, seconds, numbers):
    """Requests that `clients` clients finish in a second, each asking again when it has its answer."""
    answers = []
    until = time.monotonic() + seconds

    async def client():
        while time.monotonic() < until:
            await _one(server, model, next(numbers), tokens, answers)

    began = time.monotonic()
    await asyncio.gather(*(client() for _ in range(clients)))
    return good_per_second(answers, began, until)


async def _open_loop(server, model, per_second, tokens, seconds, numbers):
    """Requests come at a fixed rate, whether earlier ones have their answers or not."""
    answers, tasks = [], []
    began = time.monotonic()
    for number in range(int(per_second * seconds)):
        await asyncio.sleep(max(0, began + number / per_second - time.monotonic()))
        tasks.append(asyncio.create_task(_one(server, model, next(numbers), tokens, answers)))
    ended = time.monotonic()
    await asyncio.gather(*tasks)
    return answers, began, ended


def good_per_second(answers, began, ended):
    """Whole answers a second while requests came, without the first fifth of the time, in which the server fills up."""
    for each in answers:
        if each.status == 200:
            streamed_text(each)
        elif each.status not in (429, 503) or "retry-after" not in each.headers:
            raise Wrong(f"status {each.status}: {each.body[:300]!r}")
    first = began + (ended - began) / 5
    return sum(each.status == 200 and first <= each.ended < ended for each in answers) / (ended - first)


def overload(server, clients, tokens, seconds, factor=4):
    """The most requests that the server finishes in a second, and what is left of that at `factor` times as many."""
    model = first_model(server)
    numbers = itertools.count(10_000)  # No prompt comes twice, so none is found in the cache as a whole.
    asyncio.run(_closed_loop(server, model, max(clients), tokens, seconds / 2, numbers))  # Warm.
    peaks = {count: round(asyncio.run(_closed_loop(server, model, count, tokens, seconds, numbers)), 1)
             for count in clients}
    peak = max(peaks.values())
    answers, began, ended = asyncio.run(_open_loop(server, model, factor * peak, tokens, seconds, numbers))
    good = good_per_second(answers, began, ended)
    refusals = [each.ended - each.began for each in answers if each.status != 200]
    return {"requests_per_second_by_clients": peaks, "offered_per_second": round(len(answers) / (ended - began), 1),
            "good_per_second": round(good, 1), "share_of_peak": round(good / peak, 3),
            "statuses": dict(collections.Counter(each.status for each in answers)),
            "refusal_ms": milliseconds(refusals),
            "first_event_ms": milliseconds([each.first_event - each.began for each in answers if each.status == 200])}


# ---- clients that reset ----------------------------------------------------------------------------------------------------


def reset(connection):
    """Closes without a farewell: the server gets RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def resets(server, cycles, tokens, at_once=32, seed=1):
    """Connect, send all or a part of a request, reset at some moment of the answer; what the server holds before and after."""
    model = first_model(server)
    draw = random.Random(seed)

    def some(count):
        open_ones = collections.deque()
        for number in range(count):
            body = json.dumps(chat(model, number, tokens, True)).encode()
            request = (b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n" % len(body)) + body
            connection = socket.create_connection((server.host, server.port), timeout=60)
            connection.sendall(request if draw.random() < 0.8 else request[:draw.randrange(len(request))])
            open_ones.append(connection)
            while len(open_ones) > at_once:
                # Some go at once, some among the others, some after the first bytes of their answers.
                index = draw.choice((0, len(open_ones) - 1, draw.randrange(len(open_ones))))
                gone = open_ones[index]
                del open_ones[index]
                if draw.random() < 0.3:
                    gone.settimeout(0.02)
                    try:
                        gone.recv(1)
                    except TimeoutError:
                        pass
                reset(gone)
        for each in open_ones:
            reset(each)

    def held():
        status = server.status()
        return {"pages": status["page_count"] - status["page_count_free"],
                "instances": status["instance_count"],
                "descriptors": server.descriptor_count(), "mib": round(server.resident_bytes() / 2**20, 1)}

    def settled():
        server.settled(lambda: server.status()["instance_count"], 0)
        time.sleep(2.5)  # The server gives memory back when it was idle for a second.
        return held()

    some(min(cycles, 4 * at_once + cycles // 20))
    before = settled()
    began = time.monotonic()
    some(cycles)
    seconds = time.monotonic() - began
    return {"cycles": cycles, "seconds": round(seconds, 1), "before": before, "after": settled()}
