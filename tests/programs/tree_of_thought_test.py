#!/usr/bin/env python3
"""tree_of_thought: thoughts grow from one computed question, side by side; those that are not kept leave no pages."""
import harness

QUESTION = "{} how can one cross a river with a wolf, a goat and a cabbage in a boat for two"


class TreeOfThoughtTest(harness.ProgramTest):

    def grow(self, start, width, keep, depth=2):
        return self.run_program("tree_of_thought", "--width", width, "--keep", keep, "--depth", depth,
                                "--max-tokens", 8, "--temperature", 1, "--ignore-eos", QUESTION.format(start)).cost

    def test_thoughts_run_side_by_side(self):
        one = self.grow("First", 1, 1, depth=1)
        many = self.grow("Second", 8, 1, depth=1)
        more_passes = many.passes - one.passes
        self.assertGreater(more_passes, 7 * 10)  # Eight tokens of a step, and a verdict of three words.
        self.assertLess(many.batches - one.batches, more_passes / 2)

    def test_the_question_is_computed_once(self):
        """A thought costs its own tokens: with the question anew in each, it would cost more than twice as much."""
        one = self.grow("Third", 1, 1, depth=1)
        many = self.grow("Fourth", 8, 1, depth=1)
        per_thought = (many.computed - one.computed) / 7
        question_tokens = self.run_program("text_completion", "--max-tokens", 1, "--chat",
                                           QUESTION.format("Fifth")).cost.computed
        self.assertGreater(question_tokens, 40)
        self.assertLess(per_thought, one.computed - question_tokens)


if __name__ == "__main__":
    harness.main()
