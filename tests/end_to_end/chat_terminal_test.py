"""`quire chat` on a terminal: lines are edited, remembered and completed, and conversations are kept."""
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from terminal import Terminal  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else pathlib.Path("build/release").resolve()
MODEL = pathlib.Path(os.environ.get("QUIRE_DATA") or pathlib.Path(
    os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local" / "share") / "quire") / "models" / "smollm2-135m-instruct.gguf"
UP, LEFT, HOME_KEY, CTRL_C, CTRL_D, CTRL_R = "\x1b[A", "\x1b[D", "\x01", "\x03", "\x04", "\x12"
PASTE, PASTE_END = "\x1b[200~", "\x1b[201~"


@unittest.skipUnless(MODEL.exists(), f"no model {MODEL}: tools/fetch_model.sh fetches it")
class ChatOnATerminal(unittest.TestCase):
    def setUp(self):
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="quire-chat-"))
        self.addCleanup(shutil.rmtree, self.data)
        self.at = 0

    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("QUIRE_")}
        return {**kept, "QUIRE_DATA": str(self.data), "HOME": str(self.data), "LC_ALL": "C"}

    def start(self, *arguments, columns=200, **more):
        """At its first prompt. Replies have 4 tokens unless `arguments` say more."""
        self.chat = Terminal([BUILD / "quire", "chat", "--model", MODEL, *(arguments or ["--max-tokens", "4"])],
                             {**self.environment(), **more}, columns)
        self.at = self.chat.wait_for("> ")

    def type(self, text, then):
        """Types, and waits for what is written next."""
        self.chat.write(text)
        self.at = self.chat.wait_for(then, self.at)

    def ask(self, text, shown=None):
        self.type(text + "\r", (shown if shown is not None else text) + "\n")
        begin = self.at
        self.at = self.chat.wait_for("context ", self.at)
        self.at = self.chat.wait_for("> ", self.at)
        return self.chat.seen[begin:self.at]

    def quit(self):
        self.chat.write("/quit\r")
        self.assertEqual(self.chat.end(), 0, self.chat.seen)

    def messages(self, name):
        return json.loads((self.data / "chat" / f"{name}.json").read_text())["messages"]

    def last_question(self, name="x"):
        self.type(f"/save {name}\r", "message")
        self.at = self.chat.wait_for("> ", self.at)
        return self.messages(name)[-2]["content"]

    def test_a_line_is_edited_in_letters_and_not_in_bytes(self):
        self.start()
        # Deletes "ö", goes back over two wide letters, and inserts there.
        self.chat.write("Hallo ö\x7f日本" + LEFT + LEFT + "é" + HOME_KEY + "¡")
        self.ask("", "")
        self.assertEqual(self.last_question(), "¡Hallo é日本")
        self.quit()

    def test_a_paste_of_several_lines_is_one_message(self):
        self.start()
        self.chat.write(f"{PASTE}one\r\ntwo\rthree\x1b]0;title\x07\n{PASTE_END} end")
        self.ask("", "")
        self.assertEqual(self.last_question(), "one\ntwo\nthree]0;title end")
        self.chat.write("four\x1b\rfive")  # Alt-Enter.
        self.ask("", "")
        self.assertEqual(self.last_question(), "four\nfive")
        self.quit()

    def test_quotation_marks_hold_a_message_of_several_lines(self):
        self.start()
        self.type('"""\r', ". ")
        self.type("/quit\r", ". ")
        self.type("\r", ". ")
        self.ask('is a word"""')
        self.assertEqual(self.last_question(), "/quit\n\nis a word")
        self.quit()

    def test_ctrl_c_gives_up_a_line_and_ctrl_d_ends(self):
        self.start()
        self.type("Forget this", "this")
        self.type(CTRL_C, "^C\n(Ctrl-D or /quit ends the chat)\n")
        self.at = self.chat.wait_for("> ", self.at)
        self.ask("Kept")
        self.assertEqual(self.last_question(), "Kept")
        self.chat.write(CTRL_D)
        self.assertEqual(self.chat.end(), 0, self.chat.seen)
        self.assertNotIn("Forget this", (self.data / "chat" / "history").read_text())

    def test_a_grammar_that_cannot_be_read_ends_the_chat_before_its_first_prompt(self):
        missing = self.data / "none.json"
        chat = Terminal([BUILD / "quire", "chat", "--model", MODEL, "--json-schema", missing], self.environment())
        chat.wait_for(f"cannot open {missing}")
        self.assertEqual(chat.end(), 3, chat.seen)
        self.assertNotIn("> ", chat.seen)

    def test_a_message_without_a_reply_is_forgotten_with_the_history(self):
        schema = self.data / "schema.json"
        schema.write_text('{"enum": ["yes", "no"]}')
        self.start("--json-schema", schema)
        self.ask("Is it one?")
        schema.rename(self.data / "gone.json")
        self.type("Is it two?\r", "the history was forgotten: cannot open")
        self.at = self.chat.wait_for("> ", self.at)
        (self.data / "gone.json").rename(schema)
        self.ask("Is it three?")
        self.last_question()
        self.assertEqual([each["content"] for each in self.messages("x") if each["role"] == "user"], ["Is it three?"])
        self.quit()

    def test_ctrl_c_stops_a_reply(self):
        self.start("--max-tokens", "4000", "--temperature", "1")
        self.type("Write a very long story.\r", "story.\n")
        time.sleep(1)
        self.type(CTRL_C, "[stopped, ")
        self.at = self.chat.wait_for("> ", self.at)
        self.quit()

    def test_what_is_typed_during_a_reply_waits_for_the_prompt(self):
        self.start("--max-tokens", "100")
        self.chat.write("Write a story.\r")
        self.at = self.chat.wait_for("story.\n", self.at)
        self.chat.wait_for(" ", self.at)  # The reply has begun.
        self.assertFalse(self.chat.echoes())
        self.chat.write("/save typd\x7fed")  # The editor takes the keys that correct it, too.
        end = self.chat.wait_for("[100 tokens, ", self.at)
        self.assertNotIn("typ", self.chat.seen[self.at:end])
        self.chat.wait_for("> /save typ", end)
        self.chat.write("\r")
        self.chat.wait_for(f"saved 2 messages as {self.data}/chat/typed.json\n", end)
        self.quit()

    def test_signals_during_a_reply_leave_the_terminal_as_it_was(self):
        self.start("--max-tokens", "4000", "--temperature", "1")
        self.chat.write("Write a very long story.\r")
        self.at = self.chat.wait_for("story.\n", self.at)
        self.chat.wait_for(" ", self.at)
        self.assertFalse(self.chat.echoes())
        self.chat.write("\x1a")  # Ctrl-Z
        self.wait_until(self.chat.echoes)
        os.kill(self.chat.process.pid, signal.SIGCONT)
        self.wait_until(lambda: not self.chat.echoes())
        os.kill(self.chat.process.pid, signal.SIGTERM)
        self.assertEqual(self.chat.process.wait(20), -signal.SIGTERM)
        self.assertTrue(self.chat.echoes())
        self.chat.end()

    def wait_until(self, condition):
        deadline = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            self.chat.read(0.01)

    def test_a_reply_is_broken_between_words_at_the_edge_of_the_terminal(self):
        whole = subprocess.run([BUILD / "quire", "chat", "--model", MODEL, "--max-tokens", "80", "Write a story."],
                               capture_output=True, text=True, env=self.environment()).stdout
        self.start("--max-tokens", "80", columns=50)
        shown = self.ask("Write a story.").split("[80 tokens")[0]
        for line in shown.split("\n"):
            self.assertLessEqual(len(line), 50)
        self.assertGreater(shown.count("\n"), whole.count("\n"))
        self.assertEqual(shown.split(), whole.split())
        self.quit()

    def test_history_outlives_the_chat_and_is_private(self):
        self.start()
        self.ask("First question")
        self.quit()
        history = self.data / "chat" / "history"
        self.assertEqual(stat.S_IMODE(history.stat().st_mode), 0o600)
        self.assertEqual(history.read_text(), "First question\n/quit\n")
        self.start()
        self.chat.write(UP + UP)
        self.ask("!", "First question!")
        self.chat.write(CTRL_R + "First q")
        self.chat.wait_for("First question", self.at)
        self.chat.write("\x05")  # To the end of the line, which ends the search.
        self.ask("?", "?")
        self.assertIn("First question", self.last_question())
        self.quit()

    def test_no_history_is_kept_if_the_user_says_so(self):
        self.start("--no-history", "--max-tokens", "4")
        self.ask("A secret")
        self.quit()
        self.assertFalse((self.data / "chat" / "history").exists())

    def test_a_conversation_is_saved_and_goes_on_elsewhere(self):
        self.start("--system", "You are a pirate.", "--max-tokens", "4")
        self.ask("My name is Ann.")
        self.type("/save ann\r", f"saved 2 messages as {self.data}/chat/ann.json\n")
        self.quit()
        path = self.data / "chat" / "ann.json"
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertEqual([each["role"] for each in self.messages("ann")], ["system", "user", "assistant"])
        # The file is one of `quire template`.
        shown = subprocess.run([BUILD / "quire", "template", "--model", MODEL, path], capture_output=True, text=True,
                               env=self.environment())
        self.assertIn("<|im_start|>system\nYou are a pirate.<|im_end|>\n<|im_start|>user\nMy name is Ann.", shown.stdout, shown.stderr)

        self.start()
        self.type("/load\r", "ann\n")
        self.type("/load anne\r", 'error: no chat is saved as "anne"; did you mean ann?\n')
        self.type("/lo\tan\t\r", "loaded 2 messages and a system message\n")
        before = self.messages("ann")
        reply = self.ask("What is my name?")
        tokens = int(reply.split(" prompt tokens")[0].split("; ")[-1])
        self.assertGreater(tokens, 40, reply)  # The whole conversation, in a new context.
        self.type("/save ann\r", "saved 4 messages as ")
        self.at = self.chat.wait_for(", in place of those that were there\n", self.at)
        self.assertEqual(self.messages("ann")[:3], before)
        (self.data / "chat" / "bad.json").write_text("{")
        loaded = subprocess.run([BUILD / "quire", "chat", "--model", MODEL, "--max-tokens", "4", "--load", "ann", "And mine?"],
                                capture_output=True, text=True, env=self.environment())
        self.assertEqual(loaded.returncode, 0, loaded.stderr)
        self.assertIn("loaded 4 messages and a system message\n", loaded.stderr)
        unknown = subprocess.run([BUILD / "quire", "chat", "--model", MODEL, "--load", "anne", "Hi"],
                                 capture_output=True, text=True, env=self.environment())
        self.assertEqual(unknown.returncode, 3, unknown.stderr)
        self.assertIn('error: no chat is saved as "anne"; did you mean ann?\n', unknown.stderr)
        self.type("/load bad\r", "bad.json is not a saved chat")
        self.type("/save ../x\r", 'error: "../x" cannot be the name of a chat')
        self.quit()

    def test_settings_are_changed_in_the_middle_of_a_chat(self):
        self.start()
        self.type("/set max-tokens 2\r", "> ")
        self.assertIn("[2 tokens, ", self.ask("Count to one hundred."))
        self.type("/set temperature 700\r", "error: temperature must be from 0 to 100, not 700\n")
        self.type("/set temprature 1\r", 'there is no setting "temprature"; did you mean temperature?\n')
        self.type("/set system Speak French.\r", "> ")
        self.ask("Hello")
        self.type("/set\r", "system Speak French.")
        self.at = self.chat.wait_for("max-tokens 2 ", self.at)
        self.at = self.chat.wait_for("> ", self.at)
        self.last_question("french")
        self.assertEqual(self.messages("french")[0], {"role": "system", "content": "Speak French."})
        self.quit()

    def test_a_word_that_is_no_command_is_not_sent(self):
        self.start()
        self.type("/sav x\r", 'error: there is no command /sav; did you mean /save? A message that begins with / goes between two """\n')
        self.ask("/etc/hosts is a file")
        self.quit()

    def test_signals_leave_the_terminal_as_it_was(self):
        self.start()
        self.type("half a line", "half a line")
        self.assertFalse(self.chat.echoes())
        self.chat.write("\x1a")  # Ctrl-Z
        deadline = time.monotonic() + 10
        while not self.chat.echoes() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertTrue(self.chat.echoes())
        self.at = len(self.chat.seen)
        os.kill(self.chat.process.pid, signal.SIGCONT)
        self.at = self.chat.wait_for("> half a line", self.at)
        self.ask(" more")
        self.assertEqual(self.last_question(), "half a line more")
        os.kill(self.chat.process.pid, signal.SIGTERM)
        self.assertEqual(self.chat.process.wait(20), -signal.SIGTERM)
        self.assertTrue(self.chat.echoes())
        self.chat.end()

    def test_a_terminal_that_cannot_edit_still_chats(self):
        self.start(TERM="dumb")
        self.chat.write("Hello\n")
        self.at = self.chat.wait_for("context ", self.at)
        self.at = self.chat.wait_for("> ", self.at)
        self.chat.write(CTRL_D)
        self.assertEqual(self.chat.end(), 0, self.chat.seen)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
