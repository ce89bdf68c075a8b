#!/usr/bin/env python3
"""Tests that the functions of the crate do what they say, called rightly and wrongly (tests/rust/calls)."""
import pathlib
import re
import subprocess

import rust_harness
import harness

PROJECT = pathlib.Path(__file__).resolve().parent / "calls"
CASES = re.findall(r'^        "(\w+)" =>', (PROJECT / "src" / "main.rs").read_text(), re.M)


class CallsTest(harness.ProgramTest):
    has_store = True

    def test_each_case(self):
        module = rust_harness.built(PROJECT)
        self.assertGreater(len(CASES), 10)
        for case in CASES:
            if case not in ("child", "turn", "hooks"):  # Other tests and programs run these.
                with self.subTest(case=case):
                    self.assertEqual(self.run_program(module, case).out.strip(), "done")

    def test_hooks_give_what_those_of_a_program_in_cpp_give(self):
        here = pathlib.Path(__file__).resolve().parent
        twin = harness.BUILD / "rust" / "modules" / "hooks.wasm"
        made = rust_harness.quire("build", here / "hooks.cpp", "-o", twin)
        self.assertEqual(made.returncode, 0, made.stderr)
        in_cpp = self.run_program(twin).out
        self.assertEqual(self.run_program(rust_harness.built(PROJECT), "hooks").out, in_cpp)
        self.assertEqual(in_cpp.count("\n"), 11, in_cpp)

    def chat(self, name, line):
        """A turn of the program in C++, which keeps the conversation."""
        end = subprocess.run([harness.BUILD / "quire", "run", "--server", self.server.url, harness.BUILD / "inferlets" / "chat.wasm",
                              "--", "--name", name, "--max-tokens", "8", "--temperature", "0"], input=line + "\n", text=True,
                             stdout=subprocess.PIPE, env=harness.beside.environment(), timeout=120, check=True)
        return end.stdout

    def test_a_conversation_goes_on_in_either_language(self):
        module = rust_harness.built(PROJECT)
        lines = ("Hello", "And then?", "The end?")
        alone = [self.chat("alone", line) for line in lines]
        mixed = [self.chat("mixed", lines[0]), self.run_program(module, "turn", "mixed", lines[1]).out,
                 self.chat("mixed", lines[2])]
        self.assertEqual(mixed, alone)


class OnStatesTest(harness.ProgramTest):
    page_count = 1024

    @classmethod
    def models(cls, folder):
        return [harness.hybrid_chat_model(folder)]

    def test_the_next_turn_begins_where_the_users_message_ends(self):
        self.assertEqual(self.run_program(rust_harness.built(PROJECT), "turns_on_states").out.strip(), "done")


if __name__ == "__main__":
    rust_harness.main()
