#!/usr/bin/env python3
"""The ledger of a server: what each tenant and key used, over restarts and a kill; and rates by HTTP."""
import asyncio
import http.client
import json
import pathlib
import sys
import tempfile
import time
import unittest

import serving

sys.path[:0] = [str(serving.ROOT / each) for each in ("clients/python", "tests/endpoints")]

import harness  # noqa: E402

import quire  # noqa: E402

ECHO = serving.BUILD / "tests/end_to_end/echo.wasm"
WRITE_SECONDS = 5


class UsageTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.ledger = self.folder / "usage.sqlite"
        self.keys = self.folder / "keys.txt"
        self.alice = serving.add_key(self.keys, "alice", "--tenant", "1")
        self.bob = serving.add_key(self.keys, "bob", "--tenant", "2")
        self.model = harness.tiny_endpoint_model(self.folder)

    def serve(self, *flags):
        server = serving.Server("--keys", self.keys, "--usage", self.ledger, *flags, ECHO, model=self.model)
        self.addCleanup(server.__exit__)
        return server

    def complete(self, server, key, max_tokens):
        connection = http.client.HTTPConnection(server.address, timeout=serving.PATIENCE)
        body = json.dumps({"model": self.model.name, "prompt": [5, 6, 7, 8], "max_tokens": max_tokens,
                           "logit_bias": {str(harness.TEXT): 100}})
        connection.request("POST", "/v1/completions", body, {"Authorization": f"Bearer {key}"})
        response = connection.getresponse()
        answer = response.status, dict(response.getheaders()), json.loads(response.read())
        connection.close()
        return answer

    def rows(self, *flags):
        ran = serving.quire("usage", "--data", self.ledger, "--json", *flags)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return {(each["tenant"], each["key"]): each for each in json.loads(ran.stdout)}

    def test_what_was_used_is_there_by_tenant_and_key_and_survives_a_restart(self):
        server = self.serve()
        for _ in range(2):
            status, _, answer = self.complete(server, self.alice, 3)
            self.assertEqual(status, 200, answer)
            self.assertEqual(answer["usage"]["completion_tokens"], 3)
        self.assertEqual(self.complete(server, self.bob, 5)[0], 200)
        prompt = answer["usage"]["prompt_tokens"]
        self.assertNotIn("usage", server.stop())
        rows = self.rows()
        self.assertEqual(set(rows), {(1, "alice"), (2, "bob")})
        mine = rows[1, "alice"]
        self.assertEqual((mine["requests"], mine["launches"], mine["tokens_out"]), (2, 2, 6))
        # The last token of an answer is drawn and not asked again, so each answer may have one less.
        self.assertTrue(2 * (prompt - 1) <= mine["tokens_in"] <= 2 * prompt, mine)
        self.assertGreater(mine["seconds"], 0)

        async def talk(server):
            async with quire.Client(server.url, key=self.alice) as client:
                instance = await client.launch("echo")
                await instance.abort()
                await instance.result()
        again = self.serve()
        asyncio.run(asyncio.wait_for(talk(again), serving.PATIENCE))
        again.stop()
        mine = self.rows("--tenant", "1")[1, "alice"]
        self.assertEqual((mine["requests"], mine["launches"], mine["tokens_out"]), (2, 3, 6))
        self.assertEqual(self.rows("--since", "2999-01-01"), {})

    def test_the_log_names_the_tenant_and_the_key_of_each_request(self):
        server = self.serve("--log-format", "json")
        for key in (self.bob, self.alice):
            self.assertEqual(self.complete(server, key, 1)[0], 200)
        events = [json.loads(line) for line in server.stop().splitlines()]
        self.assertEqual([(each["tenant"], each["key"]) for each in events if each["event"] == "request"],
                         [(2, "bob"), (1, "alice")])

    def test_a_server_that_is_killed_has_written_what_was_some_seconds_old(self):
        server = self.serve()
        self.assertEqual(self.complete(server, self.alice, 3)[0], 200)
        end = time.monotonic() + serving.PATIENCE
        while not self.rows():  # While the server runs.
            self.assertLess(time.monotonic(), end)
            time.sleep(0.2)
        server.process.kill()
        server.process.communicate()
        self.assertEqual(self.rows()[1, "alice"]["tokens_out"], 3)
        self.serve().stop()
        self.assertEqual(self.rows()[1, "alice"]["requests"], 1)

    def test_a_file_that_is_no_ledger_is_refused_at_the_start(self):
        self.ledger.write_text("no ledger, and longer than the header of a database of SQLite, of 100 bytes. " * 3)
        ran = serving.quire("serve", "--usage", self.ledger, "--model", self.model)
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("--usage", ran.stderr)
        self.assertTrue(self.ledger.read_text().startswith("no ledger"))
        missing = serving.quire("usage", "--data", self.folder / "none")
        self.assertEqual(missing.returncode, 3)
        self.assertIn("quire serve --usage", missing.stderr)

    def test_a_rate_is_429_with_the_time_to_wait_in_the_form_of_the_interface(self):
        server = self.serve("--tenant", "1=requests_per_minute:2", "--tenant", "2=tokens_per_minute:8")
        for _ in range(2):
            self.assertEqual(self.complete(server, self.alice, 1)[0], 200)
        status, headers, answer = self.complete(server, self.alice, 1)
        self.assertEqual((status, answer["error"]["code"]), (429, "rate_limit_exceeded"))
        self.assertIn("tenant 1: requests_per_minute: the tenant used its 2 requests", answer["error"]["message"])
        self.assertTrue(0 < int(headers["Retry-After"]) <= 30, headers)
        # Tokens are known once they were used, by another tenant that is not held back by the first.
        self.assertEqual(self.complete(server, self.bob, 16)[0], 200)
        status, headers, answer = self.complete(server, self.bob, 1)
        self.assertEqual(status, 429, answer)
        self.assertIn("tenant 2: tokens_per_minute", answer["error"]["message"])
        self.assertGreater(int(headers["Retry-After"]), 60)


if __name__ == "__main__":
    unittest.main()
