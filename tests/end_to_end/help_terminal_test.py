"""Help and errors as a terminal of some width shows them, and as a pipe gets them."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from terminal import Terminal  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else pathlib.Path("build/release").resolve()
WRONG = ["run", "program.wasm", "--max-tokens", "3", "--temperature", "0.5", "--system", "Answer in one sentence."]
EDGE = 100  # Longer lines of help are hard to read.


def environment():
    kept = {name: value for name, value in os.environ.items() if not name.startswith("QUIRE_") and name != "COLUMNS"}
    return {**kept, "QUIRE_DATA": "/nonexistent"}


def shown(columns, *words):
    terminal = Terminal([BUILD / "quire", *words], environment(), columns)
    terminal.end()
    return terminal.seen


def piped(*words, **more):
    done = subprocess.run([BUILD / "quire", *words], capture_output=True, text=True, env={**environment(), **more})
    return done.stdout + done.stderr


class OnATerminal(unittest.TestCase):
    def test_help_has_its_width_and_breaks_no_word(self):
        verbs = [[], *([verb] for verb in re.findall(r"^  ([a-z]+) ", piped("--help").split("Verbs:")[1].split("\n\n")[0], re.M))]
        self.assertGreater(len(verbs), 15)
        for verb in [*verbs, ["kv", "why"], ["model", "add"]]:
            wanted = [word for word in piped(*verb, "--help").split() if word != "\\"]
            for columns in (60, 80, 120, 200):
                text = shown(columns, *verb, "--help")
                for line in text.split("\n"):
                    self.assertTrue(len(line) <= min(columns, EDGE) or " " not in line.strip(), (verb, columns, line))
                self.assertEqual([word for word in text.split() if word != "\\"], wanted, (verb, columns))

    def test_a_long_error_hangs_under_its_label(self):
        whole = piped(*WRONG)
        self.assertEqual(whole.count("\n"), 2, whole)  # The second line says where help is.
        text = shown(60, *WRONG)
        lines = text.rstrip("\n").split("\n")
        self.assertGreater(len(lines), 3)
        self.assertTrue(lines[0].startswith("error: "), text)
        for line in lines[1:-1]:
            self.assertTrue(line.startswith(" " * 7), text)
        self.assertTrue(all(len(line) <= 60 for line in lines), text)
        self.assertEqual(text.split(), whole.split())

    def test_a_pipe_has_the_width_of_the_variable_or_80(self):
        widest = max(len(line) for line in piped("serve", "--help").split("\n"))
        self.assertTrue(76 <= widest <= 80, widest)
        widest = max(len(line) for line in piped("serve", "--help", COLUMNS="60").split("\n"))
        self.assertTrue(54 <= widest <= 60, widest)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
