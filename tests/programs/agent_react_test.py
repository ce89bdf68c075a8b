#!/usr/bin/env python3
"""agent_react: every step can be read, and its action is carried out.

Random weights do not reason: they show that the grammar gives each step its form.
"""
import re

import harness

STEP_COUNT_MAX = 8
STEP = re.compile(r"Thought: [^\n]{4,240}\n(Action: calculator\[([-+*/(). 0-9]{1,100})\]|Answer: [^\n]{4,240})\n?")


def steps_of(text):
    """(expression or None, observation or None) of each step."""
    steps = []
    at = 0
    while at < len(text):
        step = STEP.match(text, at)
        assert step, text[at:]
        at = step.end()
        observation = None
        if step.group(2) is not None:
            end = text.index("\n", at)
            observation, at = text[at:end], end + 1
        steps.append((step.group(2), observation))
    return steps


class AgentReactTest(harness.ProgramTest):

    def test_each_step_is_read_and_its_action_carried_out(self):
        acted = 0
        for seed in range(12):
            ran = self.run_program("agent_react", "--temperature", 1, "--seed", seed, "What is 17*23?", succeeds=None)
            if ran.code != 0:  # Its random thoughts fill the context.
                self.assertIn("no room for an answer", ran.err)
                continue
            steps = steps_of(ran.out)
            self.assertLessEqual(len(steps), STEP_COUNT_MAX)
            self.assertIsNone(steps[-1][0])  # The last step is an answer.
            for expression, observation in steps:
                if expression is not None:
                    acted += 1
                    self.assertIn(expression, observation)
                    self.assertRegex(observation, r"^(error: .* is not an expression|.* = -?[0-9.e+-]+$)")
        self.assertGreater(acted, 0)

    def test_a_step_that_is_cut_is_an_error(self):
        ran = self.run_program("agent_react", "--max-tokens", 5, "What is 17*23?", succeeds=False)
        self.assertIn("no room for an answer", ran.err)


if __name__ == "__main__":
    harness.main()
