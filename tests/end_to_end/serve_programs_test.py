#!/usr/bin/env python3
"""serve_programs_test.py BUILD_FOLDER: the programs of `quire serve` as its operator sees them: their names, their
variables, what changes while it runs, and SIGHUP."""
import http.client
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop()).resolve()
MODEL = ROOT / "tests/golden/tiny_llama"
PATIENCE = 60.0  # The SDK may have to be compiled first.
SECRET = "k3y-that-no-log-may-have"

PAGE = """import { word } from "./word.js";
import { sleep } from "quire";
export async function serve(request, response) {
  if (request.path === "/slow") await sleep(1500);
  await response.send(200, word);
}
"""
KEY = """import { Child, runtime, session } from "quire";
const has = (name) => String(runtime.env(name)?.length);
export async function serve(request, response) { await response.send(200, has("API_KEY") + has("OTHER")); }
export default async function program() {
  if (runtime.arguments().length > 0) return session.send(`child ${has("API_KEY")}\\n`);
  session.send(`${has("API_KEY")} ${has("OTHER")}\\n`);
  session.send(await Child.launch({ arguments: ["child"] }).receive());
}
"""


def environment(**more):
    own = {name: value for name, value in os.environ.items() if not name.startswith("QUIRE_") or name == "QUIRE_CACHE"}
    return {**own, **more}


def quire(*arguments, **more):
    return subprocess.run([BUILD / "quire", *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL, env=environment(**more))


class Server:
    def __init__(self, test, *flags, **more):
        self.process = subprocess.Popen(
            [BUILD / "quire", "serve", "--listen", "127.0.0.1:0", "--json", "--no-store", "--model", MODEL,
             *map(str, flags)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**more))
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        test.addCleanup(self.stop)
        readable, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline() if readable else ""
        if not line:
            raise RuntimeError(f"the server did not start: {self.stop()}")
        self.url = json.loads(line)["url"]

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line)

    def get(self, path):
        connection = http.client.HTTPConnection(self.url.split("//")[1], timeout=PATIENCE)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def until_logged(self, text):
        end = time.monotonic() + PATIENCE
        while not any(text in line for line in self.lines):
            if time.monotonic() > end:
                raise AssertionError(f"no {text!r} in {self.lines}")
            time.sleep(0.05)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.reader.join()
            self.process.stdout.close()
            self.process.stderr.close()
        return "".join(self.lines)


class ServePrograms(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def test_sighup_with_nothing_to_read_again_is_a_line_and_ends_nothing(self):
        server = Server(self, "--no-endpoints")
        server.process.send_signal(signal.SIGHUP)
        server.until_logged("SIGHUP: nothing to read again")
        self.assertIn("subprotocol", server.get("/"))
        server.stop()
        self.assertEqual(server.process.returncode, 0)

    def test_a_module_with_the_name_of_a_program_of_quires_endpoints_is_refused(self):
        mine = self.folder / "openai_chat.wasm"
        shutil.copy(BUILD / "inferlets/text_completion.wasm", mine)
        for words in (("--endpoint", f"POST /x={mine}"), (mine,), (self.folder,)):
            refused = quire("serve", "--listen", "127.0.0.1:0", "--no-store", "--model", MODEL, *words)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(f"{mine} has the name of the program that comes with quire and answers POST "
                          "/v1/chat/completions", refused.stderr)
        Server(self, "--endpoint", f"POST /v1/chat/completions={mine}")
        Server(self, "--no-endpoints", "--endpoint", f"POST /x={mine}")
        shutil.copy(BUILD / "inferlets/openai_chat.wasm", mine)
        Server(self, "--endpoint", f"POST /x={mine}")

    def test_watch_replaces_an_endpoint_whose_import_changed_and_requests_go_on_with_the_old_one(self):
        page = self.write("page.js", PAGE)
        word = self.write("word.js", 'export const word = "one";\n')
        server = Server(self, "--watch", "--no-endpoints", "--endpoint", f"GET /*={page}")
        self.assertEqual(server.get("/page"), "one")
        slow = []
        asking = threading.Thread(target=lambda: slow.append(server.get("/slow")))
        asking.start()
        time.sleep(0.2)
        word.write_text('export const word = "another";\n')
        server.until_logged("the program page was replaced")
        self.assertEqual(server.get("/page"), "another")
        asking.join()
        self.assertEqual(slow, ["one"])
        page.write_text(PAGE.replace("./word.js", "./gone.js"))
        server.until_logged("the program page stays as it was")
        self.assertTrue(any("page.js:1" in line for line in server.lines), server.lines)
        self.assertEqual(server.get("/page"), "another")
        page.write_text("export async function serve( {\n")
        server.until_logged("page.js:2: SyntaxError")
        self.assertEqual(server.get("/page"), "another")
        page.write_text(PAGE.replace("200, word", "200, `${word} page`"))
        end = time.monotonic() + PATIENCE
        while server.get("/page") != "another page":
            self.assertLess(time.monotonic(), end, server.lines)
            time.sleep(0.1)

    def test_a_program_reads_the_variables_it_was_given_and_its_children_do_not(self):
        key = self.write("key.js", KEY)
        run = ("run", key, "--no-store", "--model", MODEL)
        ran = quire(*run, "--env", "API_KEY", API_KEY=SECRET, OTHER="x")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout, f"{len(SECRET)} undefined\nchild undefined\n")
        self.assertNotIn(SECRET, ran.stderr)
        unset = quire(*run, "--env", "API_KEY")
        self.assertIn("--env: API_KEY is not set in the environment of quire", unset.stderr)
        given = quire(*run, "--env", f"API_KEY={SECRET}")
        self.assertNotEqual(given.returncode, 0)
        self.assertIn("give the name API_KEY alone", given.stderr)
        self.assertNotIn(SECRET, given.stderr)
        large = quire(*run, "--env", "API_KEY", API_KEY="x" * 70_000)
        self.assertIn("at most 65536", large.stderr)
        far = quire(*run, "--env", "API_KEY", "--server", "ws://127.0.0.1:1", API_KEY=SECRET)
        self.assertIn("--env is for the engine", far.stderr)

    def test_a_server_gives_variables_to_its_own_programs_and_to_those_of_a_tenant(self):
        key = self.write("key.js", KEY)
        other = self.write("other.js", KEY + "// Uploaded.\n")
        server = Server(self, "--no-endpoints", "--env", "API_KEY", "--endpoint", f"GET /key={key}",
                        API_KEY=SECRET, OTHER="12345")
        self.assertEqual(server.get("/key"), f"{len(SECRET)}undefined")
        uploaded = quire("run", other, "--server", server.url)
        self.assertEqual(uploaded.stdout, "undefined undefined\nchild undefined\n", uploaded.stderr)
        status = quire("status", "--server", server.url, "--json")
        self.assertNotIn(SECRET, status.stdout + server.get("/metrics") + server.stop())

        server = Server(self, "--no-endpoints", "--tenant", "0=env:OTHER", "--env", "API_KEY",
                        "--endpoint", f"GET /key={key}", API_KEY=SECRET, OTHER="12345")
        self.assertEqual(server.get("/key"), f"{len(SECRET)}5")
        uploaded = quire("run", other, "--server", server.url)
        self.assertEqual(uploaded.stdout, "undefined 5\nchild undefined\n", uploaded.stderr)


if __name__ == "__main__":
    unittest.main()
