#!/usr/bin/env python3
"""The programs that stand for a technique are a page: their code lines and their modules have a limit.

A code line is neither blank nor a comment, in any file of the program's folder but its README; the folders are
formatted as the repository is. A helper of the SDK that exists for one program alone would count too; there is none:
what the programs call is documented in sdk/cpp/README.md and tested there by itself.
"""
import pathlib
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = SOURCE / "build" / "release"
WASM_BYTES_MAX = 300 * 1024
CODE_LINES_MAX = {
    "text_completion": 38, "best_of_n": 25, "beam_search": 98, "attention_sink": 40, "tree_of_thought": 100,
    "agent_react": 60, "json_extract": 40, "speculative_decoding": 60, "ebnf_decoding": 60,
    "recursion_of_thought": 106, "graph_of_thought": 87, "skeleton_of_thought": 82, "prefix_caching": 45,
    "modular_caching": 72, "watermarking": 60, "output_validation": 52, "jacobi_decoding": 88,
    "windowed_attention": 40, "hierarchical_attention": 60, "agent_codeact": 80, "agent_swarm": 95,
}
LARGE = {"agent_codeact"}  # A whole engine of JavaScript is in it.


def code_lines(program):
    """Lines that are neither blank nor a comment; the programs have no comments in other forms."""
    count = 0
    for path in sorted((SOURCE / "inferlets" / program).iterdir()):
        if path.suffix == ".md":
            continue
        text = path.read_text()
        assert "/*" not in text, f"{path} has a comment in a form that this test does not know"
        count += sum(1 for line in map(str.strip, text.splitlines()) if line and not line.startswith("//"))
    return count


class SizeTest(unittest.TestCase):

    def test_a_program_is_a_page(self):
        for program, limit in CODE_LINES_MAX.items():
            with self.subTest(program=program):
                self.assertLessEqual(code_lines(program), limit)

    def test_a_module_is_small(self):
        for program in sorted(set(CODE_LINES_MAX) - LARGE):
            with self.subTest(program=program):
                self.assertLessEqual((BUILD / "inferlets" / f"{program}.wasm").stat().st_size, WASM_BYTES_MAX)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
