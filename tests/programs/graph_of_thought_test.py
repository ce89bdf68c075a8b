#!/usr/bin/env python3
"""graph_of_thought: a merge reads the pages of the thoughts before it, and recomputes none of them."""
import harness

THOUGHT_TOKENS = 8
TEXT = "{}: a page table is a list that a system keeps for each program, to find the place of every page in memory."


class GraphOfThoughtTest(harness.ProgramTest):

    def run_with(self, thoughts, text):
        return self.run_program("graph_of_thought", "--thoughts", thoughts, "--max-tokens", THOUGHT_TOKENS,
                                "--ignore-eos", TEXT.format(text))

    def test_a_merge_costs_its_own_turn_whatever_the_thoughts_before_it_hold(self):
        asked = {count: self.run_with(count, "First").asked for count in (1, 2, 4, 8)}
        # From 1 to 2 thoughts, one more thought and one merge come. Merges of merges cost the same.
        thought_and_merge = asked[2] - asked[1]
        self.assertEqual(asked[4] - asked[2], 2 * thought_and_merge)
        self.assertEqual(asked[8] - asked[4], 4 * thought_and_merge)

    def test_the_text_is_computed_once(self):
        first, again = self.run_with(4, "Second"), self.run_with(4, "Second")
        self.assertEqual(first.cost.found, 0)
        self.assertEqual(first.cost.computed, first.asked)  # No token was computed twice.
        self.assertEqual(again.cost.computed + again.cost.found, first.asked)
        self.assertEqual(again.out, first.out)

    def test_thoughts_of_one_level_share_the_steps_of_the_device(self):
        cost = self.run_with(8, "Third").cost
        # 8 thoughts and 7 merges: one after the other, each pass would be a step of its own.
        self.assertGreaterEqual(cost.passes, 15 * THOUGHT_TOKENS)
        self.assertLess(2 * cost.batches, cost.passes)


if __name__ == "__main__":
    harness.main()
