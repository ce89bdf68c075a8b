#!/usr/bin/env python3
"""self_consistency: paths share the question, and the poll ends as soon as its answer is known."""
import re

import harness

QUESTION = "{}: how many pages does a program of 100 tokens fill, if a page holds 16 of them?"


class SelfConsistencyTest(harness.ProgramTest):

    def run_with(self, paths, question, *arguments):
        return self.run_program("self_consistency", "--paths", paths, "--max-tokens", 8, "--ignore-eos", *arguments,
                                QUESTION.format(question))

    def votes_of(self, ran):
        """Votes of the answer, all votes, and paths begun."""
        return tuple(map(int, re.search(r"(\d+) of (\d+) votes; (\d+) paths begun", ran.err).groups()))

    def test_equal_answers_end_the_poll_when_more_than_half_of_the_paths_voted(self):
        for paths, needed in ((1, 1), (4, 3), (5, 3), (9, 5)):
            ran = self.run_with(paths, "First", "--temperature", 0, "--at-once", 1)
            self.assertEqual(self.votes_of(ran), (needed, needed, needed))

    def test_each_path_costs_its_own_tokens(self):
        asked = [self.run_with(paths, "Second", "--temperature", 0, "--at-once", 1).asked for paths in (1, 3, 5, 7)]
        path = asked[1] - asked[0]  # 1, 2, 3 and 4 paths are followed.
        self.assertEqual([each - asked[0] for each in asked], [0, path, 2 * path, 3 * path])

    def test_the_answer_does_not_depend_on_how_many_paths_are_followed_at_once(self):
        answers = {self.run_with(7, "Third", "--temperature", 1, "--answer", "[01]", "--at-once", count).out
                   for count in (1, 2, 3, 7)}
        self.assertEqual(len(answers), 1)


if __name__ == "__main__":
    harness.main()
