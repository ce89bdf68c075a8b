#!/usr/bin/env python3
"""attention_sink: a text of any length stays in the pages of its window, and each token is computed once."""
import re

import harness

PAGE_SIZE = 16
SINK, WINDOW = 4, 64
CONTEXT_LENGTH = 2048  # Of the tiny model.
# Pages of the window, one that the sink's end shares with dropped tokens, and one that fills.
PAGES_MAX = (SINK + WINDOW) // PAGE_SIZE + 3


class AttentionSinkTest(harness.ProgramTest):
    page_count = 32

    def run_sink(self, tokens):
        ran = self.run_program("attention_sink", "--sink", SINK, "--window", WINDOW, "--max-tokens", tokens,
                               "--ignore-eos", "The engine counts its pages: ")
        tokens_seen, pages, pages_max = re.search(r"\[(\d+) tokens in (\d+) pages, at most (\d+)\]", ran.out).groups()
        return ran.cost, int(tokens_seen), int(pages), int(pages_max)

    def test_pages_do_not_grow_with_the_text(self):
        for tokens in (200, CONTEXT_LENGTH + 500):
            cost, tokens_seen, pages, pages_max = self.run_sink(tokens)
            self.assertGreaterEqual(tokens_seen, tokens)
            self.assertLessEqual(pages, pages_max)
            self.assertLessEqual(pages_max, PAGES_MAX)
            # Nothing is computed again when tokens are dropped.
            self.assertLessEqual(cost.computed, tokens + 64)


if __name__ == "__main__":
    harness.main()
