#!/usr/bin/env python3
"""check_advisories_test.py: which advisories check_advisories.py finds open."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_advisories as checker

LIST = """# Made of a test.
crate parser
crate quiet
RUSTSEC-1 parser vulnerability >=1.2.3,<2.0.0|>=2.1.0 <1.0.0
RUSTSEC-2 parser unmaintained - -
RUSTSEC-3 quiet unsound ^0.4.1 -
"""


class Advisories(unittest.TestCase):
    def test_versions_within_a_range_are_found(self):
        for version, requirement, wanted in (
                ("1.2.3", ">=1.2.3,<2.0.0", True), ("2.0.0", ">=1.2.3,<2.0.0", False), ("0.4.9", "^0.4.1", True),
                ("0.5.0", "^0.4.1", False), ("0.0.3", "^0.0.3", True), ("0.0.4", "^0.0.3", False), ("1.9.0", "1.2", True),
                ("1.0.0-rc.1", "<1.0.0", True), ("1.0.0", "=1.0.0", True), ("1.0.1", "=1.0.0", False),
                ("1.2.9", "~1.2.3", True), ("1.3.0", "~1.2.3", False), ("3.0.0+web", "<=3.0.0", True)):
            self.assertEqual(checker.matches(checker.version_of(version), requirement), wanted, (version, requirement))

    def findings(self, *crates):
        return checker.findings_of([(name, version, "Cargo.lock") for name, version in crates], LIST)

    def test_a_version_that_is_neither_patched_nor_unaffected_fails(self):
        for version in ("1.0.0", "1.2.2", "2.0.5"):
            failures, notes = self.findings(("parser", version))
            self.assertIn(f"parser {version}: RUSTSEC-1", failures[0])
            self.assertIn("unmaintained", notes[0])
        for version in ("0.9.0", "1.2.3", "2.1.0"):
            self.assertEqual(self.findings(("parser", version))[0], [])

    def test_unsound_code_fails_and_a_crate_that_nobody_looked_up_too(self):
        self.assertIn("RUSTSEC-3 (unsound)", self.findings(("quiet", "0.3.0"))[0][0])
        self.assertIn("new: tools/advisories.txt was not made", self.findings(("new", "1.0.0"))[0][0])

    def test_an_advisory_is_read_with_its_ranges(self):
        text = '```toml\n[advisory]\nid = "RUSTSEC-9"\npackage = "a"\n[versions]\npatched = [">= 2"]\n```\n# Title\n'
        self.assertEqual(checker.advisory_of(text), (("RUSTSEC-9", "a", "vulnerability", [">= 2"], []), False))


if __name__ == "__main__":
    unittest.main()
