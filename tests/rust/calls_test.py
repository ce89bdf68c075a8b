#!/usr/bin/env python3
"""What the crate offers does what it says, called rightly and wrongly (tests/rust/calls)."""
import pathlib
import re

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
            if case != "child":  # Of another one.
                with self.subTest(case=case):
                    self.assertEqual(self.run_program(module, case).out.strip(), "done")


if __name__ == "__main__":
    rust_harness.main()
