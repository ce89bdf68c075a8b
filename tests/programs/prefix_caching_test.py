#!/usr/bin/env python3
"""prefix_caching: a run that finds the prefix under its name computes nothing of it."""
import harness
import reference

PREFIX = ("The museum opens at nine. Children under six come in free, and everybody else pays two pounds. "
          "The oldest clock of the town stands in the second room, and it still goes.\n")
QUESTION = "Where is the clock?"
ANSWER_TOKENS = 8
ARGUMENTS = ("--temperature", 0, "--max-tokens", ANSWER_TOKENS, "--ignore-eos")


class PrefixCachingTest(harness.ProgramTest):

    def ask(self, prefix, question=QUESTION):
        return self.run_program("prefix_caching", "--prefix", prefix, *ARGUMENTS, question)

    def test_the_second_run_computes_only_its_question(self):
        text, other = "Read this. " + PREFIX, "How old is it?"
        prefix, question, other_question = (len(reference.tokens_of(harness.BUILD, each)) for each in (text, QUESTION, other))
        first, second = self.ask(text), self.ask(text, other)
        self.assertIn("computed the prefix", first.err)
        self.assertIn("imported the prefix", second.err)
        self.assertEqual(first.cost.computed, prefix + question + ANSWER_TOKENS - 1)
        # The last page of the prefix is not full, and is imported all the same.
        self.assertNotEqual(prefix % 16, 0)
        self.assertEqual(second.cost.computed, other_question + ANSWER_TOKENS - 1)

    def test_the_answer_is_that_of_the_whole_text(self):
        plain = self.run_program("text_completion", *ARGUMENTS, "--prompt", PREFIX + QUESTION)
        self.ask(PREFIX)
        self.assertEqual(self.ask(PREFIX).out, plain.out)

    def test_another_prefix_of_the_same_length_is_not_mistaken_for_it(self):
        self.ask(PREFIX)
        self.assertIn("computed the prefix", self.ask(PREFIX.replace("still goes", "once went")).err)


if __name__ == "__main__":
    harness.main()
