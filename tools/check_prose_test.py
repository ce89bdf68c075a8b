#!/usr/bin/env python3
"""Tests that check_prose.py finds planted sentences, and what its list of exceptions allows."""
import collections
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_prose as checker


def found(path, text):
    """{rule: number of findings} in one file."""
    return dict(collections.Counter(each.rule for each in checker.measure({path: text})))


def sentence(count):
    return " ".join(["One"] + ["word"] * (count - 1)) + "."


class Phrases(unittest.TestCase):
    def test_each_planted_phrase_is_found(self):
        for text in ("Nobody reads the page.", "A page of somebody's is freed.", "Whoever asks first gets the page.",
                     "It waits for ever.", "The mask behind the token is used.", "The server tells the client.",
                     "A name is no page.", "A limit and its bound are equal.", "Programs have bounds.", "Others wait.",
                     "Besides, the page is shared.", "Its last word was taken.", "The page waits in vain.",
                     "The behaviour of a neighbour changes.", "The call is told of it."):
            for path, comment in (("x.cc", f"// {text}\n"), ("x.py", f"# {text}\n"), ("x.md", text + "\n"),
                                  ("x.rs", f"/// {text}\n"), ("x.wit", f"  /// {text}\n"), ("x.ts", f"/** {text} */\n")):
                self.assertIn("phrase", found(path, comment), (path, text))

    def test_what_the_words_mean_elsewhere_is_not_found(self):
        for text in ("The server stands behind a proxy.", "The page is no longer used.", "There is no page.",
                     "An index out of bounds ends the call.", "The two are told apart by a number.",
                     "The queue is bounded.", "The others are freed.", "The code `nobody` is a word."):
            self.assertEqual(found("x.cc", f"// {text}\n"), {}, text)

    def test_code_of_a_text_is_not_read(self):
        self.assertEqual(found("x.md", "Run this:\n\n```sh\necho nobody\n```\n\n    nobody\n"), {})
        self.assertEqual(found("x.cc", "// For example:\n//     nobody = somebody();\n"), {})
        self.assertEqual(found("x.cc", 'const char* nobody = "others";\nint behind = 0;\n'), {})


class Sentences(unittest.TestCase):
    def test_a_sentence_of_36_words_is_found_and_one_of_35_is_not(self):
        for count, expected in ((36, {"long": 1}), (35, {})):
            for path, text in (("x.h", f"// {sentence(count)}\n"), ("x.md", f"# Title\n\n{sentence(count)}\n"),
                               ("src/x.cc", f'fail("{sentence(count)}");\n')):
                self.assertEqual(found(path, text), expected, path)

    def test_a_sentence_goes_on_in_the_next_line_and_ends_with_a_paragraph(self):
        half = "// " + " ".join(["word"] * 20) + "\n"
        self.assertEqual(found("x.h", half + half), {"long": 1})
        self.assertEqual(found("x.h", half + "//\n" + half), {})
        self.assertEqual(found("x.h", half + "int x;\n" + half), {})
        self.assertEqual(found("x.md", "- " + half[3:] + "- " + half[3:]), {}, "items of a list are apart")
        self.assertEqual(found("x.md", f"| {half[3:-1]} | {half[3:-1]} |\n"), {}, "and so are cells")

    def test_literals_that_stand_together_are_one_text(self):
        half = '"' + "word " * 20 + '"'
        self.assertEqual(found("src/x.cc", f"fail({half}\n     {half});\n"), {"long": 1})
        self.assertEqual(found("src/x.cc", f"fail({half},\n     {half});\n"), {})
        self.assertEqual(found("src/x_test.cc", f"fail({half}\n     {half});\n"), {}, "texts of tests are data")

    def test_code_counts_as_one_word(self):
        self.assertEqual(found("x.md", sentence(34) + " `a b c d`.\n"), {})
        self.assertEqual(found("x.md", f"[{sentence(3)[:-1]}](a b) " + " ".join(["word"] * 32) + ".\n"), {})

    def test_a_file_with_long_sentences_is_found(self):
        short, long_one = sentence(10) + " ", sentence(26) + " "
        self.assertEqual(found("x.md", short * 18 + long_one * 2), {"spread": 1})
        self.assertEqual(found("x.md", short * 19 + long_one), {})
        self.assertEqual(found("x.md", long_one * 9), {}, "too few to have a spread")


class Starts(unittest.TestCase):
    def test_a_comment_that_begins_with_a_fragment_is_found(self):
        for word in ("Of", "Those", "Likewise", "Also", "What", "Which", "Where", "It", "Its", "Whoever"):
            self.assertIn("start", found("x.cc", f"int a;\n// {word} some page that was freed.\nint b;\n"), word)
            self.assertIn("start", found("x.py", f"# {word} some page that was freed.\n"), word)

    def test_only_the_first_word_of_a_comment_with_its_own_lines_counts(self):
        self.assertEqual(found("x.cc", "// A page is freed. It is clean.\n//\n// It has no owner.\n"), {})
        self.assertEqual(found("x.cc", "int lines;  // Of the last page.\n"), {}, "the name before it is its subject")
        self.assertEqual(found("x.md", "It is a page.\n"), {}, "documents have a context")
        self.assertEqual(found("x.cc", "// Where to start: see the page.\n// Italic text.\n"), {})


class Files(unittest.TestCase):
    def test_generated_files_are_exempt(self):
        for path, text in (("x.h", "// Written by tools/generate_x.py.\n// Nobody.\n"), ("docs/reference/cli.md", "Nobody.\n"),
                           ("docs/reference/x.md", "<!-- Written by tools/generate_x.py. -->\nNobody.\n")):
            self.assertEqual(found(path, text), {}, path)


class Exceptions(unittest.TestCase):
    def run_on(self, entries, count, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "tools").mkdir()
            (root / checker.LIST).write_text(entries)
            checker.subprocess.run(["git", "init", "-q", folder], check=True)
            (root / "x.h").write_text("// Nobody waits.\nint a;\n" * count)
            code = checker.main([*arguments, folder])
            return code, (root / checker.LIST).read_text()

    def test_an_entry_allows_its_number_and_less_but_no_more(self):
        for count, code in ((3, 0), (2, 0), (4, 1)):
            self.assertEqual(self.run_on("phrase x.h 3\n", count)[0], code)
        self.assertEqual(self.run_on("", 1)[0], 1)

    def test_an_entry_that_no_longer_applies_is_an_error(self):
        self.assertEqual(self.run_on("phrase x.h 3\n", 0)[0], 1)
        self.assertEqual(self.run_on("phrase gone.h 3\n", 0)[0], 1)

    def test_an_update_lowers_follows_moves_and_never_adds(self):
        self.assertEqual(self.run_on("# Why.\nphrase old.h 3\n", 2, "--update")[1], "# Why.\nphrase x.h 2\n")
        self.assertEqual(self.run_on("phrase x.h 3\n", 4, "--update"), (1, "phrase x.h 3\n"))


if __name__ == "__main__":
    unittest.main()
