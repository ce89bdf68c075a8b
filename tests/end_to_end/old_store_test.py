"""A store that an earlier quire wrote is opened by this one, which finds its tokens and draws the same ones after them."""
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop()).resolve() if len(sys.argv) > 1 else ROOT / "build/release"
GOLDEN = ROOT / "tests/golden"
sys.path.insert(0, str(GOLDEN))

from make_old_store import go_on  # noqa: E402

CASES = [(path, model) for path in sorted(GOLDEN.glob("store_*.json")) for model in json.loads(path.read_text())["models"]]


class OldStores(unittest.TestCase):
    def each_model_of_each_store(self, check):
        self.assertTrue(CASES, f"no store_*.json in {GOLDEN}")
        for path, model in CASES:
            recorded = json.loads(path.read_text())
            with self.subTest(store=path.stem, model=model), tempfile.TemporaryDirectory() as folder:
                store = pathlib.Path(folder, "store")
                shutil.copytree(path.with_suffix(""), store)
                (store / "sharing.secret").chmod(0o600)  # Git does not keep this mode, and the engine requires it.
                check(store, model, recorded["tokens"], recorded["models"][model])

    def answer(self, store, model, *options):
        done, answer = go_on(BUILD / "quire", BUILD / "tests/end_to_end/saved_text.wasm", GOLDEN / model, store, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return answer

    def test_the_tokens_of_a_prompt_are_found_and_the_same_tokens_follow(self):
        def check(store, model, tokens, recorded):
            answer = self.answer(store, model, "--open", model, "--text", json.dumps(tokens))
            self.assertEqual(answer, recorded["prompt"])
            self.assertEqual(answer["found_tokens"], len(tokens))
            # One pass for each drawn token; that for the first computes the last token of the prompt again.
            self.assertEqual(answer["computed_tokens"], len(answer["drawn"]))

        self.each_model_of_each_store(check)

    def test_a_saved_context_goes_on_with_the_same_tokens(self):
        def check(store, model, tokens, recorded):
            answer = self.answer(store, model, "--open", model)
            self.assertEqual(answer, recorded["saved context"])
            self.assertEqual(answer["opened_tokens"], len(tokens) + len(answer["value"]))

        self.each_model_of_each_store(check)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
