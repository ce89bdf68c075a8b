#!/usr/bin/env python3
"""jacobi_decoding: the tokens of greedy decoding, in fewer steps of the device where the guesses come true."""
import re

import harness

PROMPTS = ("The harbor was quiet", "one two three one two three one two three one two", "a")


class JacobiDecodingTest(harness.ProgramTest):

    def greedy(self, prompt, count):
        return self.run_program("text_completion", "--ignore-eos", "--max-tokens", count, prompt)

    def jacobi(self, prompt, count, block):
        return self.run_program("jacobi_decoding", "--ignore-eos", "--max-tokens", count, "--block", block, prompt)

    def passes(self, ran):
        return int(re.search(r"in (\d+) passes", ran.err)[1])

    def test_the_tokens_are_those_of_greedy_decoding(self):
        for prompt in PROMPTS:
            expected = self.greedy(prompt, 200).out
            for block in (0, 1, 5, 16, 64):
                self.assertEqual(self.jacobi(prompt, 200, block).out, expected, f"{prompt}, blocks of {block}")

    def test_guesses_that_come_true_save_passes(self):
        for prompt in PROMPTS[:2]:
            alone, blocks = self.jacobi(prompt, 400, 0), self.jacobi(prompt, 400, 8)
            self.assertEqual(self.passes(alone), 400)
            # The random model repeats itself after these.
            self.assertLess(self.passes(blocks), 300)
            # A pass and what is read of it are one step; where a page was found, a rewind may copy it in a step more.
            self.assertLess(blocks.cost.batches, 1.05 * self.passes(blocks))

    def test_a_context_that_is_full_ends_both_at_the_same_token(self):
        self.assertEqual(self.jacobi("The end", 4000, 16).out, self.greedy("The end", 4000).out)


if __name__ == "__main__":
    harness.main()
