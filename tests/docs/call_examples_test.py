#!/usr/bin/env python3
"""call_examples_test.py BUILD_FOLDER: the examples of docs/reference do what they say, in a program on a tiny model."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop())
ADAPTER = ROOT / "tests/golden/adapters/llama_r8"

# Calls of traits that no model has, and those that need a grant that this launch lacks, or a message that is not sent
# here.
REFUSED = {
    r"input-image\..*": "not-supported",
    r"net\.http-(get|post|request)": "permission-denied",
    r"net\.(write-body|finish-body|response-head|read-body)": "not-found",
    r"serve\..*": "not-supported",  # No HTTP request launched the program.
    r"session\.(receive|read)-file": "unavailable",
    r"messaging\.next-message": "timeout",
    r"tokenize\.(apply-chat-template|tokenize-chat)": "not-supported",  # The tiny model has no template.
}


def expected(name):
    return next((end for pattern, end in REFUSED.items() if re.fullmatch(pattern, name)), "ok")


class CallExamples(unittest.TestCase):
    def test_each_does_what_it_says(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [BUILD / "quire", "run", BUILD / "tests/docs/call_examples.wasm", "--model",
                 ROOT / "tests/golden/tiny_llama", "--adapter", f"french={ADAPTER}", "--store", pathlib.Path(folder, "store")],
                capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        ends = dict(line.split(" ", 1) for line in done.stdout.splitlines())
        calls = sum(len(re.findall(r"^  %?[a-z0-9-]+: func\(", each.read_text(), re.M))
                    for each in (ROOT / "interface").glob("*.wit"))
        self.assertEqual(len(ends), calls)
        for name, end in ends.items():
            with self.subTest(name):
                self.assertEqual(end.partition(":")[0], expected(name), end)


if __name__ == "__main__":
    unittest.main()
