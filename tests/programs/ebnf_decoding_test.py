#!/usr/bin/env python3
"""ebnf_decoding: every text is one of the grammar, whatever the model would rather write."""
import re

import harness

NESTED = 'start: "(" start? ")"'


def is_arithmetic(text):
    """Whether it is a text of the grammar that the program brings, by a reader of its own."""
    at = 0

    def skip(pattern):
        nonlocal at
        found = re.compile(pattern).match(text, at)
        at = found.end() if found else at
        return found is not None

    def several(part, sign):
        if not part():
            return False
        while skip(sign):
            if not part():
                return False
        return True

    def sum_():
        return several(product, r" [+-] ")

    def product():
        return several(factor, r" [*/] ")

    def factor():
        if skip(r"\("):
            return sum_() and skip(r"\)")
        return skip(r"(0|[1-9][0-9]{0,5})(\.[0-9]{1,2})?")

    return sum_() and at == len(text)


class EbnfDecodingTest(harness.ProgramTest):

    def test_texts_of_random_weights_are_arithmetic(self):
        texts = set()
        for seed in range(30):
            ran = self.run_program("ebnf_decoding", "--temperature", 1, "--seed", seed,
                                   "Three boxes hold 12 apples each.")
            texts.add(ran.out.rstrip("\n"))
        self.assertGreater(len(texts), 5)
        for each in texts:
            self.assertTrue(is_arithmetic(each), each)

    def test_nesting_that_no_regular_expression_describes_is_kept(self):
        depths = set()
        for seed in range(20):
            text = self.run_program("ebnf_decoding", "--grammar", NESTED, "--temperature", 1, "--seed", seed,
                                    "--max-tokens", 300, "Brackets.").out.rstrip("\n")
            depth = len(text) // 2
            self.assertEqual(text, "(" * depth + ")" * depth)
            depths.add(depth)
        self.assertGreater(len(depths), 2)

    def test_a_grammar_that_cannot_be_used_is_an_error_that_says_where(self):
        ran = self.run_program("ebnf_decoding", "--grammar", 'start: "a" |\nstart2 = "b"', "Text.", succeeds=False)
        self.assertRegex(ran.err, "line 2|2[(:]")


if __name__ == "__main__":
    harness.main()
