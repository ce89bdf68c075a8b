#!/usr/bin/env python3
"""windowed_attention: the tokens of a windowed mask, in a number of pages that does not grow."""
import re

import harness
import reference

PROMPT = "The harbor was quiet, and the keeper of the lighthouse wrote the day's weather into his book."
WINDOW = 16
PAGE_SIZE = 16
ANSWER_TOKENS = 40


class WindowedAttentionTest(harness.ProgramTest):
    flags = ("--kv-format", "f32")

    def run_window(self, window, count, prompt):
        """How it ran, the most pages that it held, and the log-probability of the text."""
        ran = self.run_program("windowed_attention", "--window", window, "--max-tokens", count, "--temperature", 0, prompt)
        return ran, int(re.search(r"at most (\d+) pages", ran.err)[1]), float(re.search(r"(-[0-9.]+) nats", ran.out)[1])

    def test_the_text_is_that_of_a_windowed_mask(self):
        model = reference.Reference()

        def logits_after(token):
            count = model.count()
            return model.read(token, visible=range(max(0, count + 1 - WINDOW), count))
        ids = reference.tokens_of(harness.BUILD, PROMPT)
        self.assertGreater(len(ids), WINDOW)
        for token in ids:
            logits = logits_after(token)
        nats = 0.0
        for _ in range(ANSWER_TOKENS):
            token = reference.best(logits)
            nats += reference.log_probability(logits, token)
            logits = logits_after(token)
        ran, _, found = self.run_window(WINDOW, ANSWER_TOKENS, PROMPT)
        self.assertAlmostEqual(found, nats, delta=1e-3)
        # Each token is computed once, but the last, which is never read; only the first 16 share a pass.
        self.assertEqual(ran.cost.computed, len(ids) + ANSWER_TOKENS - 1)
        self.assertEqual(ran.cost.passes, len(ids) - WINDOW + ANSWER_TOKENS)

    def test_pages_do_not_grow_with_the_text(self):
        for count in (64, 512):
            _, page_count, _ = self.run_window(4 * PAGE_SIZE, count, "Later: " + PROMPT)
            self.assertEqual(page_count, 5)


if __name__ == "__main__":
    harness.main()
