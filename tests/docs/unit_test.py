#!/usr/bin/env python3
"""The unit for systemd in docs/operate/README.md keeps the exposure that the document states."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "operate" / "README.md"
EXPOSURE_MAX = 2.0


class Unit(unittest.TestCase):
    def setUp(self):
        self.text = re.search(r"```ini\n(\[Unit\].*?)```", DOCUMENT.read_text(), re.S)[1]

    def test_has_what_the_sandbox_of_the_compiler_needs(self):
        allowed = " ".join(re.findall(r"^SystemCallFilter=([^~].*)$", self.text, re.M)).split()
        for call in ("unshare", "capset", "landlock_create_ruleset", "landlock_restrict_self", "seccomp"):
            self.assertIn(call, allowed)
        self.assertIn("RestrictNamespaces=user mnt net ipc uts\n", self.text)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze")
    def test_is_exposed_as_little_as_stated(self):
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder) / "quire.service"
            # systemd-analyze wants a program that is there.
            unit.write_text(re.sub(r"^ExecStart=.*$", "ExecStart=/bin/true", self.text, flags=re.M))
            done = subprocess.run(["systemd-analyze", "security", "--offline=yes", unit], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        exposure = re.search(r"Overall exposure level for quire\.service: ([0-9.]+)", done.stdout)
        self.assertIsNotNone(exposure, done.stdout)
        self.assertLessEqual(float(exposure[1]), EXPOSURE_MAX)


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    unittest.main()
