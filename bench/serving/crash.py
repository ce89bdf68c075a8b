"""A server that is killed under load: when it serves again, and whether it still has what it acknowledged."""
import asyncio
import random
import time

from http_load import BrokenOff, Connection
from scenarios import Wrong, chat, first_model, streamed_text

POLL_SECONDS = 0.01


async def _answers(server, method, path, body=None):
    async with await Connection.open(server.host, server.port) as connection:
        return await connection.request(method, path, body)


async def _load(server, model, streams, writers, tokens, acknowledged, finished, run):
    """Streams and writers until the server goes. `acknowledged`: the keys that the server said it keeps."""

    async def stream(number):
        while True:
            streamed_text(await _answers(server, "POST", "/v1/chat/completions", chat(model, number, tokens, True)))
            finished.append(number)

    async def write(number):
        count = 0
        while True:
            key = f"run{run}-writer{number}-{count}"
            answer = await _answers(server, "POST", "/keep/" + key)
            if answer.status != 200:
                raise Wrong(f"{key}: {answer.status} {answer.body!r}")
            acknowledged.append(key)
            count += 1

    async def until_gone(task):
        try:
            await task
        except (BrokenOff, OSError):
            pass

    await asyncio.gather(*(until_gone(stream(number)) for number in range(streams)),
                         *(until_gone(write(number)) for number in range(writers)))


async def _until_served(server, model):
    """Until a chat completion comes back."""
    while True:
        try:
            answer = await _answers(server, "POST", "/v1/chat/completions", chat(model, 1, 1, False))
            if answer.status == 200:
                return
        except (BrokenOff, OSError):
            pass
        await asyncio.sleep(POLL_SECONDS)


async def _all_there(server, keys):
    with_slot = asyncio.Semaphore(8)

    async def check(key):
        async with with_slot:
            answer = await _answers(server, "GET", "/keep/" + key)
            if answer.status != 200:
                raise Wrong(f"{key} was acknowledged: {answer.status} {answer.body!r}")

    await asyncio.gather(*(check(key) for key in keys))


def crash(start, kills, streams=8, writers=8, tokens=32, seconds=8, seed=1):
    """start() gives a ServerProcess on the same port and store each time; the program keeper answers at /keep/*."""
    draw = random.Random(seed)
    acknowledged, finished, restarts = [], [], []
    server = start()
    try:
        model = first_model(server)
        for run in range(kills):

            async def killed_under_load():
                load = asyncio.create_task(
                    _load(server, model, streams, writers, tokens, acknowledged, finished, run))
                await asyncio.sleep(seconds * draw.uniform(0.5, 1))
                server.process.kill()
                await load

            asyncio.run(killed_under_load())
            server.kill()
            began = time.monotonic()
            server = start()
            asyncio.run(_until_served(server, model))
            restarts.append(round(time.monotonic() - began, 2))
            asyncio.run(_all_there(server, acknowledged))
        if not acknowledged:
            raise Wrong("nothing was acknowledged before the kills")
        return {"kills": kills, "finished_streams": len(finished), "acknowledged": len(acknowledged),
                "missing": 0, "serving_again_seconds": restarts}
    finally:
        server.end()
