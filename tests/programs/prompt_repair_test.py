#!/usr/bin/env python3
"""prompt_repair: after a line that changes was seen to change, the cache finds what is before and after it."""
import re

import harness

PAGE_SIZE = 16


def prompt(turn, clock, count):
    rules = "".join(f"Rule {word}: keep the page of {word} while a program needs it.\n"
                    for word in ("red", "blue", "green", "black", "white", "brown")[:count])
    asked = "".join(f"Question {'abcdefgh'[each]}\n" for each in range(turn))
    return f"You work in a garden of pages, {count}.\nIt is {clock} now.\n{rules}{asked}"


class PromptRepairTest(harness.ProgramTest):

    def found(self, prompts, *arguments):
        """(tokens found, tokens of the prompt) of each turn"""
        words = [word for each in prompts for word in ("--turn", each)]
        ran = self.run_program("prompt_repair", "--max-tokens", 1, "--ignore-eos", *arguments, *words)
        return [tuple(map(int, pair)) for pair in re.findall(r"(\d+) of (\d+) tokens of the prompt found", ran.err)]

    def test_the_cache_finds_what_is_before_and_after_the_line(self):
        prompts = [prompt(turn, f"10:0{turn}", 6) for turn in range(1, 6)]
        # The first page ends before the line; 12 pages end before the questions.
        repaired = self.found(prompts)
        self.assertEqual([found // PAGE_SIZE for found, _ in repaired], [0, 1, 12, 12, 12])
        for found, count in repaired[2:]:
            self.assertLess(count - found, 3 * PAGE_SIZE)  # The new question and the line itself.
        as_is = self.found(prompts, "--as-is")
        self.assertEqual([found // PAGE_SIZE for found, _ in as_is[1:]], [1, 1, 1, 1])
        self.assertEqual([count for _, count in repaired], [count for _, count in as_is])

    def test_a_line_that_is_not_alone_in_its_form_stays(self):
        prompts = ["Step 1\nStep 2\nStep 3\n", "Step 4\nStep 5\nStep 6\n"]
        self.assertEqual([count for _, count in self.found(prompts)],
                         [count for _, count in self.found(prompts, "--as-is")])


if __name__ == "__main__":
    harness.main()
