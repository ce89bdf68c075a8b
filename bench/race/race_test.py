#!/usr/bin/env python3
"""Tests of race.py that need no model: what peers print, and what the roofs allow."""
import argparse
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import race

TABLE = """main: n_kv_max = 256
|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
|    16 |     32 |    4 |    192 |    0.108 |  1186.64 |    3.079 |    41.57 |    3.187 |    80.32 |
"""
ARGS = argparse.Namespace(prompt=512, decode=32, depths="0,2048", streams="1,4", backend="avx2", peer=None)


class Race(unittest.TestCase):
    def test_the_last_row_of_a_peers_table_is_read_by_the_names_of_its_columns(self):
        row = race.last_row(TABLE)
        self.assertEqual((row["B"], row["S_PP"], row["S_TG"]), (4, 1186.64, 41.57))

    def test_a_table_is_read_where_the_peer_prints_its_errors(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "llama-batched-bench"
            program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{TABLE}END\n")
            program.chmod(0o755)
            peer = race.Peer(argparse.Namespace(model="m.gguf", threads=1), pathlib.Path(folder), [])
            self.assertEqual(peer.batch(16, 4, 32)["S_TG"], 41.57)

    def test_each_depth_and_each_count_of_streams_is_measured_once(self):
        self.assertEqual(list(race.cases(ARGS)), [("decode at 0", 512, 1, 0), ("decode at 2048", 16, 1, 2048),
                                                  ("4 streams", 16, 4, 16)])

    def test_the_roofs_allow_multiplications_of_a_prompt_and_bytes_of_a_token(self):
        facts = {"parameters_per_token": 1_100_000, "embedding_width": 1_000, "vocabulary_size": 100,
                 "weight_bytes_per_token": 1_000_000, "kv_bytes_per_token": 100}
        allowed = race.shares(ARGS, facts, [{"memory_gb": 1.0, "peak_gops": {"avx2": 2.0}}], "avx2")
        self.assertEqual(allowed["prefill 512"], 1000)  # 2e9 over twice a million parameters.
        self.assertAlmostEqual(allowed["decode at 0"], 1e9 / (1e6 + 32 * 100))
        self.assertAlmostEqual(allowed["4 streams"], 4e9 / (1e6 + 4 * 32 * 100))

    def test_a_step_reads_and_writes_the_state_of_each_stream(self):
        facts = {"parameters_per_token": 1_100_000, "embedding_width": 1_000, "vocabulary_size": 100,
                 "weight_bytes_per_token": 1_000_000, "kv_bytes_per_token": 100, "state_bytes": 50_000}
        allowed = race.shares(ARGS, facts, [{"memory_gb": 1.0, "peak_gops": {"avx2": 2.0}}], "avx2")
        self.assertAlmostEqual(allowed["decode at 0"], 1e9 / (1e6 + 32 * 100 + 100_000))
        self.assertAlmostEqual(allowed["4 streams"], 4e9 / (1e6 + 4 * (32 * 100 + 100_000)))

    def test_a_step_reads_all_but_the_experts_and_those_that_its_streams_choose(self):
        facts = {"parameters_per_token": 1_100_000, "embedding_width": 1_000, "vocabulary_size": 100,
                 "weight_bytes_per_token": 300_000, "kv_bytes_per_token": 100,
                 "expert_count": 64, "expert_used_count": 8, "expert_bytes": 1_600_000}
        self.assertAlmostEqual(race.weight_bytes(facts, 1), 100_000 + 200_000)  # 8 of 64 experts.
        self.assertAlmostEqual(race.weight_bytes(facts, 2), 100_000 + 1_600_000 * (1 - (7 / 8) ** 2))
        self.assertLess(race.weight_bytes(facts, 64), 100_000 + 1_600_000)
        allowed = race.shares(ARGS, facts, [{"memory_gb": 1.0, "peak_gops": {"avx2": 2.0}}], "avx2")
        self.assertEqual(allowed["prefill 512"], 1000)
        self.assertAlmostEqual(allowed["decode at 0"], 1e9 / (3e5 + 32 * 100))
        self.assertAlmostEqual(allowed["4 streams"], 4e9 / (race.weight_bytes(facts, 4) + 4 * 32 * 100))

    def test_a_peer_that_is_not_there_is_skipped(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(list(race.peers_of(argparse.Namespace(peer=[f"x={folder}"], backend="avx2"))), [])


if __name__ == "__main__":
    unittest.main()
