#!/usr/bin/env python3
"""The tests of the crate itself, which need no server, and its documentation's examples."""
import shutil
import subprocess
import unittest

import rust_harness
import harness


@unittest.skipUnless(shutil.which("cargo"), "no cargo")
class CrateTest(unittest.TestCase):

    def cargo(self, *words):
        env = {name: value for name, value in rust_harness.environment().items() if name != "RUSTC"}
        env["CARGO_TARGET_DIR"] = str(harness.BUILD / "rust" / "crate")
        end = subprocess.run(["cargo", *words], cwd=rust_harness.SDK, env=env, capture_output=True, text=True,
                             timeout=280, check=False)
        self.assertEqual(end.returncode, 0, end.stdout[-3000:] + end.stderr[-3000:])
        return end

    def test_its_own_tests_pass(self):
        self.assertIn("test result: ok", self.cargo("test").stdout)

    @unittest.skipUnless(shutil.which("cargo-clippy"), "no clippy")
    def test_clippy_has_no_remark(self):
        self.assertNotIn("warning", self.cargo("clippy", "--all-targets").stderr)

    def test_everything_is_documented(self):
        self.assertNotIn("warning", self.cargo("doc", "--no-deps").stderr)


if __name__ == "__main__":
    rust_harness.main()
