#!/usr/bin/env python3
"""watermarking: the detector sees the watermark in 200 tokens, with the right key alone, and none in plain text."""
import math
import re
import statistics

import harness

PLAIN_TEXTS = (
    "The harbor was quiet that evening. The keeper of the lighthouse wrote the day's weather into his book, and then he "
    "went down to the pier, where the last of the boats had come in. There were seven of them, and none had caught much.",
    "A page of the cache holds the keys and values of sixteen tokens. When two programs begin with the same text, they "
    "share its pages, and nothing is computed twice. A program that needs more than there is waits until one is free.",
    "Bread needs flour, water, salt and time. Mix the first three, let the dough rest for a night in a cool place, fold it "
    "four times in the morning, and bake it for forty minutes in an oven that is as hot as yours will go.",
)


class WatermarkingTest(harness.ProgramTest):

    def score(self, *arguments):
        """(z, how many pairs were looked at, the text)"""
        ran = self.run_program("watermarking", *arguments)
        z, pairs = re.findall(r"z = (-?[0-9.]+) of (\d+) pairs", ran.out)[-1]
        return float(z), int(pairs), ran.out.rsplit("\n[", 1)[0]

    def test_a_watermarked_text_is_recognized_in_200_tokens(self):
        for seed in range(4):
            z, pairs, _ = self.score("--seed", seed)
            self.assertGreater(pairs, 150)
            self.assertGreater(z, 4.0)

    def test_texts_without_a_bias_score_as_chance_does(self):
        scores = [self.score("--seed", seed, "--bias", 0)[0] for seed in range(24)]
        self.assertLess(abs(statistics.mean(scores)), 3 / math.sqrt(len(scores)))
        self.assertLess(abs(statistics.stdev(scores) - 1.0), 0.5)
        self.assertLess(max(map(abs, scores)), 4.0)

    def test_plain_text_is_not(self):
        for text in PLAIN_TEXTS:
            z, pairs, _ = self.score("--detect", text)
            self.assertGreater(pairs, 60)
            self.assertLess(abs(z), 2.0)

    def test_the_detector_needs_the_text_and_the_key_alone(self):
        _, _, text = self.score("--key", 7)
        self.assertGreater(self.score("--detect", "--key", 7, "--", text)[0], 4.0)
        self.assertLess(abs(self.score("--detect", "--key", 8, "--", text)[0]), 2.0)


if __name__ == "__main__":
    harness.main()
