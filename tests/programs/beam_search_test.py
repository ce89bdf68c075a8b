#!/usr/bin/env python3
"""beam_search: one beam is greedy decoding; many beams find the most probable text, in the batches of one."""
import harness

WORDS = "{} which of these words comes first in the alphabet: pear, apple, plum, quince, cherry or apricot?"


class BeamSearchTest(harness.ProgramTest):

    def beams(self, prompt, width, tokens, *flags):
        return self.run_program("beam_search", "--width", width, "--max-tokens", tokens, "--ignore-eos", *flags,
                                prompt)

    def test_one_beam_is_greedy_decoding(self):
        for start in ("A", "B", "C"):
            prompt = WORDS.format(start)
            greedy = self.run_program("text_completion", "--max-tokens", 12, "--ignore-eos", prompt)
            self.assertEqual(self.beams(prompt, 1, 12).out, greedy.out)

    def test_the_prompt_is_computed_once_and_beams_share_a_batch(self):
        alone = self.beams(WORDS.format("D"), 1, 8).cost
        many = self.beams(WORDS.format("E"), 8, 8).cost
        prompt_tokens = alone.computed - 7  # The last token of a beam is never computed.
        self.assertLessEqual(many.computed, prompt_tokens + 8 * 7)
        self.assertLessEqual(many.batches, alone.batches + 2)
        self.assertGreater(many.passes, alone.passes + 6 * 7)

    def test_the_result_is_that_of_a_search_by_the_definition(self):
        for start in ("F", "G", "H", "I"):
            prompt = WORDS.format(start)
            size = ("--width", 4, "--max-tokens", 3)
            found = self.run_program("beam_search", *size, "--ignore-eos", prompt)
            by_definition = self.run_program(harness.guest("beam_reference"), *size, prompt)
            self.assertEqual(found.out, by_definition.out)


if __name__ == "__main__":
    harness.main()
