#!/usr/bin/env python3
"""The system has no thread left, at the server's start and while it runs: an error each time, and no end of the server."""
import hashlib
import json
import pathlib
import subprocess
import tempfile
import time
import unittest

import attack

LIBRARY = attack.BUILD / "tests/security/librefuse_threads.so"
MADE_MAX = 13  # The server has that many threads once it has started.
BYTE_CODE_PATIENCE = 3.0  # A script's byte code is made a second after its first run.
SCRIPT = 'import { session } from "quire";\nexport default async function program() { session.send("%d"); }\n'
GRAMMAR = """import { Grammar, Model, session } from "quire";
export default async function program() {
  session.send(await Grammar.regex(await Model.open(), "[a-z]|%d").then(() => "made", (error) => `${error.code}: ${error.message}`));
}
"""


class ThreadsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.trigger = self.folder / "trigger"

    def server(self, *flags):
        server = attack.Server(*flags, variables={"LD_PRELOAD": str(LIBRARY), "THREADS_TRIGGER": str(self.trigger)})
        self.addCleanup(server.__exit__)
        return server

    def script(self, source=SCRIPT):
        """A script that no server has seen: the source names a number."""
        path = self.folder / "hello.js"
        path.write_text(source % time.time_ns())
        subprocess.run([attack.BUILD / "quire", "build", path, "-o", path.with_suffix(".wasm")], check=True,
                       stdout=subprocess.DEVNULL, env=attack.environment())
        return path.with_suffix(".wasm").read_bytes()

    def assert_lives(self, server):
        self.assertIsNone(server.process.poll(), server.log())
        self.assertEqual(attack.http(server, "GET", "/v1/models")[0], 200)

    def test_a_start_without_enough_threads_is_an_error_with_exit_code_1(self):
        codes = []
        for most in range(MADE_MAX):
            ended = subprocess.run(
                [attack.BUILD / "quire", "serve", "--listen", "127.0.0.1:0", "--kv-pages", "64", "--model",
                 attack.MODEL, "--store", self.folder / "store", "--usage", self.folder / "usage", "--threads", "3"],
                env=attack.environment() | {"LD_PRELOAD": str(LIBRARY), "THREADS_MAX": str(most)},
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=attack.PATIENCE)
            codes.append(ended.returncode)
            self.assertEqual(ended.returncode, 1, f"{most} threads: {ended.stderr}")
            self.assertIn("thread", ended.stderr)

    def test_a_script_whose_byte_code_needs_a_thread_still_runs(self):
        server = self.server()
        wasm = self.script()
        with attack.WebSocket(server) as socket:
            self.assertIn("state", attack.upload(socket, wasm))
            self.trigger.touch()
            self.assertEqual(len(socket.run("sha256:" + hashlib.sha256(wasm).hexdigest())), 1)
            time.sleep(BYTE_CODE_PATIENCE)
        self.assert_lives(server)

    def test_a_grammar_that_needs_a_thread_is_unavailable_and_compiled_afterwards(self):
        server = self.server()
        with attack.WebSocket(server) as socket:
            programs = []
            for wasm in (self.script(GRAMMAR), self.script(GRAMMAR)):
                self.assertIn("state", attack.upload(socket, wasm))
                programs.append("sha256:" + hashlib.sha256(wasm).hexdigest())
            for program, purpose in zip(programs, ("the clock of grammars", "compiling a grammar")):
                self.trigger.touch()
                self.assertRegex(socket.run(program)[0].decode(), f"^unavailable: .*a thread for {purpose} cannot be started")
                self.assert_lives(server)
                self.trigger.unlink()
                self.assertEqual(socket.run(program), [b"made"])

    def test_an_adapter_that_needs_a_thread_is_refused_and_read_afterwards(self):
        (self.folder / "a.gguf").write_text("not one")
        server = self.server("--adapters", self.folder)
        body = json.dumps({"lora_name": "a", "lora_path": "a.gguf"}).encode()
        load = lambda: attack.http(server, "POST", "/v1/load_lora_adapter", [("Content-Type", "application/json")], body)
        self.trigger.touch()
        refused = load()
        self.assertEqual(refused[0], 503, refused)
        self.assertIn(b"a thread for loading adapters", refused[2])
        self.assert_lives(server)
        self.trigger.unlink()
        self.assertEqual(load()[0], 400)

    def test_an_upload_that_needs_a_thread_is_refused_and_works_afterwards(self):
        server = self.server()
        wasm = self.script()
        self.trigger.touch()
        with attack.WebSocket(server) as socket:
            reply = attack.upload(socket, wasm)
            self.assertEqual(reply.get("code"), "unavailable", reply)
            self.assertIn("a thread for compiling programs", json.dumps(reply))
            self.assert_lives(server)
            self.trigger.unlink()
            self.assertIn("state", attack.upload(socket, wasm))


if __name__ == "__main__":
    attack.main()
