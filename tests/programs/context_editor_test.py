#!/usr/bin/env python3
"""context_editor: an edit computes what it says, and its logits are as far from a recomputation as it reports."""
import re

import harness
import reference

BEFORE, AFTER = "The keeper of the harbor is called", " Miller. He has a boat and a dog, and the harbor belongs to"
DIGITS = 1e-3


class ContextEditorTest(harness.ProgramTest):
    flags = ("--kv-format", "f32")

    def edit(self, find, replace, recompute=0, before=BEFORE):
        """(tokens computed, the most that it could compute, by how much the logits differ, how it ran)"""
        ran = self.run_program("context_editor", f"--find={find}", f"--replace={replace}", "--recompute", recompute, "--max-tokens", 1,
                               "--ignore-eos", before + find + AFTER)
        counts = re.search(r"\[(\d+) tokens computed instead of (\d+); logits differ by at most ([0-9.]+)", ran.out)
        return int(counts[1]), int(counts[2]), float(counts[3]), ran

    def ids(self, text):
        return reference.tokens_of(harness.BUILD, text) if text else []

    def difference(self, find, replace, recompute):
        """The same edit by the reference: what stays was read with the span in place."""
        before, span, insert, after = (self.ids(text) for text in (BEFORE, find, replace, AFTER))
        end = len(before) + len(span)
        model = reference.Reference()
        for token in before + span + after:
            model.read(token)
        stays = list(range(len(before))) + list(range(end + recompute, end + len(after) - 1))
        first = model.count()
        places = [(token, len(before) + i) for i, token in enumerate(insert)]
        places += [(token, end + i) for i, token in enumerate(after[:recompute])] + [(after[-1], end + len(after) - 1)]
        positions = list(range(first))
        for token, position in places:
            visible = [i for i in stays + list(range(first, model.count())) if positions[i] <= position]
            edited = model.read(token, position, visible)
            positions.append(position)
        model.forget()
        for token in before + insert + after:
            whole = model.read(token)
        return max(abs(a - b) for a, b in zip(edited, whole))

    def test_the_reported_difference_is_that_of_the_reference(self):
        for find, replace, recompute in ((" Mister", " Doctor", 0), (" Mister", " Doctor", 5), (" old Mister", "", 3)):
            computed, _, difference, _ = self.edit(find, replace, recompute)
            self.assertEqual(computed, len(self.ids(replace)) + recompute + 1)
            self.assertGreater(difference, 0.01)
            self.assertAlmostEqual(difference, self.difference(find, replace, recompute), delta=DIGITS)

    def test_all_computed_anew_is_a_recomputation(self):
        for find, replace in ((" Mister", " Doctor"), (" old Mister", ""), (" Mister", " the honorable Doctor")):
            computed, most, difference, _ = self.edit(find, replace, 1000)
            self.assertEqual(computed, most)
            self.assertLess(difference, DIGITS)

    def test_a_longer_replacement_moves_and_computes_what_follows(self):
        computed, most, difference, _ = self.edit(" Mister", " the honorable Doctor", 0)
        self.assertEqual(computed, most)
        self.assertLess(difference, DIGITS)

    def test_the_edit_costs_what_it_says(self):
        before = "In the north. " + BEFORE
        texts = len(self.ids(before)), len(self.ids(" Mister")), len(self.ids(" Doctor")), len(self.ids(AFTER))
        computed, most, _, ran = self.edit(" Mister", " Doctor", 2, before)
        self.assertEqual(most, texts[2] + texts[3])
        # The text as it was; the edit, and the token drawn after it; the recomputation, which finds whole pages of the
        # beginning, and its last token once more to go on.
        self.assertEqual(ran.cost.computed + ran.cost.found, texts[0] + texts[1] + texts[3] + computed + 1 + texts[0] + most + 1)
        self.assertEqual(ran.cost.found, texts[0] // 16 * 16)

    def test_a_span_that_is_not_there_is_named(self):
        ran = self.run_program("context_editor", "--find", "nowhere", "A text without it.", succeeds=False)
        self.assertIn("nowhere", ran.err)


if __name__ == "__main__":
    harness.main()
