"""The client openai for JavaScript, whose cases are in openai_client.mjs."""
import pathlib
import re
import subprocess
import unittest

import clients
import harness

CASES = pathlib.Path(__file__).resolve().parent / "openai_client.mjs"


@unittest.skipUnless(clients.NODE.exists() and (clients.NODE_MODULES / "openai").exists(),
                     "no client openai for JavaScript: tools/fetch_clients.sh installs it")
class JavaScriptTest(clients.SmolTest):
    def test_each_case_of_the_client_passes(self):
        ran = subprocess.run([clients.NODE, "--test-reporter=tap", CASES, clients.NODE_MODULES, self.url, self.name],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240)
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertEqual(int(re.search(r"^# pass (\d+)$", ran.stdout, re.M)[1]), CASES.read_text().count("\ntest("))


if __name__ == "__main__":
    harness.main()
