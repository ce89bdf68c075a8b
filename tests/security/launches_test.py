#!/usr/bin/env python3
"""One tenant launches a script that takes 100 MiB, again and again, beside another tenant's completions.

QUIRE_LAUNCHES is how many times, 40 without it. It prints what it measured."""
import collections
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import threading
import time
import unittest

import attack

LAUNCH_COUNT = int(os.environ.get("QUIRE_LAUNCHES", "40"))
CLIENT_COUNT = 8
ROW_MIB = 512
MEBIBYTES = 100
PROGRAM_MIB_MAX = 128  # memory_bytes_max: a program is charged after each run, and may grow so far within one.
SCRIPT = """import { session } from "quire";
export default async function program() {
  const all = [];
  for (let i = 0; i < %d; i++) all.push(new Uint8Array(1 << 20).fill(i + 1));
  session.send("held");
  await new Promise((go) => setTimeout(go, 100));
  return all.length;
}
""" % MEBIBYTES
COMPLETION = json.dumps({"model": "tiny_llama", "prompt": "one two three", "max_tokens": 24, "temperature": 0}).encode()


class LaunchesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        keys = attack.key_file(cls)
        cls.victim = attack.add_key(keys, "victim", "--tenant", "1")
        cls.taker = attack.add_key(keys, "taker", "--tenant", "2")
        cls.operator = attack.add_key(keys, "operator", "--rights", "operate")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "hold.js"
            path.write_text(SCRIPT)
            subprocess.run([attack.BUILD / "quire", "build", path, "-o", path.with_suffix(".wasm")], check=True,
                           stdout=subprocess.DEVNULL, env=attack.environment())
            cls.script = path.with_suffix(".wasm").read_bytes()
        cls.program = "sha256:" + hashlib.sha256(cls.script).hexdigest()
        cls.server = attack.Server("--keys", keys, "--limit", f"program_memory_bytes_max={ROW_MIB}MiB")
        cls.addClassCleanup(cls.server.__exit__)
        with attack.WebSocket(cls.server, cls.taker) as socket:
            attack.upload(socket, cls.script)

    def setUp(self):
        self.left = collections.deque(range(LAUNCH_COUNT))
        self.ends = collections.Counter()
        self.memory, self.charged = [], []
        self.is_over = threading.Event()

    def metric(self, name):
        return self.server.metrics(self.operator)[name]

    def complete(self):
        """The seconds of a completion of the victim's, and its text."""
        begin = time.monotonic()
        headers = [*attack.bearer(self.victim), ("Content-Type", "application/json")]
        status, head, body = attack.http(self.server, "POST", "/v1/completions", headers, COMPLETION)
        self.assertEqual(status, 200, (head, body, self.server.log()))
        return time.monotonic() - begin, json.loads(body)["choices"][0]["text"]

    def launch(self):
        """A client of the other tenant: one launch after the other, while there are some left."""
        with attack.WebSocket(self.server, self.taker) as socket:
            while True:
                try:
                    self.left.pop()
                except IndexError:
                    return
                socket.launch(self.program)
                end = socket.end()
                self.ends[end["end"] if end["end"] == "finished" else end.get("message", "")[:26]] += 1

    def watch(self):
        while not self.is_over.wait(0.05):
            self.memory.append(self.server.resident_mib())
            self.charged.append(self.metric("quire_program_memory_bytes"))

    def test_launches_that_take_memory_fail_no_completion_of_another_tenant(self):
        alone = [self.complete() for _ in range(20)]
        before = self.server.resident_mib()
        clients = [threading.Thread(target=self.launch) for _ in range(CLIENT_COUNT)]
        watcher = threading.Thread(target=self.watch)
        for each in [*clients, watcher]:
            each.start()
        beside = []
        while any(each.is_alive() for each in clients):
            beside.append(self.complete())
        self.is_over.set()
        for each in [*clients, watcher]:
            each.join()
        median = lambda times: statistics.median(seconds for seconds, _ in times) * 1000
        print(f"{LAUNCH_COUNT} launches: {dict(self.ends)}; {len(beside)} completions, median {median(alone):.0f} ms alone and "
              f"{median(beside):.0f} beside; charged at most {max(self.charged) / 2**20:.0f} of {ROW_MIB} MiB; the server has "
              f"{before:.0f} MiB before, {max(self.memory):.0f} at most", flush=True)
        self.assertEqual({text for _, text in alone + beside}, {alone[0][1]}, "the bytes of alone")
        self.assertEqual(sum(self.ends.values()), LAUNCH_COUNT)
        self.assertLessEqual(set(self.ends), {"finished", "program_memory_bytes_max: "})
        self.assertGreater(self.ends["finished"], 0)
        self.assertLessEqual(max(self.charged), ROW_MIB << 20)
        self.assertLess(max(self.memory) - before, ROW_MIB + PROGRAM_MIB_MAX)
        self.assertTrue(attack.until(lambda: self.metric("quire_program_memory_bytes") == 0))
        self.assertTrue(attack.until(lambda: self.server.resident_mib() - before < MEBIBYTES))


if __name__ == "__main__":
    attack.main()
