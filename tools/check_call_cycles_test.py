#!/usr/bin/env python3
"""check_call_cycles_test.py [COMPILER]: what check_call_cycles.py finds in objects that were made for it."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_call_cycles as checker

COMPILER = "g++"
ONE_WAY = {
    "pages/a.cc": "void b(); inline int x() { return 1; } int (*at)() = x; void a() { b(); }",
    "pages/b.cc": "void c(); inline int x() { return 1; } int (*bt)() = x; void b() { c(); }",
    "pages/c.cc": "void c() {}",
    "store/d.cc": "void a(); void d() { a(); }",
}
CIRCLE = {**ONE_WAY, "pages/c.cc": "void a(); void c() { a(); }"}
ACROSS = {**ONE_WAY, "pages/c.cc": "void d(); void c() { d(); }"}
FILES_OF_CIRCLE = {f"src/control/pages/{letter}.cc" for letter in "abc"}


class Cycles(unittest.TestCase):
    def check(self, sources, allowed=frozenset(), library="CMakeFiles/quire_pages.dir"):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            for name, text in sources.items():
                target = build / "src/control" / library / f"{name}.o"
                target.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run([COMPILER, "-x", "c++", "-c", "-", "-o", str(target)], input=text, text=True, check=True)
            return checker.check(build, set(allowed))

    def test_calls_in_one_direction_are_right(self):
        self.assertEqual(self.check(ONE_WAY), ([], 4))

    def test_a_circle_within_a_folder_is_found_and_one_across_folders_is_not(self):
        failures, _ = self.check(CIRCLE)
        self.assertEqual(len(failures), 1)
        self.assertIn("src/control/pages: a.cc, b.cc, c.cc call each other in a circle", failures[0])
        self.assertEqual(self.check(ACROSS), ([], 4))

    def test_the_list_allows_files_and_only_while_they_are_in_a_circle(self):
        self.assertEqual(self.check(CIRCLE, FILES_OF_CIRCLE)[0], [])
        failures, _ = self.check(CIRCLE, FILES_OF_CIRCLE - {"src/control/pages/b.cc"})
        self.assertIn("new in it: src/control/pages/b.cc", failures[0])
        failures, _ = self.check(ONE_WAY, FILES_OF_CIRCLE)
        self.assertEqual(len(failures), 3)
        self.assertIn("no longer applies", failures[0])

    def test_a_build_of_many_files_in_one_and_an_empty_build_are_refused(self):
        failures, _ = self.check({"__/__/generated/together/quire_pages_0.cc": "void a() {}"})
        self.assertIn("QUIRE_UNITY=OFF", failures[0])
        self.assertIn("build it first", self.check({})[0][0])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        COMPILER = sys.argv.pop()
    unittest.main()
