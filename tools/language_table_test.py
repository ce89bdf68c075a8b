#!/usr/bin/env python3
"""The table of docs/reference/languages.md refuses what is not complete, not of the interface, or not of an SDK."""
import unittest

import generate_interface
import language_table


class LanguageTable(unittest.TestCase):
    def setUp(self):
        self.interfaces = generate_interface.parse(language_table.ROOT / "interface")
        self.text = language_table.OPERATIONS.read_text()

    def refused(self, text, said):
        with self.assertRaises(language_table.TableError) as refusal:
            language_table.page(self.interfaces, text)
        self.assertIn(said, str(refusal.exception))

    def test_each_call_has_a_row_with_its_raw_call_in_all_languages(self):
        page = language_table.page(self.interfaces)
        for interface in self.interfaces:
            for function in interface.functions:
                row = f"| [{function.name}]({interface.name}.md#{function.name}) | "
                self.assertEqual(page.count(row), 1, row)
        self.assertIn("`context.dropRange(begin, end)`<br>`raw.context.dropRange`", page)
        self.assertIn("`raw::context::drop_range`", page)

    def test_a_row_that_is_missing_or_too_much_is_named(self):
        line = next(each for each in self.text.splitlines(True) if each.startswith("context.fork "))
        self.refused(self.text.replace(line, ""), "lacks a row for context.fork")
        self.refused(self.text + line, "context.fork has a row already")
        self.refused(self.text + line.replace("fork", "knife"), "context.knife is no call")
        self.refused(self.text.replace(line, "context.fork | context.fork() | -\n"), "context.fork needs a cell for each")

    def test_a_word_that_an_sdk_lacks_is_named(self):
        for word, said in (("context.allowBeyondContext()", "the SDK of JavaScript has no allowBeyond"),
                           ("Model::named(name)", "the SDK of Rust has no allowBeyond"),
                           ("matcher.token_mask()", "the SDK of C++ has no allowBeyond"),
                           ("(`session.sendFile`)", "the SDK of JavaScript has no allowBeyond")):
            wrong = "(`session.allowBeyond`)" if word.startswith("(") else "context.allowBeyond()"
            self.refused(self.text.replace(word, wrong), said)

    def test_a_call_that_an_sdk_makes_needs_a_word(self):
        line = next(each for each in self.text.splitlines(True) if each.startswith("store.put "))
        self.refused(self.text.replace(line, "store.put | store::put(key, value) | - | -\n"), "store.put: the SDK of Rust makes the call")


if __name__ == "__main__":
    unittest.main()
