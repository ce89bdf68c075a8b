"""`quire chat --server`: the same chat with a model of a server."""
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "access")]
BUILD = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else pathlib.Path("build/release").resolve()
os.environ["QUIRE_BUILD"] = str(BUILD)
import serving  # noqa: E402
from terminal import Terminal  # noqa: E402

MODEL = pathlib.Path(os.environ.get("QUIRE_DATA") or pathlib.Path(
    os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local" / "share") / "quire") / "models" / "smollm2-135m-instruct.gguf"


def chat(*arguments, given=None, **more):
    return subprocess.run([BUILD / "quire", "chat", *map(str, arguments)], input=given, text=True, capture_output=True,
                          stdin=None if given is not None else subprocess.DEVNULL, timeout=serving.PATIENCE,
                          env={**serving.environment(), **more})


def part(text):
    return "data: " + json.dumps({"choices": [{"delta": {"content": text}}]}) + "\n\n"


class FakeServer:
    """Answers like a server that breaks: `events` are the bytes of each reply in turn."""

    def __init__(self, *events):
        waiting = list(events)
        self.requests = requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self, body):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body.encode())

            def do_GET(self):
                self.answer(json.dumps({"data": [{"id": "fake"}]}))

            def do_POST(self):
                requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                self.answer(waiting.pop(0))

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"ws://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@unittest.skipUnless(MODEL.exists(), f"no model {MODEL}: tools/fetch_model.sh fetches it")
class ChatOfAServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = serving.Server(model=MODEL)
        cls.addClassCleanup(cls.server.stop)

    def chat(self, *arguments, **more):
        count = [] if "--max-tokens" in arguments else ["--max-tokens", 12]
        return chat("--server", self.server.url, *count, *arguments, **more)

    def test_replies_are_those_of_an_engine_here(self):
        questions = "Name a colour.\nAnother one.\n"
        there = self.chat(given=questions)
        here = chat("--model", MODEL, "--max-tokens", 12, given=questions)
        self.assertEqual(there.returncode, 0, there.stderr)
        self.assertEqual(there.stdout, here.stdout)
        self.assertIn(f"smollm2-135m-instruct on {self.server.url}\n", there.stderr)
        found = there.stderr.splitlines()[-1]
        self.assertRegex(found, r"^\[12 tokens, [\d.]+ tokens/s, first after \d+ ms; \d+ prompt tokens, 32 found in cache\]$")

    def test_one_message_has_settings_and_a_schema(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as schema:
            json.dump({"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}}, "required": ["name"],
                       "additionalProperties": False}, schema)
            schema.flush()
            done = self.chat("--json-schema", schema.name, "--max-tokens", 40, "--temperature", "1", "--seed", "7",
                             "--system", "You are a pirate.", "Invent a person.")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(json.loads(done.stdout)), ["name"])

    def test_what_the_server_does_not_have_is_refused_by_sentence(self):
        for flags, code, message in (
                (["--model", "nope"], 2, 'has no model "nope"; it has smollm2-135m-instruct'),
                (["--backend", "scalar"], 2, "--backend is for an engine here, and not for the chat of a server (--server)"),
                (["--regex", "a"], 2, "--regex is for an engine here, and not for the chat of a server (--server)"),
                (["--temperature", "3"], 1, "refuses: temperature: must be a number from 0 to 2, not 3.0"),
                (["--typical-p", "0.5"], 1, "a server's chat has no typical-p; it has temperature, "),
                (["--seed", str(2**63)], 1, "a server's chat takes a seed of at most 9223372036854775807")):
            with self.subTest(flags):
                done = self.chat(*flags, "Hi")
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(message, done.stderr)
        # The environment is of engines here.
        self.assertEqual(self.chat("Hi", QUIRE_MODEL="/nowhere", QUIRE_BACKEND="scalar").returncode, 0)
        # And servers are asked directly.
        self.assertEqual(self.chat("Hi", http_proxy="http://127.0.0.1:9").returncode, 0)

    def test_a_chat_on_a_terminal_is_stopped_by_ctrl_c_and_goes_on(self):
        with tempfile.TemporaryDirectory() as data:
            terminal = Terminal([BUILD / "quire", "chat", "--server", self.server.url, "--max-tokens", "6000", "--temperature", "1"],
                                {**serving.environment(), "QUIRE_DATA": data, "HOME": data})
            at = terminal.wait_for("> ")
            terminal.write("Write a very long story of dragons.\r")
            at = terminal.wait_for("dragons.\n", at)
            time.sleep(1)
            terminal.write("\x03")
            at = terminal.wait_for("[stopped, first after ", at)
            at = terminal.wait_for("> ", at)
            terminal.write("/set max-tokens 3\r")
            at = terminal.wait_for("> ", terminal.wait_for("tokens 3\n", at))
            terminal.write("/set typical-p 0.5\r")
            at = terminal.wait_for("error: a server's chat has no typical-p", at)
            at = terminal.wait_for("> ", at)
            terminal.write("Thanks\r")
            at = terminal.wait_for("[3 tokens, ", at)
            at = terminal.wait_for("> ", at)
            terminal.write("/save dragons\r")
            at = terminal.wait_for("saved 4 messages", at)
            terminal.write("/quit\r")
            self.assertEqual(terminal.end(), 0, terminal.seen)
        # Output that no client waits for is not computed.
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            status = json.loads(serving.quire("status", "--json", "--server", self.server.url).stdout)
            if status["instance_count"] == 0:
                break
            time.sleep(0.1)
        self.assertEqual(status["instance_count"], 0, status)

    def test_a_server_with_keys_wants_one(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = pathlib.Path(folder) / "keys.txt"
            key = serving.add_key(keys, "ann")
            file = pathlib.Path(folder) / "key"
            file.write_text(key + "\n")
            with serving.Server("--keys", keys, model=MODEL) as server:
                flags = ["--server", server.url, "--max-tokens", "3", "Hi"]
                refused = chat(*flags)
                self.assertEqual(refused.returncode, 1)
                self.assertIn("; give the key by --key-file FILE or QUIRE_KEY\n", refused.stderr)
                self.assertEqual(chat(*flags, QUIRE_KEY=key).returncode, 0)
                self.assertEqual(chat("--key-file", file, *flags).returncode, 0)
                self.assertEqual(chat(*flags, QUIRE_KEY="wrong").returncode, 1)


    @unittest.skipUnless(shutil.which("openssl"), "no openssl here makes certificates")
    def test_a_certificate_must_be_trusted(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = pathlib.Path(folder) / "server.pem", pathlib.Path(folder) / "server.key"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                            "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost", "-addext",
                            "subjectAltName=IP:127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
            with serving.Server("--tls-certificate", certificate, "--tls-key", key, model=MODEL) as server:
                flags = ["--server", server.url, "--max-tokens", "3", "Hi"]
                self.assertTrue(server.url.startswith("wss://"))
                refused = chat(*flags)
                self.assertEqual(refused.returncode, 1)
                self.assertIn("certificate", refused.stderr)
                trusted = chat(*flags, SSL_CERT_FILE=str(certificate))
                self.assertEqual(trusted.returncode, 0, trusted.stderr)


class ChatOfABrokenServer(unittest.TestCase):
    def test_a_server_that_is_not_there(self):
        done = chat("--server", "ws://127.0.0.1:9", "Hi")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^error: no answer from http://127\.0\.0\.1:9: .*; quire serve starts a server\n$")

    def test_a_server_without_endpoints(self):
        with serving.Server("--no-endpoints") as server:
            done = chat("--server", server.url, "Hi")
        self.assertEqual(done.returncode, 1)
        self.assertIn("quire serve has the endpoints of OpenAI unless it has --no-endpoints", done.stderr)

    def test_replies_that_break_leave_the_chat_as_it_was(self):
        good = part("Well.") + "data: [DONE]\n\n"
        error = "data: " + json.dumps({"error": {"message": "all pages are held"}}) + "\n\n"
        with FakeServer(part("Half") + error, part("Half"), error, "data: {\n\n", good) as server, \
                tempfile.TemporaryDirectory() as data:
            terminal = Terminal([BUILD / "quire", "chat", "--server", server.url, "--no-history"],
                                {**serving.environment(), "QUIRE_DATA": data, "HOME": data})
            at = terminal.wait_for("> ")
            for message in ("all pages are held\n", "ended the reply in the middle\n", "all pages are held\n", "the server's answer"):
                terminal.write("Hi\r")
                at = terminal.wait_for("error: http://127.0.0.1", at)
                at = terminal.wait_for(message, at)
                at = terminal.wait_for("> ", at)
            terminal.write("/save x\r")
            at = terminal.wait_for("error: there is nothing to save", at)
            terminal.write("Last\r")
            at = terminal.wait_for("Well.\n", at)
            terminal.write("/quit\r")
            self.assertEqual(terminal.end(), 0, terminal.seen)
        self.assertEqual(server.requests[-1]["messages"], [{"role": "user", "content": "Last"}])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
