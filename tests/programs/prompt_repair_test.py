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

    def moves(self, *values):
        # No other test has these pages.
        prompts = [prompt(turn, value, 6).replace("You work", "They do") for turn, value in enumerate(values, 1)]
        return self.found(prompts)[-1][0] // PAGE_SIZE > 3

    def test_nonces_times_ids_and_paths_move_a_line(self):
        for values in [("cch=fa690;", "cch=36ee5;", "cch=deadb;"), ("cch=12345;", "cch=0aaa9;", "cch=fabed;"),
                       ("9:59:07 AM on Mon Nov 30", "10:00:01 PM on Tuesday Dec 1", "1:00:30 PM on Wed May 2"),
                       ("2026-11-27T02:16:33Z", "2026-12-01T22:06:03Z", "2027-01-01T00:00:00Z"),
                       ("at 1,024 of 2.1.37.0d9", "at 999 of 2.1.38.fa0", "at 7 of 2.1"),
                       ("0x7ffe", "0xabcdef01", "0x1"), ("id tmp8k2jx9", "id a9b8c7d6", "id Zk3q7Tt1"),
                       ("6f1c2d3e-aaaa-4b5c-8d7e-0123456789ab", "bbbbbbbb-0a1b-4c5d-9e8f-ffffffffffff",
                        "00000000-1111-2222-3333-444444444444"),
                       ("in /tmp/quire_abcdef/x", "in /tmp/quire_ghijkl/x", "in /tmp/quire_mnopqr/x"),
                       ("in ~/work", "in ~/notes/deep", "in ~/a")]:
            self.assertTrue(self.moves(*values), values)

    def test_words_do_not_move_a_line(self):
        for values in [("early", "late", "noon"), ("March", "May", "June"), ("http://a/b/c", "http://d/e/f", "http://g/h/i"),
                       ("v2 of it", "w2 of it", "x2 of it")]:
            self.assertFalse(self.moves(*values), values)

    def test_a_line_that_is_not_alone_in_its_form_stays(self):
        prompts = ["Step 1\nStep 2\nStep 3\n", "Step 4\nStep 5\nStep 6\n"]
        self.assertEqual([count for _, count in self.found(prompts)],
                         [count for _, count in self.found(prompts, "--as-is")])


if __name__ == "__main__":
    harness.main()
