#!/usr/bin/env python3
"""What all tenants of a server share is counted: processor time, memory of programs and the disk of the store."""
import os
import signal
import subprocess
import sys
import time
import unittest

import attack

GUEST = attack.GUESTS / "taker.wasm"


class ProcessorTime(unittest.TestCase):
    """A program is charged the time of its thread, whatever the clock on the wall says."""

    def test_a_server_that_stood_still_ends_no_program(self):
        with attack.Server("--limit", "cpu_ns_between_waits_max=2s", GUEST) as server, attack.WebSocket(server) as socket:
            socket.launch("taker", "spin", "300")
            while socket.receive()[0].get("event") != "message":
                pass
            os.kill(server.process.pid, signal.SIGSTOP)
            time.sleep(3)
            os.kill(server.process.pid, signal.SIGCONT)
            end = socket.end()
            self.assertEqual(end["end"], "finished", end)
            self.assertGreater(end["duration_ns"], 3e9)
            self.assertLess(end["cpu_ns"], 2e9)

    def test_busy_neighbours_are_not_charged_to_a_program(self):
        busy = [sys.executable, "-c", "import time\nend = time.time() + 20\nwhile time.time() < end: pass"]
        with attack.Server(GUEST) as server, attack.WebSocket(server) as socket:
            neighbours = [subprocess.Popen(busy) for _ in range(3 * (os.cpu_count() or 1))]
            try:
                before = server.processor_seconds()
                socket.launch("taker", "spin", "300")
                end = socket.end()
                used = server.processor_seconds() - before
            finally:
                for each in neighbours:
                    each.kill()
                    each.wait()
            self.assertLessEqual(end["cpu_ns"] / 1e9, 1.25 * used + 0.1, end)


if __name__ == "__main__":
    attack.main()
