#!/usr/bin/env python3
"""The comparison runs, with texts of a few tokens on a tiny model, and each program does the work that it is said to do.

    compare_test.py BUILD [FOLDER_OF_LLAMA_SERVER]

The client of llama-server is tested where llama-server and the models that bench/programs/README.md names are there.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import techniques

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = SOURCE / "build/release"
PEERS = pathlib.Path.home() / ".cache/quire-peers"
LLAMA = PEERS / "llama.cpp-0.3.36/bin"
MODEL = PEERS / "models/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
sys.path.insert(0, str(SOURCE / "tests/programs"))

import harness  # noqa: E402


def compared(model, *arguments):
    """The rows of a comparison, by technique, side and clients."""
    command = [sys.executable, SOURCE / "bench/programs/compare.py", "--model", model, "--quire", BUILD / "quire",
               "--programs", BUILD / "inferlets", BUILD / "bench", "--suite", "small", "--rounds", "1", "--repeat", "1",
               "--clients", "1,2", *arguments]
    ran = subprocess.run([str(each) for each in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         timeout=280)
    assert ran.returncode == 0, ran.stderr[-4000:]
    return {(row["technique"], row["side"], row["clients"]): row for row in json.loads(ran.stdout)["results"]}


class CompareTest(unittest.TestCase):

    def test_each_program_does_its_work(self):
        with tempfile.TemporaryDirectory() as folder:
            rows = compared(harness.tiny_chat_model(folder))
        for (technique,) in techniques.SUITES["small"]():
            for clients in (1, 2):
                with self.subTest(technique=technique.name, clients=clients):
                    row = rows[technique.name, "quire", clients]
                    self.assertGreater(row["tasks_per_minute"], 0)
                    # The token that a text ends with is computed only where more follows it.
                    texts = technique.generated // 4 + 1
                    self.assertGreaterEqual(row["computed_tokens"] + row["found_tokens"], technique.generated - texts)

    @unittest.skipUnless((LLAMA / "llama-server").exists() and MODEL.exists(), "llama-server or its model is not there")
    def test_the_client_of_llama_server_does_the_same_work(self):
        rows = compared(MODEL, "--llama", LLAMA, "--only", "tree_of_thought,beam_search_2,agent_react")
        for technique in ("tree_of_thought", "beam_search_2", "agent_react"):
            with self.subTest(technique=technique):
                ours, theirs = (rows[technique, side, 1] for side in ("quire", "llama-server"))
                asked = [row["computed_tokens"] + row["found_tokens"] for row in (ours, theirs)]
                self.assertLess(min(asked), max(asked))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
