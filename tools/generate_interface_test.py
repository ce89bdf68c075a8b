#!/usr/bin/env python3
"""Tests what generate_interface.py refuses, and that its errors name the place."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import generate_interface as generator

TYPES = """package quire:core@1.0.0;
interface types {
  type handle = s32;
  type future = s32;
  type address = u32;
  enum error-code {
    ok,      // 0
    broken,  // 7, after a gap
  }
}
"""


class Parser(unittest.TestCase):
    def parse(self, body, types=TYPES):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "types.wit").write_text(types)
            text = "package quire:core@1.0.0;\ninterface thing {\n" + body + "\n}\n"
            (pathlib.Path(folder) / "thing.wit").write_text(text)
            return generator.parse(pathlib.Path(folder))

    def assert_refused(self, body, message):
        with self.assertRaises(generator.WitError) as caught:
            self.parse(body)
        self.assertEqual(str(caught.exception), message)

    def test_lowers_lists_and_aliases(self):
        interfaces = self.parse("use types.{handle, address};\n"
                                "a-call: func(x: handle, y: list<u32>, z: address, t: s64) -> s64;")
        function = interfaces[1].functions[0]
        self.assertEqual(function.signature(), "iiiiI>I")
        self.assertEqual(function.spelled, "a_call")
        self.assertEqual(interfaces[1].module, "quire:core/thing@1")

    def test_unknown_type_tells_file_and_line(self):
        self.assert_refused("f: func(x: u8) -> s32;", "interface/thing.wit:3: unknown type 'u8'")
        self.assert_refused("\n\nf: func(x: handle) -> s32;",
                            "interface/thing.wit:5: unknown type 'handle'")

    def test_what_has_no_lowering_is_refused(self):
        self.assert_refused("f: func(x: list<u64>) -> s32;",
                            "interface/thing.wit:3: list<u64> has no lowering")
        self.assert_refused("f: func() -> u32;", "interface/thing.wit:3: f returns u32; a call "
                            "returns one of future, handle, s32, s64")
        self.assert_refused("f: func();", "interface/thing.wit:3: expected '->', found ';'")
        self.assert_refused("resource r;", "interface/thing.wit:3: expected ':', found 'r'")
        self.assert_refused("f: func(x: u32", "interface/thing.wit:4: expected ',', found '}'")
        self.assert_refused("# no", "interface/thing.wit:3: unexpected character '#'")

    def test_a_call_that_gives_a_future_has_a_record_and_no_other_has_one(self):
        interfaces = self.parse("use types.{future};\nf: func() -> future;\ng: func() -> s32;")
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "interface").mkdir()
            self.assertFalse(generator.check_records(root, interfaces))
            path = root / generator.RECORDS
            path.write_text("# A comment.\nthing.f: nothing\n")
            self.assertTrue(generator.check_records(root, interfaces))
            path.write_text("thing.f: nothing\nthing.g: u32\n  00000000\n")
            self.assertFalse(generator.check_records(root, interfaces))

    def test_a_frozen_call_may_not_change_or_go(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "interface").mkdir()
            frozen = root / generator.FROZEN
            old = self.parse("f: func(x: u32) -> s32;\ng: func() -> s32;")
            self.assertFalse(generator.check_frozen(root, old, freezes=False))
            self.assertTrue(generator.check_frozen(root, old, freezes=True))
            self.assertTrue(generator.check_frozen(root, old, freezes=False))
            before = frozen.read_text()
            for body in ("f: func(x: u64) -> s32;\ng: func() -> s32;", "f: func(x: u32) -> s32;"):
                self.assertFalse(generator.check_frozen(root, self.parse(body), freezes=True))
                self.assertEqual(frozen.read_text(), before)
            more = self.parse("f: func(x: u32) -> s32;\ng: func() -> s32;\nh: func() -> s32;")
            self.assertFalse(generator.check_frozen(root, more, freezes=False))
            self.assertTrue(generator.check_frozen(root, more, freezes=True))

    def test_names_are_given_once(self):
        self.assert_refused("f: func(x: u32, x: u32) -> s32;",
                            "interface/thing.wit:3: parameter 'x' is given twice")
        self.assert_refused("f: func() -> s32;\nf: func() -> s32;",
                            "interface/thing.wit:4: 'f' is declared twice")

    def test_names_that_are_keywords_keep_their_import(self):
        interfaces = self.parse("delete: func() -> s32;\n%list: func() -> s32;")
        interfaces[0].enums = {"error-code": [("ok", 0)]}
        written = generator.bindings(interfaces)
        self.assertIn('QUIRE_IMPORT("quire:core/thing@1", "delete")\nstd::int32_t delete_();',
                      written)
        self.assertIn('QUIRE_IMPORT("quire:core/thing@1", "list")\nstd::int32_t list();', written)
        self.assertIn("QUIRE_HOST_CALL(thing, delete, ", generator.table(interfaces))
        self.assert_refused("list: func() -> s32;\n%list: func() -> s32;",
                            "interface/thing.wit:4: 'list' is declared twice")

    def test_cases_have_the_numbers_of_their_comments(self):
        interfaces = self.parse("f: func() -> s32;")
        self.assertEqual(interfaces[0].enums["error-code"], [("ok", 0), ("broken", 7)])
        self.assertIn("  Broken = 7,", generator.bindings(interfaces))
        self.assertIn('QUIRE_ERROR_CODE(Broken, 7, "broken")', generator.error_codes(interfaces))
        for comment, message in (("", "the number of 'broken' is missing: // 7"),
                                 ("// 0", "'broken' has the number 0, not more than the 0 "
                                  "before it")):
            with self.assertRaises(generator.WitError) as caught:
                self.parse("", TYPES.replace("// 7, after a gap", comment))
            self.assertEqual(str(caught.exception), "interface/types.wit:8: " + message)

    def test_comments_travel_with_their_function(self):
        interfaces = self.parse("// Two\n// lines.\nf: func() -> s32; // Not this.\n"
                                "g: func() -> s32;")
        self.assertEqual(interfaces[1].functions[0].documentation.meaning, ["Two", "lines."])
        self.assertEqual(interfaces[1].functions[1].documentation.meaning, [])

    def test_a_call_says_what_it_costs_and_how_it_is_made(self):
        body = "// Means.\n// Cost: {}\n// of all.\n// Example:\n//   a;\n//     b;\nf: func() -> s32;"
        interfaces = self.parse(body.format("device; a row"))
        generator.check_documented(interfaces)
        documentation = interfaces[1].functions[0].documentation
        self.assertEqual((documentation.meaning, documentation.cost, documentation.cost_words),
                         (["Means."], "device", "a row of all"))
        self.assertEqual(documentation.example, ["a;", "  b;"])
        self.assertIn("(), Device)", generator.table(interfaces))
        self.assertIn("(), Control)", generator.table(self.parse(body.format("engine; words"))))
        self.assertNotIn("Cost", generator.bindings(interfaces))
        self.assertNotIn("Example", generator.bindings(interfaces))
        for text, message in (("f: func() -> s32;", "thing.f: no comment above it says what it is"),
                              ("// F.\nf: func() -> s32;", "thing.f: no `Cost:` line above it; one of "),
                              (body.format("much;"), "thing.f: unknown cost 'much' above it; "),
                              ("// F.\n// Cost: wait.\nf: func() -> s32;",
                               "thing.f: an `Example:` of 0 lines above it; "),
                              (body.format("wait;").replace("//   a;\n", "//   a;\n" * 6),
                               "thing.f: an `Example:` of 7 lines above it; ")):
            with self.assertRaises(generator.WitError) as caught:
                generator.check_documented(self.parse(text))
            self.assertTrue(str(caught.exception).startswith(message), caught.exception)


if __name__ == "__main__":
    unittest.main()
