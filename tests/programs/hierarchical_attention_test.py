#!/usr/bin/env python3
"""hierarchical_attention: the tokens of a tree's mask, for one pass over the document."""
import re

import harness
import reference

DOCUMENT = """The harbor
# Boats
All of them need a license.
## Rowing
Four pounds an hour.
### Children
They row for free.
## Sailing
Thirty pounds an hour.
# Fishing
It is free from the pier.
"""
QUESTION = "How much is it?"
ANSWER_TOKENS = 24
#          the harbor, boats, rowing, children, sailing, fishing
PARENTS = [None, 0, 1, 2, 1, 0]


class HierarchicalAttentionTest(harness.ProgramTest):
    flags = ("--kv-format", "f32")

    def test_the_text_is_that_of_the_mask(self):
        tokens, places, section = [], [], 0
        for line in DOCUMENT.splitlines(keepends=True):
            section += line.startswith("#")
            ids = reference.tokens_of(harness.BUILD, line)
            tokens += ids
            places += [section] * len(ids)

        def above(place):
            return [place] + (above(PARENTS[place]) if PARENTS[place] is not None else [])
        model = reference.Reference()
        for i, token in enumerate(tokens):
            model.read(token, visible=[j for j in range(i) if places[j] in above(places[i])])
        question = reference.tokens_of(harness.BUILD, QUESTION)
        for token in question:
            logits = model.read(token)
        nats = 0.0
        for _ in range(ANSWER_TOKENS):
            token = reference.best(logits)
            nats += reference.log_probability(logits, token)
            logits = model.read(token)

        ran = self.run_program("hierarchical_attention", "--question", QUESTION, "--max-tokens", ANSWER_TOKENS, "--temperature", 0,
                               "--ignore-eos", DOCUMENT)
        self.assertAlmostEqual(float(re.search(r"(-[0-9.]+) nats", ran.out)[1]), nats, delta=1e-3)
        # Each token is computed once.
        self.assertEqual(ran.cost.computed, len(tokens) + len(question) + ANSWER_TOKENS - 1)


if __name__ == "__main__":
    harness.main()
