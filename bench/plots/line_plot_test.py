#!/usr/bin/env python3
"""The plot shows a line for each mode and member, and refuses what holds none."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

PLOT = pathlib.Path(__file__).with_name("line_plot.py")


def draw(rows, *more):
    with tempfile.TemporaryDirectory() as folder:
        data, output = pathlib.Path(folder, "a.json"), pathlib.Path(folder, "a.svg")
        data.write_text(json.dumps({"results": rows}))
        command = [sys.executable, PLOT, data, "--x", "n", "--y", "p50_ms,p99_ms", "--line", "mode",
                   "--title", "a < b", "--x-label", "x", "--y-label", "ms", "--limit", "50=most",
                   "--output", output, *more]
        done = subprocess.run(command, capture_output=True, text=True)
        return done, ElementTree.fromstring(output.read_text()) if output.exists() else None


class LinePlot(unittest.TestCase):
    def test_each_mode_and_member_is_a_line_within_the_picture(self):
        rows = [{"n": n, "mode": mode, "p50_ms": n, "p99_ms": 2 * n}
                for n in (1, 10, 100) for mode in ("warm", "cold")]
        rows.append({"n": 7, "mode": "alone", "p50_ms": 1})
        done, picture = draw(rows)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [each.get("d") for each in picture if each.get("fill") == "none"]
        self.assertEqual(len(lines), 4, "one point is no line")
        for line in lines:
            points = [tuple(map(float, each.split())) for each in line[1:].split("L")]
            self.assertEqual(len(points), 3)
            self.assertEqual(points, sorted(points, key=lambda each: (each[0], -each[1])))
            self.assertTrue(all(0 < x < 760 and 0 < y < 440 for x, y in points), points)
        texts = [each.text for each in picture if each.tag.endswith("text")]
        for wanted in ("a < b", "warm p99", "cold p50", "most"):
            self.assertIn(wanted, texts)

    def test_a_logarithmic_scale_puts_powers_of_ten_at_equal_distances(self):
        rows = [{"n": n, "mode": "a", "p50_ms": y, "p99_ms": 10 * y} for n, y in ((1, 0.05), (10, 0.5), (100, 5))]
        done, picture = draw(rows, "--log-y")
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in (each.get("d") for each in picture if each.get("fill") == "none"):
            first, second, third = (float(each.split()[1]) for each in line[1:].split("L"))
            self.assertAlmostEqual(first - second, second - third, delta=0.2)
            self.assertTrue(0 < third < first < 440)
        self.assertIn("0.01", [each.text for each in picture])

    def test_a_linear_axis_begins_at_nought_and_shows_the_rows_that_are_asked_for(self):
        rows = [{"n": n, "mode": mode, "p50_ms": 1, "p99_ms": 2} for n in (0, 8, 16) for mode in ("warm", "cold")]
        done, picture = draw(rows, "--linear-x", "--where", "mode=warm")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [each.get("d") for each in picture if each.get("fill") == "none"]
        self.assertEqual(len(lines), 2)
        first, second, third = (float(each.split()[0]) for each in lines[0][1:].split("L"))
        self.assertAlmostEqual(second - first, third - second, delta=0.2)

    def test_nothing_to_draw_is_an_error(self):
        done, picture = draw([{"n": 1, "mode": "warm"}])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no line of two points", done.stderr)
        self.assertIsNone(picture)


if __name__ == "__main__":
    unittest.main()
