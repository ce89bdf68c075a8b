#!/usr/bin/env python3
"""A program gives the same bytes for the same seed, in an empty server and beside all others."""
import harness

PROGRAMS = {
    "agent_swarm": ("--max-tokens", 8),
    "graph_of_thought": ("--max-tokens", 8),
    "mcts": ("--max-tokens", 8, "--width", 2),
    "output_validation": ("--max-tokens", 24, "--never", "pages"),
    "prefix_tree": ("--max-tokens", 8, "--temperature", 1),
    "prompt_repair": ("--max-tokens", 8),
    "recursion_of_thought": ("--max-tokens", 8, "--divide-at", 0),
    "self_consistency": ("--max-tokens", 8, "--temperature", 1, "--answer", "[01]"),
    "skeleton_of_thought": ("--max-tokens", 8, "--temperature", 1),
}
COPIES = 3


class SameBytesTest(harness.ProgramTest):

    def test_in_an_empty_and_in_a_busy_server(self):
        alone = {name: self.run_program(name, *words).out for name, words in PROGRAMS.items()}
        started = [(name, self.server.start(harness.BUILD / "inferlets" / f"{name}.wasm", words))
                   for _ in range(COPIES) for name, words in PROGRAMS.items()]
        for name, process in started:
            code, out, err = harness.beside.end_of(process)
            self.assertEqual((name, code, out), (name, 0, alone[name]), err)


if __name__ == "__main__":
    harness.main()
