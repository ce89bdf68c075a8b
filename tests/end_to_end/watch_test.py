#!/usr/bin/env python3
"""watch_test.py BUILD_FOLDER: `quire run --watch` as its user sees it."""

import os
import pathlib
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from terminal import Terminal  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop())
TIMEOUT_SECONDS = 60  # The SDK may have to be compiled first.

SOURCE = """#include "quire/quire.h"
#include "text.h"
using namespace quire;
Task<> program(std::vector<std::string>) {
  co_await session::send(kText);
  if (kWaits) co_await sleep(std::chrono::hours(1));
}
QUIRE_MAIN(program)
"""


def header(text, waits="false"):
    return f'constexpr const char* kText = "{text}\\n";\nconstexpr bool kWaits = {waits};\n'


class Watch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.source = pathlib.Path(self.folder.name, "program.cpp")
        self.header = pathlib.Path(self.folder.name, "text.h")
        self.source.write_text(SOURCE)
        self.lines = queue.Queue()

    def start(self, *command):
        self.process = subprocess.Popen(
            [BUILD / "quire", "run", "--watch", *command, "--no-store", "--model", ROOT / "tests/golden/tiny_llama"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(self.end)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def until(self, text):
        seen = []
        end = time.monotonic() + TIMEOUT_SECONDS
        while not seen or text not in seen[-1]:
            try:
                seen.append(self.lines.get(timeout=max(end - time.monotonic(), 0)))
            except queue.Empty:
                self.fail(f"no {text!r} in {seen}")

    def test_ctrl_c_leaves_the_prompt_of_the_shell_a_line_of_its_own(self):
        module = pathlib.Path(self.folder.name, "program.wasm")
        module.write_text("not a module")
        watch = Terminal([BUILD / "quire", "run", "--watch", module, "--no-store"], dict(os.environ))
        watch.wait_for("waiting for a change of ")
        watch.write("\x03")
        self.assertEqual(watch.end(), 0, watch.seen)
        self.assertTrue(watch.seen.endswith("^C\n"), watch.seen)

    def test_a_change_of_a_header_runs_the_program_again(self):
        self.header.write_text("wrong\n")
        self.start(self.source)
        self.until("error")
        self.until("waiting for a change")
        self.header.write_text(header("two"))
        self.until("text.h changed")
        self.until("two")
        self.header.write_text("wrong\n")
        self.until("error")
        self.until("waiting for a change")
        self.header.write_text(header("three", waits="true"))
        self.until("three")
        self.header.write_text(header("four"))  # The run before has not ended.
        self.until("four")
        self.until("waiting for a change")
        self.process.send_signal(signal.SIGINT)
        self.assertEqual(self.process.wait(timeout=TIMEOUT_SECONDS), 0)

    def test_a_signal_ends_the_program_too(self):
        self.header.write_text(header("one", waits="true"))
        self.start(self.source)
        self.until("one")
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(timeout=TIMEOUT_SECONDS), 0)

    def test_what_has_no_file_is_an_error(self):
        self.start("text_completion")
        self.until("no file text_completion")
        self.assertEqual(self.process.wait(timeout=TIMEOUT_SECONDS), 3)


if __name__ == "__main__":
    unittest.main()
