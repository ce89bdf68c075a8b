#!/usr/bin/env python3
"""Tests that processor time, the memory of programs and the disk of the store are counted, and shared out by tenant."""
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


class MemoryOfPrograms(unittest.TestCase):
    """Two tenants share 96 MiB for their programs, and one wants all of it."""

    @classmethod
    def setUpClass(cls):
        keys = attack.key_file(cls)
        cls.victim = attack.add_key(keys, "victim", "--tenant", "1")
        cls.taker = attack.add_key(keys, "taker", "--tenant", "2")
        cls.operator = attack.add_key(keys, "operator", "--rights", "operate")
        cls.server = attack.Server("--keys", keys, "--limit", "program_memory_bytes_max=96MiB", "--grace", "1", GUEST)
        cls.addClassCleanup(cls.server.__exit__)

    def test_a_tenant_gets_its_share_and_another_one_is_served(self):
        before = self.server.resident_mib()
        holders = []
        while len(holders) < 20:
            holders.append(attack.WebSocket(self.server, self.taker))
            self.addCleanup(holders[-1].socket.close)
            if not self.holds(holders[-1], "10", patience=2):
                break
        self.assertIn(len(holders), (5, 6), "half of the memory, and the launch that waits")
        self.assertEqual(self.metric('quire_instances{stage="queued"}'), 1)
        mine = [attack.WebSocket(self.server, self.victim) for _ in range(2)]
        for each in mine:
            self.addCleanup(each.socket.close)
            self.assertTrue(self.holds(each, "15"))
        self.assertLessEqual(self.metric("quire_program_memory_bytes"), 96 << 20)
        self.assertLess(self.server.resident_mib() - before, 110)
        holders[0].socket.close()
        self.assertTrue(attack.until(lambda: self.metric('quire_instances{stage="queued"}') == 0, 30), "its grace of a second")
        for each in holders + mine:
            each.socket.close()
        self.assertTrue(attack.until(lambda: self.metric("quire_program_memory_bytes") == 0, 30))

    def test_by_default_all_programs_have_at_most_half_of_the_machine(self):
        with open("/proc/meminfo") as file:
            machine = next(int(line.split()[1]) << 10 for line in file if line.startswith("MemTotal"))
        with attack.Server(GUEST) as server:
            most = server.metrics()["quire_program_memory_bytes_max"]
        self.assertLessEqual(most, machine / 2)
        self.assertGreaterEqual(most, 128 << 20, "what one program may grow to")

    def metric(self, name):
        return self.server.metrics(self.operator)[name]

    def holds(self, socket, mebibytes, patience=attack.PATIENCE):
        """Whether a program says in time that it holds so much."""
        socket.launch("taker", "hold", mebibytes)
        socket.socket.settimeout(patience)
        try:
            while True:
                head, data = socket.receive()
                self.assertNotEqual(head.get("event"), "ended", head)
                if data == b"held":
                    return True
        except TimeoutError:
            return False


class DiskOfTheStore(unittest.TestCase):
    """Two tenants share 8 MiB for their snapshots, and one saves all that it may."""

    def test_a_tenant_that_saves_all_it_may_leaves_room_to_another(self):
        keys = attack.key_file(self)
        victim = attack.add_key(keys, "victim", "--tenant", "1")
        taker = attack.add_key(keys, "taker", "--tenant", "2")
        small = attack.add_key(keys, "small", "--tenant", "3")
        with attack.Server("--keys", keys, "--limit", "snapshot_bytes_total_max=8MiB", "--tenant", "3=snapshots:300k", GUEST,
                           has_store=True) as server:
            counts = {}
            for key in (small, taker, victim):
                with attack.WebSocket(server, key) as socket:
                    socket.launch("taker", "save", "4000")
                    end = socket.end()
                    self.assertIn("snapshot_bytes_total_max", end["message"])
                with attack.WebSocket(server, key) as socket:
                    socket.launch("taker", "put", "60000")
                    self.assertEqual(socket.end()["exit_code"], 0)
                counts[key] = server.folder_bytes("store")
            self.assertLess(counts[small], 2 << 20)
            self.assertLess(counts[taker], 7 << 20)
            self.assertGreater(counts[victim], counts[taker] + (1 << 20))
            self.assertLess(counts[victim], 12 << 20)


if __name__ == "__main__":
    attack.main()
