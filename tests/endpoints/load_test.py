"""A small share of bench/serving: streams at once, idle connections, more than the server can do, resets, SIGKILL.

The figures of the full counts are in docs/guide/endpoints.md. Here each scenario must give right answers and give everything back;
what depends on how fast the machine is has a wide margin.
"""
import pathlib
import sys
import unittest

import harness

SERVING = harness.programs.SOURCE / "bench" / "serving"
sys.path.insert(0, str(SERVING))
import scenarios  # noqa: E402
import serving_bench  # noqa: E402


class LoadTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(harness.programs.tempfile.TemporaryDirectory())
        cls.model = harness.tiny_endpoint_model(pathlib.Path(folder))

    def bench(self, scale):
        return serving_bench.Bench(harness.programs.BUILD, str(self.model), scale)

    def test_streams_at_once_have_the_bytes_that_each_has_alone(self):
        found = self.bench(0.1).streams()
        self.assertEqual(found["streams"], 100)
        self.assertGreater(found["open_at_once"], 50)

    def test_an_idle_connection_takes_at_most_32_kib(self):
        self.assertLessEqual(self.bench(0.05).idle()["kib_each"], 32)

    def test_beyond_its_capacity_a_server_goes_on_and_refuses_the_rest(self):
        found = self.bench(0.1).overload()
        self.assertGreater(found["statuses"][200], 0)
        self.assertGreater(found["share_of_peak"], 0.5)

    def test_clients_that_reset_leave_nothing_behind(self):
        found = self.bench(0.02).resets()
        before, after = found["before"], found["after"]
        self.assertEqual([after[each] for each in ("pages", "instances")], [0, 0])
        self.assertLessEqual(after["descriptors"], before["descriptors"])
        self.assertLessEqual(after["mib"], before["mib"] + 16)

    def test_what_was_acknowledged_is_there_after_sigkill(self):
        found = self.bench(0.2).crash()
        self.assertGreater(found["acknowledged"], 2)
        self.assertLess(max(found["serving_again_seconds"]), 10)


if __name__ == "__main__":
    harness.main()
