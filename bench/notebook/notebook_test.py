#!/usr/bin/env python3
"""A small notebook on a small hybrid: no request computes much more than its new tokens."""
import argparse
import contextlib
import io
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import notebook

MODEL = notebook.ROOT / "tests/golden/recurrent/qwen35_4k4v.gguf"
PAGE = 16
ARGS = argparse.Namespace(model=MODEL, server="quire", kv_memory="64MiB", state_memory=None, scale=0.06, turns=4,
                          tokens=(5, 300), json=None)


class Notebook(unittest.TestCase):
    def test_turns_branches_and_edits_compute_little_but_what_is_new(self):
        with notebook.started(ARGS) as port, contextlib.redirect_stdout(io.StringIO()):
            book = notebook.Notebook(port, ARGS)
            notebook.write(book, ARGS)
        self.assertEqual(len(book.rows), 4 * 4 + 3)
        for row in book.rows:
            is_turn = row["name"].startswith(("conversation", "back"))
            # An edit goes back to the turn before it, which is at most one turn's tokens away.
            beyond = PAGE if is_turn else PAGE + 20_000 * ARGS.scale / ARGS.turns
            self.assertLessEqual(row["computed"], row["new"] + beyond, row)


if __name__ == "__main__":
    unittest.main()
