#!/usr/bin/env python3
"""output_validation: after a text that must not come, the program goes on from the last valid token."""
import os
import re

import harness

PROMPT = "{}: write about pages that are found, computed and shared."
TOKENS = 24
TOKEN_CHARACTERS_MAX = 12


class OutputValidationTest(harness.ProgramTest):

    def run_with(self, never, prompt, *arguments):
        return self.run_program("output_validation", "--max-tokens", TOKENS, "--never", never, *arguments,
                                PROMPT.format(prompt))

    def wasted(self, ran):
        return int(re.search(r"(\d+) tokens were computed and discarded", ran.err)[1])

    def test_what_was_valid_is_neither_computed_nor_drawn_again(self):
        free = self.run_with("no such text", "First")
        self.assertEqual(self.wasted(free), 0)
        for begin in range(2, len(free.out) - 12, 5):
            never = free.out[begin:begin + 9]  # Several tokens in the middle of the answer.
            held = self.run_with(never, "First")
            self.assertNotIn(never, held.out)
            # The program goes back to the token in which the text begins, and no further.
            kept = len(os.path.commonprefix([held.out, free.out]))
            self.assertIn(free.out.index(never) - kept, range(-9, TOKEN_CHARACTERS_MAX))
            # The additional tokens are those that it dropped.
            self.assertEqual(held.asked - free.asked, self.wasted(held))
            self.assertGreater(self.wasted(held), 0)

    def test_the_search_for_a_valid_text_has_a_limit(self):
        ran = self.run_program("output_validation", "--never", "", "--returns", 5, PROMPT.format("Second"),
                               succeeds=False)
        self.assertIn("found no valid text", ran.err)


if __name__ == "__main__":
    harness.main()
