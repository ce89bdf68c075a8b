#!/usr/bin/env python3
"""Keys of a server that runs: `quire keys`, SIGHUP, who is refused, and what is never written down."""
import asyncio
import datetime
import http.client
import json
import os
import pathlib
import signal
import stat
import sys
import tempfile
import time
import unittest

import serving

sys.path.insert(0, str(serving.ROOT / "clients/python"))

import quire  # noqa: E402

ECHO = serving.BUILD / "tests/end_to_end/echo.wasm"


class KeysTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.keys = pathlib.Path(folder.name) / "keys.txt"

    def serve(self, *flags):
        server = serving.Server("--no-endpoints", "--keys", self.keys, *flags, ECHO)
        self.addCleanup(server.__exit__)
        return server

    def status(self, server, key="", path="/", **headers):
        connection = http.client.HTTPConnection(server.address, timeout=serving.PATIENCE)
        if key:
            headers["Authorization"] = "Bearer " + key
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        response.read()
        connection.close()
        return response.status

    def wait_for(self, wanted, asked):
        end = time.monotonic() + serving.PATIENCE
        while (got := asked()) != wanted:
            self.assertLess(time.monotonic(), end, got)
            time.sleep(0.02)

    def reload(self, server):
        server.process.send_signal(signal.SIGHUP)

    def test_the_file_is_its_owners_alone_and_has_no_key(self):
        key = serving.add_key(self.keys, "alice", "--tenant", "7")
        self.assertRegex(key, r"^qk_[A-Za-z0-9_-]{43}$")
        self.assertEqual(stat.S_IMODE(self.keys.stat().st_mode), 0o600)
        self.assertNotIn(key[3:], self.keys.read_text())
        listed = serving.quire("keys", "list", "--keys", self.keys, "--json")
        self.assertEqual([(each["name"], each["tenant"]) for each in json.loads(listed.stdout)], [("alice", 7)])
        self.assertNotIn(key[3:], listed.stdout)

    def test_what_is_wrong_is_said_with_the_next_step(self):
        serving.add_key(self.keys, "alice")
        for words, code, text in (
                (("add", "alice"), 1, "a key is named alice already"), (("add", "a/b"), 2, "not the name of a key"),
                (("add", "bob", "--rights", "fly"), 2, "there are launch, upload"),
                (("add", "bob", "--expires", "soon"), 2, "neither a duration, as 90d"),
                (("add", "bob", "--expires", "2020-01-01"), 2, "must end in the future"),
                (("revoke", "bob"), 3, "there are: alice")):
            ran = serving.quire("keys", *words, "--keys", self.keys)
            self.assertEqual(ran.returncode, code, (words, ran.stderr))
            self.assertIn(text, ran.stderr)
        missing = serving.quire("serve", "--keys", self.keys.with_name("none.txt"))
        self.assertEqual(missing.returncode, 2, missing.stderr)
        self.assertIn("quire keys add NAME --keys", missing.stderr)
        self.keys.write_text("nonsense\n")
        broken = serving.quire("serve", "--keys", self.keys)
        self.assertNotEqual(broken.returncode, 0)
        self.assertIn("not a file of keys", broken.stderr)
        os.chmod(self.keys, 0o666)
        self.assertIn("chmod 600", serving.quire("serve", "--keys", self.keys).stderr)
        open_to_all = serving.quire("serve", "--listen", "0.0.0.0:0")
        self.assertEqual(open_to_all.returncode, 2)
        self.assertIn("--keys", open_to_all.stderr)

    def test_sighup_takes_new_keys_and_closes_who_has_a_revoked_one(self):
        alice = serving.add_key(self.keys, "alice")
        server = self.serve()
        bob = serving.add_key(self.keys, "bob")
        self.assertEqual(self.status(server, alice), 200)
        self.assertEqual(self.status(server, bob), 401)
        self.reload(server)
        self.wait_for(200, lambda: self.status(server, bob))

        async def revoked():
            async with quire.Client(server.url, key=alice) as mine, quire.Client(server.url, key=bob) as his:
                await mine.launch("echo")
                self.assertEqual(serving.quire("keys", "revoke", "alice", "--keys", self.keys).returncode, 0)
                self.reload(server)
                with self.assertRaises(quire.ConnectionLost):
                    while True:
                        await mine.list()
                        await asyncio.sleep(0.02)
                await his.list()

        asyncio.run(asyncio.wait_for(revoked(), serving.PATIENCE))
        self.assertEqual(self.status(server, alice), 401)
        self.assertEqual(self.status(server, bob), 200)

    def test_a_key_expires_while_the_server_runs(self):
        ending = serving.add_key(self.keys, "ending", "--expires", "4s")
        serving.add_key(self.keys, "lasting", "--expires", "2999-12-31")
        endless = serving.add_key(self.keys, "endless")
        server = self.serve("--log-format", "json")

        async def outlives_its_key():
            async with quire.Client(server.url, key=ending) as mine, quire.Client(server.url, key=endless) as his:
                await mine.launch("echo")
                with self.assertRaises(quire.ConnectionLost):
                    while True:
                        await mine.list()
                        await asyncio.sleep(0.05)
                await his.list()

        asyncio.run(asyncio.wait_for(outlives_its_key(), serving.PATIENCE))
        self.assertEqual(self.status(server, ending), 401)
        self.assertEqual(self.status(server, endless), 200)
        listed = json.loads(serving.quire("keys", "list", "--keys", self.keys, "--json").stdout)
        self.assertEqual([each["has_expired"] for each in listed], [True, False, False])
        self.assertEqual([each["expires"] for each in listed][1:], ["2999-12-31T00:00:00Z", None])
        table = serving.quire("keys", "list", "--keys", self.keys).stdout.splitlines()
        self.assertRegex(table[1], r"Z \(expired\)  ")
        self.assertRegex(table[3], r"Z  never  ")
        events = [json.loads(line) for line in server.stop().splitlines()]
        refused = [each for each in events if each["event"] == "key_refused"]
        self.assertEqual([(each["reason"], each["key"]) for each in refused], [("expired", "ending")])

    def last_uses(self):
        listed = json.loads(serving.quire("keys", "list", "--keys", self.keys, "--json").stdout)
        return {each["name"]: each["last_used"] for each in listed}

    def test_the_last_use_of_a_key_is_kept_to_the_minute_over_a_restart_and_a_kill(self):
        keys = {name: serving.add_key(self.keys, name) for name in ("http", "socket", "unused", "killed")}
        begun = time.time() // 60 * 60
        server = self.serve()
        self.assertEqual(self.status(server, keys["http"]), 200)
        ran = serving.quire("run", "--server", server.url, ECHO, QUIRE_KEY=keys["socket"])
        self.assertEqual(ran.returncode, 0, ran.stderr)
        server.stop()
        uses = self.last_uses()
        for name in ("http", "socket"):
            used = datetime.datetime.fromisoformat(uses[name]).timestamp()
            self.assertTrue(begun <= used <= time.time() and used % 60 == 0, uses)
        self.assertEqual((uses["unused"], uses["killed"]), (None, None))
        self.assertEqual(stat.S_IMODE(self.keys.with_name("keys.txt.used").stat().st_mode), 0o600)
        table = serving.quire("keys", "list", "--keys", self.keys).stdout.splitlines()
        self.assertTrue(table[1].endswith(uses["http"]) and table[3].endswith("never"), table)

        again = self.serve()
        self.assertEqual(self.status(again, keys["killed"]), 200)
        self.wait_for(True, lambda: self.last_uses()["killed"] is not None)  # While it runs.
        again.process.kill()
        again.process.communicate()
        self.assertEqual({name: self.last_uses()[name] for name in ("http", "socket")},
                         {name: uses[name] for name in ("http", "socket")})

    def test_uses_that_cannot_be_written_are_reported_and_the_server_serves_on(self):
        alice = serving.add_key(self.keys, "alice")
        self.keys.with_name("keys.txt.used").write_text("nonsense\n")
        listed = serving.quire("keys", "list", "--keys", self.keys)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("not a file of uses of keys", listed.stderr)
        self.assertTrue(listed.stdout.splitlines()[1].endswith("unknown"), listed.stdout)
        server = self.serve()
        self.assertEqual(self.status(server, alice), 200)
        self.assertIn("the last uses of keys cannot be written", server.stop())

    def test_a_broken_file_keeps_the_keys_and_the_server_says_so(self):
        alice = serving.add_key(self.keys, "alice")
        server = self.serve()
        self.keys.write_text("# quire keys 1\nalice\n")
        self.reload(server)
        bob = serving.quire("keys", "add", "bob", "--keys", self.keys)
        self.assertIn("line 2", bob.stderr)
        time.sleep(0.2)
        self.assertEqual(self.status(server, alice), 200)
        log = server.stop()
        self.assertIn("the keys stay as they were", log)
        self.assertIn("line 2", log)

    def test_no_key_is_in_the_log(self):
        alice = serving.add_key(self.keys, "alice")
        server = self.serve()
        self.assertEqual(self.status(server, alice), 200)
        self.assertEqual(self.status(server, **{"x-api-key": alice[:-1]}), 401)
        self.assertEqual(self.status(server, **{"x-api-key": alice}), 200)
        self.assertEqual(self.status(server, **{"x-goog-api-key": alice[:-1]}), 401)
        self.assertEqual(self.status(server, **{"x-goog-api-key": alice}), 200)
        self.assertEqual(self.status(server, path=f"/v1beta/models?key={alice}"), 400)
        self.assertEqual(self.status(server, path=f"/nothing?key={alice}", **{"x-goog-api-key": alice}), 404)
        ran = serving.quire("run", "--server", server.url, ECHO, QUIRE_KEY=alice)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.reload(server)
        log = server.stop()
        for text in (log, ran.stdout, ran.stderr):
            self.assertNotIn(alice[3:-1], text)
        self.assertIn("a key from 127.0.0.1 was refused", log)

    def test_a_client_without_a_key_is_told_how_to_give_one(self):
        serving.add_key(self.keys, "alice")
        server = self.serve()
        ran = serving.quire("run", "--server", server.url, ECHO)
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("Authorization: Bearer", ran.stderr)
        status = serving.quire("status", "--server", server.url)
        self.assertIn("wants a key", status.stderr)


if __name__ == "__main__":
    unittest.main()
