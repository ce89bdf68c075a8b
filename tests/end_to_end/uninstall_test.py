#!/usr/bin/env python3
"""uninstall_test.py BUILD_FOLDER: `make uninstall` removes what the installation wrote, and nothing else."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = "share/quire/installed_files.txt"


def uninstall(prefix):
    return subprocess.run(["make", "-C", ROOT, "uninstall", f"PREFIX={prefix}"], capture_output=True, text=True)


class Uninstall(unittest.TestCase):
    def setUp(self):
        self.prefix = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, name, text=""):
        path = self.prefix / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def test_files_of_the_list_go_with_the_folders_that_are_empty_then(self):
        for name in ("bin/quire", "share/quire/sdk/include/quire.h", "share/man/man1/quire.1", "share/quire/mine.txt"):
            self.write(name)
        self.write(LIST, "bin/quire\nshare/gone before\nshare/man/man1/quire.1\n"
                         f"share/quire/sdk/include/quire.h\n{LIST}\n")
        done = uninstall(self.prefix)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([str(each.relative_to(self.prefix)) for each in sorted(self.prefix.rglob("*"))],
                         ["share", "share/quire", "share/quire/mine.txt"])

    def test_without_a_list_nothing_goes(self):
        self.write("bin/quire")
        done = uninstall(self.prefix)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(LIST, done.stderr)
        self.assertTrue((self.prefix / "bin/quire").exists())


if __name__ == "__main__":
    sys.argv[1:] = []
    unittest.main()
