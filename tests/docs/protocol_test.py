#!/usr/bin/env python3
"""Holds the conversations of docs/reference/protocol.md with a server, and runs its Python, and that of
clients/python/README.md.

A conversation follows a line <!-- conversation -->: "C: " is a frame that is sent, "S: " one
that must come, in any order among those that follow one another. Values that differ from run to run
are known by the names of their members; one that the server gave stands for itself from there on.
"""

import asyncio
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients/python/tests"))

import websockets  # noqa: E402
from serving import BUILD, Server, guest  # noqa: E402

from quire.frames import Frame, decode, encode  # noqa: E402

DOCUMENT = ROOT / "docs/reference/protocol.md"
PATIENCE = 60.0
# Members whose values are the server's own: bound to what it says, or merely of the same type.
BOUND = {"instance", "name", "program"}
MEASURED = {"duration_ns", "cpu_ns", "uptime_ms", "connection_count",
            "launched_count", "refused_count", "program_count"}


def blocks(text, marker, language):
    return re.findall(rf"<!-- {marker} -->\n```{language}\n(.*?)```", text, re.S)


def frame_of(line):
    decoder = json.JSONDecoder()
    head, end = decoder.raw_decode(line)
    rest = line[end:].strip()
    return Frame(head, json.loads(rest[1:]).encode() if rest else None)


class Conversation:
    def __init__(self, server):
        self.server = server
        self.values = {}  # As the document has them, to the server's.

    def said(self, key, value):
        """The client's value for a value of the document."""
        return value if isinstance(value, (list, dict)) else self.values.get((key, value), value)

    def matches(self, wanted, got, bindings, key=""):
        if isinstance(wanted, dict):
            return (
                isinstance(got, dict)
                and wanted.keys() == got.keys()
                and all(self.matches(wanted[k], got[k], bindings, k) for k in wanted)
            )
        if isinstance(wanted, list):
            return (
                isinstance(got, list)
                and len(wanted) == len(got)
                and all(self.matches(w, g, bindings, key) for w, g in zip(wanted, got))
            )
        if key == "first_message_ns":
            return (wanted == 0) == (got == 0)
        if key in MEASURED:
            return type(wanted) is type(got)
        if key == "message":
            for (bound_key, value), actual in self.values.items():
                if bound_key == "instance":
                    wanted = wanted.replace(f"instance {value} ", f"instance {actual} ")
        is_secret = key == "instance" or (isinstance(wanted, str) and re.fullmatch("[0-9a-f]{32}", wanted))
        if key in BOUND and (is_secret or str(wanted).startswith("sha256:")):
            known = self.values.get((key, wanted))
            bindings[key, wanted] = got
            return type(wanted) is type(got) and known in (None, got)
        return type(wanted) is type(got) and wanted == got

    async def expect(self, lines):
        """Each of the frames, in any order."""
        wanted = [frame_of(line) for line in lines]
        while wanted:
            try:
                got = decode(await asyncio.wait_for(self.server.recv(), PATIENCE))
            except asyncio.TimeoutError:
                raise AssertionError(f"these did not come: {wanted}") from None
            for each in wanted:
                bindings = {}
                if each.payload == got.payload and self.matches(each.head, got.head, bindings):
                    self.values.update(bindings)
                    wanted.remove(each)
                    break
            else:
                raise AssertionError(f"the server said {got}, the document has {wanted}")

    async def hold(self, text):
        # A client's frame, and the server's frames after it.
        for turn in re.split(r"^(?=C: )", text, flags=re.M):
            lines = turn.splitlines()
            if not lines:
                continue
            frame = frame_of(lines[0][3:])
            head = {key: self.said(key, value) for key, value in frame.head.items()}
            await self.server.send(encode(Frame(head, frame.payload)))
            heard = [line[3:] for line in lines[1:]]
            if heard and heard[-1].startswith("closes with "):
                await self.expect(heard[:-1])
                await asyncio.wait_for(self.server.wait_closed(), PATIENCE)
                assert self.server.close_code == int(heard[-1].split()[-1]), self.server.close_code
            else:
                await self.expect(heard)


class Protocol(unittest.TestCase):
    def setUp(self):
        self.server = Server(programs=[guest("echo"), guest("files")])
        self.addCleanup(self.server.stop)

    def test_conversations_go_as_they_are_written(self):
        conversations = blocks(DOCUMENT.read_text(), "conversation", "")
        self.assertGreaterEqual(len(conversations), 7)

        async def hold(text):
            async with websockets.connect(self.server.url, subprotocols=["quire.1"]) as server:
                await Conversation(server).hold(text)

        for text in conversations:
            with self.subTest(text.splitlines()[0]):
                asyncio.run(hold(text))

    def test_a_wrong_document_is_noticed(self):
        async def hold(text):
            async with websockets.connect(self.server.url, subprotocols=["quire.1"]) as server:
                await Conversation(server).hold(text)

        for wrong in ('{"reply":"done","id":2}', '{"reply":"instances","id":1}',
                      '{"reply":"instances","id":1,"instances":[1]}'):
            with self.assertRaises(AssertionError):
                asyncio.run(hold('C: {"verb":"list","id":1}\nS: ' + wrong + "\n"))

    def test_the_bytes_that_are_shown_are_those_of_the_frame(self):
        shown = re.search(r"^24 00 00 00  7b.*?```", DOCUMENT.read_text(), re.S | re.M)
        data = b""
        for line in shown.group().splitlines()[:-1]:
            data += bytes.fromhex(line[:50].split("   ")[0].replace(" ", ""))
        self.assertEqual(decode(data), Frame({"verb": "send", "id": 4, "instance": 17}, b"hi"))

    def test_python_in_the_documents_runs(self):
        snippets = []
        for document in (DOCUMENT, ROOT / "clients/python/README.md"):
            snippets += blocks(document.read_text(), "runnable: python", "python")
        self.assertGreaterEqual(len(snippets), 5)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(BUILD / "inferlets/hello.wasm", folder)
            for snippet in snippets:
                with self.subTest(snippet[:40]):
                    ran = subprocess.run(
                        [sys.executable, "-c", snippet.replace("ws://127.0.0.1:7847", self.server.url)],
                        cwd=folder, capture_output=True, text=True, timeout=PATIENCE,
                        env={"PYTHONPATH": str(ROOT / "clients/python"),
                             "QUIRE": str(BUILD / "quire"), "QUIRE_NO_STORE": "1",
                             "QUIRE_MODEL": str(ROOT / "tests/golden/tiny_llama")},
                    )
                    self.assertEqual(ran.returncode, 0, ran.stderr)
                    self.assertNotEqual(ran.stdout, "")


if __name__ == "__main__":
    unittest.main()
