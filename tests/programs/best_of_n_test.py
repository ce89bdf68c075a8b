#!/usr/bin/env python3
"""best_of_n: the question is computed once, whatever the number of answers."""
import harness

PROMPT = "{} which of these words comes first in the alphabet: pear, apple, plum, quince, cherry or apricot?"
ANSWER_TOKENS = 8
PAGE_SIZE = 16


class BestOfNTest(harness.ProgramTest):

    def cost_of(self, count, seed, prompt):
        return self.run_program("best_of_n", "--n", count, "--max-tokens", ANSWER_TOKENS, "--seed", seed, prompt).cost

    def test_the_question_is_computed_once(self):
        prompt = PROMPT.format("First")
        prompt_tokens = self.cost_of(1, 7, prompt).computed - ANSWER_TOKENS
        self.assertGreater(prompt_tokens, 2 * PAGE_SIZE)
        again = self.cost_of(8, 8, prompt)
        # The second run finds the whole pages of the prompt, and computes its end once for all answers.
        self.assertLessEqual(again.computed, PAGE_SIZE + 8 * ANSWER_TOKENS)

    def test_answers_run_side_by_side(self):
        prompt = PROMPT.format("Second")
        alone, all_of_them = self.cost_of(1, 9, prompt), self.cost_of(8, 10, prompt)
        self.assertLessEqual(all_of_them.batches, alone.batches + 2)


if __name__ == "__main__":
    harness.main()
