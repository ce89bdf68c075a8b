#!/usr/bin/env python3
"""The plot shows a bar for each label, group and member, as long as its value, and refuses what holds none."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

PLOT = pathlib.Path(__file__).with_name("bar_plot.py")
ROWS = [
    {"way": "a < b", "n": 1, "x": 4, "y": 2, "least": 3, "most": 5},
    {"way": "second", "n": 1, "x": -2, "y": 1, "least": -3, "most": -1},
    {"way": "a < b", "n": 32, "x": 8, "y": 2, "least": 8, "most": 8},
]


def draw(document, *more):
    with tempfile.TemporaryDirectory() as folder:
        data, output = pathlib.Path(folder, "a.json"), pathlib.Path(folder, "a.svg")
        data.write_text(json.dumps(document))
        command = [sys.executable, PLOT, data, "--label", "way", "--title", "t", "--y-label", "%",
                   "--output", output, *more]
        done = subprocess.run(command, capture_output=True, text=True)
        return done, ElementTree.fromstring(output.read_text()) if output.exists() else None


def bars_in(picture):
    return [each for each in picture if each.get("class") == "bar"]


class BarPlot(unittest.TestCase):
    def test_bars_are_as_long_as_their_values_to_either_side_of_zero(self):
        done, picture = draw({"results": ROWS}, "--y", "x", "--where", "n=1", "--limit", "3=wanted")
        self.assertEqual(done.returncode, 0, done.stderr)
        first, second = bars_in(picture)
        self.assertAlmostEqual(float(first.get("width")), 2 * float(second.get("width")), delta=0.2)
        self.assertAlmostEqual(float(second.get("x")) + float(second.get("width")), float(first.get("x")), delta=0.2)
        texts = [each.text for each in picture if each.tag.endswith("text")]
        for wanted in ("a < b", "second", "wanted", "4", "-2"):
            self.assertIn(wanted, texts)

    def test_groups_and_members_are_bars_of_their_own_with_a_name_each(self):
        done, picture = draw({"rows": ROWS}, "--y", "x,y", "--group", "n", "--rows", "rows", "--scale", "100")
        self.assertEqual(done.returncode, 0, done.stderr)
        bars = bars_in(picture)
        self.assertEqual(len(bars), 6)
        self.assertEqual(len({each.get("fill") for each in bars}), 4)
        texts = [each.text for each in picture if each.tag.endswith("text")]
        for wanted in ("1 x", "1 y", "32 x", "32 y", "800"):
            self.assertIn(wanted, texts)
        for bar in bars:
            self.assertTrue(0 < float(bar.get("x")) and float(bar.get("x")) + float(bar.get("width")) < 760)

    def test_a_spread_is_a_line_across_the_end_of_its_bar(self):
        done, picture = draw({"results": ROWS[:1]}, "--y", "x", "--spread", "least,most")
        self.assertEqual(done.returncode, 0, done.stderr)
        line = next(each.get("d") for each in picture if each.get("stroke") == "#222")
        low, high = float(line[1:].split()[0]), float(line.split("H")[1])
        bar = bars_in(picture)[0]
        end = float(bar.get("x")) + float(bar.get("width"))
        self.assertAlmostEqual(end - low, high - end, delta=0.2)
        self.assertGreater(high, end)

    def test_nothing_to_draw_is_an_error(self):
        done, picture = draw({"results": ROWS}, "--y", "x", "--where", "n=7")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no bar with way and x in 3 results", done.stderr)
        self.assertIsNone(picture)


if __name__ == "__main__":
    unittest.main()
