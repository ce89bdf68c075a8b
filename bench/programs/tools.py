#!/usr/bin/env python3
"""The web of the benches: answers each request after a set delay with one sentence.

    bench/programs/tools.py [--delay-ms 10] [--port 0]

Its first line of output is its URL. It is a process of its own, as a tool is elsewhere for programs and clients alike.
"""
import argparse
import asyncio

BODY = b"The tool returned: the ferry carries 40 people an hour and costs 3 coins a ride."
REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


def content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0


async def serve(delay_ms: float, port: int) -> None:

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(content_length(head))
                await asyncio.sleep(delay_ms / 1e3)
                writer.write(REPLY)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # The other side has closed the connection.
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
    async with server:
        await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--delay-ms", type=float, default=10.0)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    asyncio.run(serve(options.delay_ms, options.port))


if __name__ == "__main__":
    main()
