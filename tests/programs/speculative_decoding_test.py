#!/usr/bin/env python3
"""speculative_decoding: it writes what text_completion --chat writes, in fewer batches if its guesses are right."""
import re
import shutil

import harness

PROMPT = "{}: the cat sat on the mat, the dog sat on the log, the cat sat on the mat, the dog sat on the log"


def both(test, prompt, *options, draft=()):
    """The costs of plain generation and of drafting, which must write the same; and the tokens and passes of drafting."""
    plain = test.run_program("text_completion", "--chat", *options, prompt)
    drafted = test.run_program("speculative_decoding", *options, *draft, prompt)
    test.assertEqual(drafted.out, plain.out)
    tokens, passes = re.search(r"(\d+) tokens in (\d+) passes", drafted.err).groups()
    return plain.cost, drafted.cost, int(tokens), int(passes)


class SpeculativeDecodingTest(harness.ProgramTest):

    @classmethod
    def models(cls, folder):
        """A second model under a name of its own. It is the same model, so that all that it drafts should stand."""
        large = harness.tiny_chat_model(folder)
        small = large.with_name("tiny_draft")
        shutil.copytree(large, small)
        return [large, small]

    def test_the_text_is_that_of_plain_generation(self):
        for number, (options, draft) in enumerate([
                ((), ()), (("--max-tokens", 1), ()), (("--max-tokens", 0), ()), ((), ("--drafts", 64)),
                (("--temperature", 0.8, "--seed", 7), ()), (("--temperature", 0.8, "--seed", 8), ("--drafts", 1)),
                (("--temperature", 1.5, "--top-k", 4, "--seed", 9), ()),
                (("--temperature", 0.8, "--seed", 3, "--stop", "e"), ("--draft-model", "tiny_draft"))]):
            with self.subTest(options=options, draft=draft):
                both(self, PROMPT.format(number), *options, draft=draft)

    def test_drafts_of_a_model_stand_if_it_is_as_good(self):
        for options in (("--temperature", 0), ("--temperature", 0.8, "--seed", 4)):
            prompt = f"Draw {options[1]}: words that nobody has put in this order before"
            draft = ("--draft-model", "tiny_draft", "--drafts", 7)
            _, _, tokens, passes = both(self, prompt, "--max-tokens", 64, "--ignore-eos", *options, draft=draft)
            self.assertEqual(tokens, 64)
            self.assertLess(passes, 64 / 4)  # Eight tokens a pass, where the model drafts.

    def test_a_model_that_is_not_there_is_an_error_with_its_name(self):
        ran = self.run_program("speculative_decoding", "--draft-model", "nothing", "Words", succeeds=False)
        self.assertIn("nothing", ran.err)


class RepetitiveTextTest(harness.ProgramTest):

    @classmethod
    def models(cls, folder):
        return [harness.without_attention(harness.tiny_chat_model(folder))]

    def test_prompt_lookup_takes_fewer_batches(self):
        plain, drafted, tokens, passes = both(self, PROMPT.format("Repeat"), "--max-tokens", 400, "--ignore-eos")
        self.assertEqual(tokens, 400)
        self.assertLess(passes, 400 / 4)
        self.assertLess(drafted.batches, plain.batches / 4)


if __name__ == "__main__":
    harness.main()
