#!/usr/bin/env python3
"""mcts: the search computes each step once, and descends to steps that it has already computed for nothing."""
import harness

QUESTION = "{}: how can a server run more programs with the same memory?"


class MctsTest(harness.ProgramTest):

    def run_with(self, rollouts, question, *arguments):
        return self.run_program("mcts", "--rollouts", rollouts, "--max-tokens", 8, "--ignore-eos", *arguments,
                                QUESTION.format(question))

    def visits_of(self, ran):
        return [int(line.rsplit("(", 1)[1].split()[0]) for line in ran.out.splitlines() if line.endswith("visits)")]

    def test_a_rollout_costs_the_steps_that_it_adds_at_any_depth(self):
        asked = [self.run_with(rollouts, "First", "--depth", 16, "--width", 2).asked for rollouts in (1, 2, 3, 6)]
        rollout = asked[1] - asked[0]
        self.assertEqual([each - asked[0] for each in asked], [0, rollout, 2 * rollout, 5 * rollout])

    def test_a_rollout_that_ends_at_a_known_step_computes_nothing(self):
        self.assertEqual(self.run_with(1, "Second", "--depth", 1).asked,
                         self.run_with(50, "Second", "--depth", 1).asked)

    def test_the_answer_follows_the_steps_that_were_visited_most(self):
        visits = self.visits_of(self.run_with(12, "Third", "--width", 2, "--depth", 3))
        self.assertEqual(visits, sorted(visits, reverse=True))
        self.assertGreaterEqual(visits[0], 6)  # Each of the 12 rollouts visits one of two first steps, or both.


if __name__ == "__main__":
    harness.main()
