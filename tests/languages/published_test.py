"""The snippets that a published page shows for Rust and JavaScript run here as they are, with the effects that it documents."""
import pathlib
import re
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "rust"))
import rust_harness  # noqa: E402
import harness  # noqa: E402

SOURCES = {"Rust": HERE / "rust" / "src" / "published.rs", "JavaScript": HERE / "published.js"}
SNIPPETS = dict(re.findall(r"^== (\w+)\n((?:(?!==).*\n)*)", (HERE / "published.txt").read_text(), re.M))


class PublishedTest(harness.ProgramTest):
    def test_each_line_stands_in_the_program_as_it_was_published(self):
        self.assertEqual(SNIPPETS.keys(), SOURCES.keys())
        for language, snippets in SNIPPETS.items():
            lines = {line.strip() for line in SOURCES[language].read_text().splitlines()}
            self.assertEqual([line for line in snippets.splitlines() if line not in lines], [], language)

    def said(self, program, *words):
        lines = self.run_program(program, *words).out.splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["flush", "found", "truncate", "manual"])
        return lines

    def test_the_effects_are_those_that_the_page_documents_and_the_same_in_both(self):
        javascript = self.said(SOURCES["JavaScript"])
        if rust_harness.COMPILER is None:
            self.skipTest("no rustc with wasm32-wasip1: tools/setup.sh rust makes one")
        self.assertEqual(self.said(rust_harness.built(HERE / "rust", "rows"), "published"), javascript)


if __name__ == "__main__":
    harness.main()
