#!/usr/bin/env python3
"""modular_caching: modules are computed once each, whatever stands beside them, and joined as the mask of modules says."""
import re

import harness
import reference

CLOCKS = "The museum of Brenn has the oldest clock of the country, which was built in 1410."
BOOKS = "The market of Tarn is open on Sundays, and sells old books."
BREAD = "The bakery of Lund bakes bread of rye alone."
QUESTION = "Where is the oldest clock?"
ANSWER_TOKENS = 24


class ModularCachingTest(harness.ProgramTest):
    flags = ("--kv-format", "f32")

    def ask(self, *modules, count=1):
        return self.run_program("modular_caching", *(f"--module={each}" for each in modules), "--max-tokens", count,
                                "--temperature", 0, "--ignore-eos", QUESTION)

    def count(self, text):
        return len(reference.tokens_of(harness.BUILD, text))

    def test_the_text_is_that_of_the_mask_of_modules(self):
        model = reference.Reference()
        longest = 0
        for text in (CLOCKS, BOOKS):
            first = model.count()
            for position, token in enumerate(reference.tokens_of(harness.BUILD, text)):
                model.read(token, position, range(first, model.count()))
            longest = max(longest, model.count() - first)
        start = model.count()
        for token in reference.tokens_of(harness.BUILD, QUESTION):
            logits = model.read(token, longest + model.count() - start)
        nats = 0.0
        for _ in range(ANSWER_TOKENS):
            token = reference.best(logits)
            nats += reference.log_probability(logits, token)
            logits = model.read(token, longest + model.count() - start)
        found = re.search(r"(-[0-9.]+) nats", self.ask(CLOCKS, BOOKS, count=ANSWER_TOKENS).out)[1]
        self.assertAlmostEqual(float(found), nats, delta=1e-3)

    def test_a_module_is_computed_once_in_any_place(self):
        first, second = "One. " + CLOCKS, "One. " + BOOKS
        own = self.count(QUESTION)
        together = self.ask(first, second).cost
        self.assertEqual(together.computed, self.count(first) + self.count(second) + own)
        self.assertEqual(self.ask(second, first).cost.computed, own)
        self.assertEqual(self.ask(BREAD, second).cost.computed, self.count(BREAD) + own)
        self.assertEqual(self.ask(first).cost.computed, own)


if __name__ == "__main__":
    harness.main()
