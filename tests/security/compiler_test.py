#!/usr/bin/env python3
"""The sandbox of the process that compiles what clients upload: on this machine, and on one whose kernel gives no namespaces."""
import os
import subprocess
import time
import unittest

import attack

# A user namespace in which no further one can be made, as on a machine that forbids them.
WITHOUT_NAMESPACES = ("unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh")


def can_forbid_namespaces():
    return subprocess.run([*WITHOUT_NAMESPACES, "true"], stderr=subprocess.DEVNULL).returncode == 0


def children(process):
    return [int(each) for task in os.listdir(f"/proc/{process}/task")
            for each in open(f"/proc/{process}/task/{task}/children").read().split()]


def status(process):
    return dict(line.split(":\t", 1) for line in open(f"/proc/{process}/status").read().splitlines() if ":\t" in line)


class CompilerTest(unittest.TestCase):
    def start(self, *flags, prefix=()):
        server = attack.Server(*flags, prefix=prefix)
        self.addCleanup(server.__exit__)
        return server

    def parts(self, server):
        return {name.partition('"')[2][:-2]: int(value) for name, value in server.metrics().items()
                if name.startswith("quire_compile_sandbox")}

    def test_its_process_has_no_privilege_network_or_file(self):
        server = self.start("--compile-sandbox", "require")
        self.assertEqual(self.parts(server), {"namespaces": 1, "landlock": 1, "seccomp": 1})
        self.assertNotIn("sandbox", server.log())
        self.assertTrue(attack.until(lambda: children(server.process.pid)))
        time.sleep(0.5)  # It raises its wall before it waits for a module.
        (child,) = children(server.process.pid)
        state = status(child)
        self.assertEqual((state["NoNewPrivs"], state["Seccomp"], int(state["CapEff"], 16)), ("1", "2", 0))
        for space in ("user", "mnt", "net", "ipc"):
            self.assertNotEqual(os.readlink(f"/proc/{child}/ns/{space}"), os.readlink(f"/proc/self/ns/{space}"))

    @unittest.skipUnless(can_forbid_namespaces(), "this user cannot forbid namespaces")
    def test_a_machine_that_forbids_namespaces_is_reported_and_refused_if_the_sandbox_is_required(self):
        server = self.start(prefix=WITHOUT_NAMESPACES)
        self.assertEqual(self.parts(server), {"namespaces": 0, "landlock": 1, "seccomp": 1})
        self.assertIn("this machine lacks namespaces (No space left on device)", server.log())
        with self.assertRaisesRegex(RuntimeError, "--compile-sandbox require: this machine lacks namespaces"):
            attack.Server("--compile-sandbox", "require", prefix=WITHOUT_NAMESPACES)


if __name__ == "__main__":
    attack.main()
