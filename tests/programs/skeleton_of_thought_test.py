#!/usr/bin/env python3
"""skeleton_of_thought: the points of an answer are worked out in the same steps of the device."""
import harness

QUESTION = "{}: how does a computer keep the pages of many programs in one memory?"


class SkeletonOfThoughtTest(harness.ProgramTest):

    def run_with(self, points, tokens, question):
        return self.run_program("skeleton_of_thought", "--points", points, "--max-tokens", tokens, "--ignore-eos",
                                QUESTION.format(question))

    def test_a_longer_point_takes_its_own_steps_and_not_those_of_all_points(self):
        self.run_with(4, 1, "First")  # The skeleton is in the cache from here on.
        steps = []
        for _ in range(5):  # A point that the busy machine lets wait is late for its step.
            short, long = self.run_with(4, 8, "First"), self.run_with(4, 24, "First")
            self.assertEqual(long.asked - short.asked, 4 * 16)  # Each of the 4 points is 16 tokens longer.
            steps.append(long.cost.batches - short.cost.batches)
            if steps[-1] <= 2 * 16:
                return
        self.fail(f"{steps} steps more; one point after the other would take 64")

    def test_there_are_as_many_points_as_asked_for(self):
        for points in (1, 3, 7):
            lines = self.run_with(points, 1, "Second").out.splitlines()
            heads = [line for line in lines if line.split(". ")[0].isdigit()]
            self.assertEqual([head.split(". ")[0] for head in heads], [str(i + 1) for i in range(points)])

    def test_points_share_the_question_and_the_skeleton(self):
        ran = self.run_with(4, 8, "Third")
        self.assertLessEqual(ran.cost.computed, ran.asked + ran.cost.batches)


if __name__ == "__main__":
    harness.main()
