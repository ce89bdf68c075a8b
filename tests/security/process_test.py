#!/usr/bin/env python3
"""The server's process gives up what it does not need: core dumps, which would hold keys, and new privileges."""
import pathlib
import re
import unittest

import attack


class ProcessTest(unittest.TestCase):
    def test_writes_no_core_dump_and_gets_no_new_privileges(self):
        with attack.Server() as server:
            process = pathlib.Path(f"/proc/{server.process.pid}")
            self.assertRegex((process / "limits").read_text(), r"Max core file size\s+0\s+0\s")
            self.assertEqual(re.search(r"NoNewPrivs:\s*(\d)", (process / "status").read_text())[1], "1")


if __name__ == "__main__":
    attack.main()
