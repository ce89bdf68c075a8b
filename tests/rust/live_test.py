#!/usr/bin/env python3
"""Tests that an event stream which a program keeps alive has a ping in each interval without an event."""
import urllib.request

import rust_harness
import harness


@rust_harness.needs_rust
class LiveTest(harness.ProgramTest):

    @classmethod
    def setUpClass(cls):
        module = rust_harness.built(rust_harness.SOURCE / "tests" / "rust" / "live")
        cls.flags = ("--endpoint", f"POST /slow={module}")
        super().setUpClass()

    def test_pings_stand_between_events(self):
        url = self.server.url.replace("ws://", "http://") + "/slow"
        with urllib.request.urlopen(urllib.request.Request(url, b""), timeout=60) as answer:
            blocks = answer.read().decode().split("\n\n")
        self.assertEqual([each for each in blocks if each != ": ping"], ["data: one", "event: end\ndata: two", ""])
        at = blocks.index("data: one")
        self.assertIn(at, (2, 3))
        self.assertIn(len(blocks) - at, (4, 5))


if __name__ == "__main__":
    rust_harness.main()
