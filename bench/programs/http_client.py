"""A client of HTTP on one event loop: connections stay open and are used again.

It has what the benches need and no more, so that the client of llama-server pays as little as a client in Python can.
"""
import asyncio
import contextlib
import json
from typing import Any


class HttpClient:
    """At most `connection_count_max` requests at once; the others wait for a connection."""

    def __init__(self, url: str, connection_count_max: int = 64) -> None:
        host, _, port = url.removeprefix("http://").rstrip("/").partition(":")
        self._address = (host, int(port))
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._room = asyncio.Semaphore(connection_count_max)

    async def get(self, path: str = "/") -> str:
        return (await self._request("GET", path, b"")).decode()

    async def post(self, path: str, body: str) -> str:
        return (await self._request("POST", path, body.encode())).decode()

    async def post_json(self, path: str, value: Any) -> Any:
        return json.loads(await self._request("POST", path, json.dumps(value).encode()))

    def close(self) -> None:
        for _, writer in self._idle:
            writer.close()
        self._idle.clear()

    async def _request(self, method: str, path: str, body: bytes) -> bytes:
        head = (f"{method} {path} HTTP/1.1\r\nHost: {self._address[0]}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode()
        async with self._room:
            while self._idle:
                connection = self._idle.pop()
                # The server may have closed a connection that was idle: then another one is used.
                with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                    return await self._exchange(*connection, head + body)
                connection[1].close()
            return await self._exchange(*await asyncio.open_connection(*self._address), head + body)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bytes:
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status, *lines = head.split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
        if "content-length" not in headers:
            raise RuntimeError(f"a response without a length: {head!r}")
        body = await reader.readexactly(int(headers["content-length"]))
        if headers.get("connection", "").lower() == "close":
            writer.close()
        else:
            self._idle.append((reader, writer))
        if status.split()[1] != "200":
            raise RuntimeError(f"{status}: {body[:500].decode(errors='replace')}")
        return body
