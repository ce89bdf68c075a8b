"""The manual pages that `make install` installs: one for each verb, with each flag of its --help-all, and clean for their readers."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else pathlib.Path("build/release").resolve()


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share = pathlib.Path(tempfile.mkdtemp(prefix="quire-manual-"))
        cls.addClassCleanup(shutil.rmtree, cls.share)
        subprocess.run([BUILD / "quire", "write-installed-files", cls.share], check=True)
        cls.pages = sorted((cls.share / "man" / "man1").iterdir())

    def help(self, *words):
        return subprocess.run([BUILD / "quire", *words], capture_output=True, text=True, check=True).stdout

    def test_every_verb_has_a_page_with_its_flags(self):
        names = {each.name for each in self.pages}
        self.assertIn("quire.1", names)
        waiting = [[]]
        while waiting:
            verb = waiting.pop()
            page = "-".join(["quire", *verb]) + ".1"
            self.assertIn(page, names)
            names.discard(page)
            text = (self.share / "man" / "man1" / page).read_text().replace("\\-", "-")
            shown = self.help(*verb, "--help")
            flags = shown if "Verbs:" in shown else self.help(*verb, "--help-all")
            for flag in re.findall(r"^  (?:-\w, )?(--[a-z][a-z0-9-]*)", flags, re.M):
                self.assertIn(f"\\fB{flag}\\fR", text, page)
            verbs = shown.split("Verbs:")[1].split("\n\n")[0] if "Verbs:" in shown else ""
            waiting += [[*verb, each] for each in re.findall(r"^  ([a-z]+) ", verbs, re.M)]
        self.assertEqual(names, set())

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_groff_has_nothing_to_warn_of(self):
        for page in self.pages:
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)

    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc")
    def test_mandoc_finds_no_error(self):
        for page in self.pages:
            done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", page], capture_output=True, text=True)
            found = [line for line in done.stdout.splitlines() if "missing date" not in line]  # Of builds that repeat.
            self.assertEqual(found, [], page.name)

    def test_a_page_reads_as_its_help(self):
        reader = ["groff", "-man", "-Tascii", "-P-cbou"] if shutil.which("groff") else ["man", "-l"]
        done = subprocess.run([*reader, self.share / "man" / "man1" / "quire-chat.1"], capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin", "MANPAGER": "cat", "MANWIDTH": "80"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("quire-chat - Talk to a model", done.stdout)
        self.assertIn("--server URL", done.stdout)
        self.assertIn('quire chat --system "Answer in one sentence."', done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
