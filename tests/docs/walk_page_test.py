"""docs/internals/walk.md: each row's function is where the page says, and hands on by the word that it names."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "internals" / "walk.md"
HOPS_MAX = 15
ROW = re.compile(r"^\| (\d+) \| \[`([\w:]+)`\]\(\.\./\.\./([^)]+)\) \| `(\w+)` \| .+ \|$", re.M)


def bodies(text, name):
    """The bodies of the functions of that name that a file defines, by indentation."""
    function = name.split("::")[-1]
    # A class that is local to its file has its functions within.
    owner = name if f"{name}(" in text else function
    for match in re.finditer(rf"^( *)[\w<>:&*, ]*\b{re.escape(owner)}\([^;{{}}]*\) *(?:const )?(?:override )?{{", text, re.M):
        end = text.find(f"\n{match[1]}}}", match.end())
        yield text[match.end():end]


class WalkPage(unittest.TestCase):
    def setUp(self):
        self.rows = ROW.findall(PAGE.read_text())

    def test_it_has_at_most_fifteen_rows_in_order(self):
        self.assertEqual([int(row[0]) for row in self.rows], list(range(1, len(self.rows) + 1)))
        self.assertGreaterEqual(len(self.rows), 10)
        self.assertLessEqual(len(self.rows), HOPS_MAX)

    def test_each_function_is_where_it_says_and_hands_on_as_it_says(self):
        for number, name, path, word in self.rows:
            with self.subTest(row=number, function=name):
                file = ROOT / path
                self.assertTrue(file.is_file(), f"{path} is not there")
                found = list(bodies(file.read_text(), name))
                self.assertTrue(found, f"{path} defines no {name}")
                self.assertTrue(any(re.search(rf"\b{word}\b", body) for body in found),
                                f"{name} in {path} has no `{word}`")


if __name__ == "__main__":
    sys.exit(unittest.main())
