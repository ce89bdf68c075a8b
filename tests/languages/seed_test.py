"""A launch can fix the random numbers of a program. In each language a seed gives the same bytes each time, and another
seed gives different ones."""
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "rust"))
import rust_harness  # noqa: E402
import harness  # noqa: E402
import beside  # noqa: E402

# Each program sends bytes of `runtime`, those of the language's own source, the tokens of a sampled text, and the bytes
# of a child.
LINES = ("bytes", "own", "tokens", "child")


class SeedTest(harness.ProgramTest):
    def said(self, program, *flags):
        ran = self.run_program(program, "random", flags=flags)
        lines = dict(line.split(" ", 1) for line in ran.out.splitlines())
        self.assertEqual(tuple(lines), LINES, ran.out)
        return lines

    def programs(self):
        yield "C++", harness.BUILD / "tests" / "languages" / "rows.wasm"
        yield "JavaScript", HERE / "rows.js"
        if rust_harness.COMPILER:
            yield "Rust", rust_harness.built(HERE / "rust", "rows")

    def test_the_same_seed_gives_the_same_bytes_and_another_gives_different_ones(self):
        for language, program in self.programs():
            with self.subTest(language):
                seven, again, eight = (self.said(program, "--seed", seed) for seed in ("7", "7", "8"))
                self.assertEqual(seven, again)
                for line in ("bytes", "own", "child"):
                    self.assertNotEqual(seven[line], eight[line], line)
                self.assertNotEqual(seven["bytes"], seven["child"], "a child has numbers of its own")

    def test_without_a_seed_each_launch_has_different_ones(self):
        for language, program in self.programs():
            with self.subTest(language):
                first, second = self.said(program), self.said(program)
                self.assertNotEqual(first["bytes"], second["bytes"])
                self.assertEqual(first["tokens"], second["tokens"], "tokens are drawn by the seed of their options")

    def test_a_local_run_takes_the_seed_too(self):
        words = [harness.BUILD / "quire", "run", HERE / "rows.js", "--model", beside.TINY, "--no-store", "--seed", "7", "--", "random"]
        first, second = (subprocess.run(words, capture_output=True, text=True, env=beside.environment(), timeout=120, check=True).stdout
                         for _ in range(2))
        self.assertEqual(first, second)


if __name__ == "__main__":
    harness.main()
