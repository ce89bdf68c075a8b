#!/usr/bin/env python3
"""recursion_of_thought: a call shares what its caller holds, and computes only what it adds."""
import re

import harness

QUESTION = "{}: how does a server find pages that another program computed, and when does it give them up?"


class RecursionOfThoughtTest(harness.ProgramTest):

    def run_with(self, depth, question, *arguments):
        return self.run_program("recursion_of_thought", "--depth", depth, "--max-tokens", 8, "--ignore-eos",
                                *arguments, QUESTION.format(question))

    def calls_of(self, ran):
        """Calls, and the tokens that they added to what their callers hold."""
        return tuple(map(int, re.search(r"\[(\d+) calls?, (\d+) tokens\]", ran.out).groups()))

    def test_a_call_computes_only_what_it_adds(self):
        root = None
        for depth, call_count in ((0, 1), (1, 3), (2, 7), (3, 15)):
            ran = self.run_with(depth, "First", "--divide-at", 0)
            calls, added = self.calls_of(ran)
            self.assertEqual(calls, call_count)
            # The token that a call draws last is not computed.
            root = root or ran.asked - (added - 1)
            wanted = root + added - calls
            self.assertGreaterEqual(ran.cost.computed + ran.cost.found, wanted)
            # A step under a grammar may run the last token once more.
            self.assertLessEqual(ran.cost.computed + ran.cost.found, wanted + ran.cost.batches)

    def test_calls_side_by_side_share_the_steps_of_the_device(self):
        ran = self.run_with(3, "Second", "--divide-at", 0)
        self.assertLess(2 * ran.cost.batches, ran.cost.passes)

    def test_the_model_decides_whether_to_divide(self):
        self.assertEqual(self.calls_of(self.run_with(3, "Third", "--divide-at", 1))[0], 1)


if __name__ == "__main__":
    harness.main()
