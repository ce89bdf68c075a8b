#!/usr/bin/env python3
"""prefix_tree: what several prompts share is computed once, to the token."""
import re

import harness

ANSWER_TOKENS = 4


class PrefixTreeTest(harness.ProgramTest):

    def run_with(self, *prompts):
        words = [word for prompt in prompts for word in ("--prompt", prompt)]
        return self.run_program("prefix_tree", "--max-tokens", ANSWER_TOKENS, "--ignore-eos", *words)

    def tree_of(self, ran):
        """Tokens of all prompts, nodes, and tokens of all nodes."""
        return tuple(map(int, re.search(r"\[(\d+) tokens of prompts in (\d+) nodes of (\d+) tokens\]",
                                        ran.out).groups()))

    def test_each_node_is_computed_once(self):
        for prompts in (["A cat sees well at night", "A cat sees well by day", "A cat sleeps", "An owl sleeps"],
                        ["one two three", "one two three", "one two four"],
                        ["alone"]):
            ran = self.run_with(*prompts)
            tokens, _, tree_tokens = self.tree_of(ran)
            self.assertEqual(ran.cost.found, 0)
            # The last token of a prompt runs once more for its answer, whose last token is not computed.
            self.assertEqual(ran.cost.computed, tree_tokens + len(prompts) * ANSWER_TOKENS)
            self.assertEqual(tree_tokens < tokens, len(prompts) > 1)

    def test_a_node_is_where_prompts_part(self):
        # The shared beginning, and the two ends.
        self.assertEqual(self.tree_of(self.run_with("We compute pages", "We compute tokens"))[1], 3)

    def test_answers_are_those_of_each_prompt_alone(self):
        prompts = ["Keys and values", "Keys and pages", "Keys"]
        together = self.run_with(*prompts).out.rsplit("[", 1)[0]
        self.assertEqual(together, "".join(self.run_with(each).out.rsplit("[", 1)[0] for each in prompts))


if __name__ == "__main__":
    harness.main()
