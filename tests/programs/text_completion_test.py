#!/usr/bin/env python3
"""text_completion: the host's loop draws what calls made by hand draw, and a prompt is computed once."""
import harness

PAGE_SIZE = 16
PROMPT = "{} upon a time there was a small engine that could not stop counting its own pages"


class TextCompletionTest(harness.ProgramTest):

    def test_both_levels_of_the_sdk_give_the_same_text(self):
        for number, options in enumerate([
                ("--max-tokens", 24), ("--max-tokens", 24, "--chat"),
                ("--max-tokens", 40, "--temperature", 0.8, "--seed", 5),
                ("--max-tokens", 40, "--temperature", 1.3, "--top-k", 50, "--seed", 6, "--chat"),
                ("--max-tokens", 40, "--temperature", 1, "--min-p", 0.001, "--seed", 7, "--ignore-eos")]):
            with self.subTest(options=options):
                prompt = PROMPT.format(f"{number}:")
                high = self.run_program("text_completion", *options, prompt)
                by_hand = self.run_program("text_completion_by_hand", *options, prompt)
                self.assertEqual(high.out, by_hand.out)

    def test_a_second_run_finds_its_prompt(self):
        prompt = PROMPT.format("Once")
        first = self.run_program("text_completion", "--max-tokens", 4, prompt)
        again = self.run_program("text_completion", "--max-tokens", 4, prompt)
        self.assertEqual(first.out, again.out)
        self.assertGreater(first.cost.computed, 2 * PAGE_SIZE)
        self.assertEqual(first.cost.found, 0)
        self.assertGreaterEqual(again.cost.found, first.cost.computed - 4 - PAGE_SIZE)
        self.assertLessEqual(again.cost.computed, PAGE_SIZE + 4)


if __name__ == "__main__":
    harness.main()
