#!/usr/bin/env python3
"""One client without a key opens connections in every way that it can, and a client with a key is answered meanwhile."""
import time
import unittest

import attack

COUNT_MAX = 64
ASK = attack.request("GET", "/v1/models")
HEALTH = attack.request("GET", "/health")


class ConnectionsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        keys = attack.key_file(cls)
        cls.key = attack.add_key(keys, "alice", "--tenant", "1")
        cls.operators = attack.add_key(keys, "operator", "--rights", "operate")
        cls.server = attack.Server("--keys", keys, "--connections", COUNT_MAX)
        cls.addClassCleanup(cls.server.__exit__)

    def hold(self, data, answer=False):
        """As many connections as there are twice, each with these bytes."""
        held = []
        for _ in range(2 * COUNT_MAX):
            connection = attack.connect(self.server, 5)
            self.addCleanup(connection.close)
            try:
                connection.sendall(data)
                if answer:
                    connection.recv(4096)
            except OSError:
                pass  # It was closed for another one.
            held.append(connection)
        return held

    def answered(self):
        began = time.monotonic()
        self.assertEqual(attack.http(self.server, "GET", "/v1/models", attack.bearer(self.key))[0], 200)
        self.assertLess(time.monotonic() - began, 5)

    def test_connections_that_were_answered_401_and_stay(self):
        self.hold(ASK, answer=True)
        self.answered()

    def test_connections_that_ask_for_the_health_and_stay(self):
        self.hold(HEALTH, answer=True)
        self.answered()
        shed = self.server.metrics(self.operators)['quire_connections_shed_total{reason="address"}']
        self.assertGreater(shed, COUNT_MAX)

    def test_connections_that_say_nothing_or_half_a_head(self):
        self.hold(b"")
        self.hold(HEALTH[:20])
        self.answered()

    def test_connections_that_read_no_answers(self):
        self.hold(HEALTH * 4000)
        self.answered()

    def test_a_kept_connection_with_a_key_outlives_them(self):
        with attack.connect(self.server) as kept:
            for _ in range(2):
                kept.sendall(attack.request("GET", "/v1/models", attack.bearer(self.key)))
                self.assertIn(b" 200 OK", kept.recv(1 << 16))
                time.sleep(0.2)  # The rest of the answer.
                self.hold(HEALTH, answer=True)
                kept.setblocking(False)
                try:
                    self.assertNotEqual(kept.recv(1 << 16), b"")
                except BlockingIOError:
                    pass
                kept.settimeout(attack.PATIENCE)

    def test_an_operator_gets_in_where_all_places_have_websockets(self):
        sockets = [attack.WebSocket(self.server, key=self.key) for _ in range(COUNT_MAX)]
        for each in sockets:
            self.addCleanup(each.socket.close)
            self.assertEqual(each.status, 101)
        self.assertEqual(attack.http(self.server, "GET", "/v1/models", attack.bearer(self.key))[0], 503)
        self.assertEqual(attack.http(self.server, "GET", "/health/live")[0], 200)
        self.assertGreater(self.server.metrics(self.operators)["quire_connections"], COUNT_MAX)
        self.hold(b"")  # Strangers take no place of the reserve for longer than a second.
        self.assertGreater(self.server.metrics(self.operators)["quire_connections"], COUNT_MAX)


if __name__ == "__main__":
    attack.main()
