#!/usr/bin/env python3
"""The closing line of `quire run`, and --json: tokens of children, and those that a snapshot brought."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import harness

SAY = "Where is the oldest clock of the town, and does it still go?"


class ClosingLineTest(harness.ProgramTest):
    has_store = True

    def run_json(self, program, *arguments):
        """The line of the program's end, and the closing one."""
        ran = self.run_program(program, *arguments, flags=("--json",))
        ended = [json.loads(line) for line in ran.out.splitlines() if '"end"' in line]
        return ended[0], json.loads(ran.err.splitlines()[-1])

    def test_tokens_of_children_and_theirs_are_told_apart(self):
        family = harness.guest("family")
        ran = self.run_program(family, "--below", 2)
        own, *below = (int(line) for line in ran.out.split())
        self.assertEqual(len(below), 2)
        self.assertRegex(ran.err, rf"\[{own} tokens computed, and {sum(below)} by its children, [0-9.]+ tokens/s")
        self.assertIn(f", 0 of {own} tokens found in cache, and 0 of {sum(below)} of its children]", ran.err)
        self.assertEqual(ran.cost.computed, own + sum(below))
        for counts in self.run_json(family, "--below", 2):  # By now all whole pages are found.
            self.assertEqual(counts["asked_tokens"], own)
            self.assertEqual(counts["children_asked_tokens"], sum(below))
            self.assertEqual(counts["found_tokens"] + counts["computed_tokens"], own)
            self.assertEqual(counts["children_found_tokens"] + counts["children_computed_tokens"], sum(below))

    def test_a_program_without_children_has_no_word_of_them(self):
        ran = self.run_program(harness.guest("conversation"), "--say", SAY)
        self.assertNotIn("children", ran.err)
        self.assertNotIn("opened", ran.err)

    def test_tokens_that_a_snapshot_brought_are_told(self):
        talk = harness.guest("conversation")
        first = json.loads(self.run_program(talk, "--name", "ann", "--say", SAY).out)
        opened = len(first["tokens"])
        ran = self.run_program(talk, "--name", "ann", "--say", SAY)
        self.assertIn(f"; {opened} opened from a snapshot]", ran.err)
        for counts in self.run_json(talk, "--name", "ann", "--look"):
            self.assertEqual(counts["opened_tokens"], len(json.loads(ran.out)["tokens"]))
            self.assertEqual((counts["asked_tokens"], counts["children_opened_tokens"]), (0, 0))


class WhyTest(unittest.TestCase):

    def test_kv_why_tells_them_too(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        model = harness.tiny_chat_model(folder)

        def run(*flags):
            return subprocess.run(
                [harness.BUILD / "quire", "run", harness.guest("conversation"), "--model", model, "--store", folder / "store",
                 "--kv-why", *flags, "--", "--name", "ann", "--say", SAY], check=True, timeout=60,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=harness.beside.environment()).stdout.decode()

        opened = len(json.loads(run().splitlines()[0])["tokens"])
        self.assertRegex(run("--kv-report", folder / "report.json"),
                         rf"instance 0: .* computed; {opened} opened from a snapshot\n")
        why = subprocess.run([harness.BUILD / "quire", "kv", "why", folder / "report.json"], check=True, timeout=60,
                             stdout=subprocess.PIPE, env=harness.beside.environment()).stdout.decode()
        self.assertIn(f"; {opened} opened from a snapshot\n", why)


if __name__ == "__main__":
    harness.main()
