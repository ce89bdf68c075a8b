#!/usr/bin/env python3
"""After a request was served, no memory of the server holds the client's key: not its heap, freed blocks, stacks or buffers."""
import array
import itertools
import os
import pathlib
import ssl
import subprocess
import tempfile
import time
import unittest

import attack

COUNT = 40  # Requests of each kind: enough for blocks to be used again, and to be left over.


def memory(process):
    """Each run of pages that the process may write, has used, and does not share with a file."""
    folder = pathlib.Path(f"/proc/{process.pid}")
    page = os.sysconf("SC_PAGE_SIZE")
    with open(folder / "mem", "rb", 0) as file, open(folder / "pagemap", "rb", 0) as used, open(folder / "maps") as maps:
        for line in maps:
            if " rw-p " not in line:
                continue
            begin, end = (int(each, 16) for each in line.split()[0].split("-"))
            used.seek(begin // page * 8)
            entries = array.array("Q", used.read((end - begin) // page * 8))
            for is_used, run in itertools.groupby(enumerate(entries), lambda each: each[1] >> 62 != 0):  # In memory, or swapped.
                pages = [number for number, _ in run]
                if is_used:
                    try:
                        file.seek(begin + pages[0] * page)
                        yield file.read(len(pages) * page)
                    except OSError:  # It is gone since the list was read.
                        pass


def copy_count(server, key):
    """How often the random part of the key is there; it follows "qk_"."""
    return sum(part.count(key[3:].encode()) for part in memory(server.process))


def certificate(folder):
    files = [pathlib.Path(folder) / name for name in ("key.pem", "certificate.pem")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                    "/CN=localhost", "-keyout", files[0], "-out", files[1]], check=True, stderr=subprocess.DEVNULL)
    return "--tls-key", files[0], "--tls-certificate", files[1]


class KeyMemoryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keys = attack.key_file(cls)
        # Each test has its own, so that none finds what another one left.
        cls.own_keys = [attack.add_key(cls.keys, f"key{number}") for number in range(9)]
        cls.server = attack.Server("--keys", cls.keys, "--no-endpoints", attack.GUESTS / "evil_http.wasm",
                                   "--endpoint", "GET /evil/*=evil_http")
        cls.addClassCleanup(cls.server.__exit__)

    def setUp(self):
        self.key = self.own_keys.pop()

    def assert_no_copy(self, server, key):
        # The last answer may be here before its connection has ended there.
        self.assertTrue(attack.until(lambda: copy_count(server, key) == 0, 3), f"{copy_count(server, key)} copies")

    def test_a_head_that_is_not_whole_is_found_so_the_search_finds_keys(self):
        server = self.server
        with attack.connect(server) as connection:
            connection.sendall(f"GET / HTTP/1.1\r\nAuthorization: Bearer {self.key}\r\n".encode())
            self.assertTrue(attack.until(lambda: copy_count(server, self.key) > 0))
        self.assert_no_copy(server, self.key)

    def test_headers_of_http_requests_leave_nothing(self):
        server = self.server
        other = attack.add_key(self.keys, "bob")  # Not read by the server: it is refused.
        for name, value in (("Authorization", "Bearer {}"), ("x-api-key", "{}"), ("x-goog-api-key", "{}")):
            for key, wanted in ((self.key, 200), (other, 401)):
                for _ in range(COUNT):
                    status, _, _ = attack.http(server, "GET", "/", [(name, value.format(key))])
                    self.assertEqual(status, wanted)
        for key in (self.key, other):
            self.assert_no_copy(server, key)

    def test_a_connection_that_stays_holds_no_key_between_its_requests(self):
        server = self.server
        with attack.connect(server) as connection:
            for body in (b"", b"x" * 3000):
                for padding in (0, 100, 4000):
                    headers = [*attack.bearer(self.key), ("X-Padding", "p" * padding)]
                    connection.sendall(attack.request("GET", "/nothing", headers, body))
                    if body:
                        break  # A refused body ends the connection.
                    self.assertIn(b"404", connection.recv(1 << 16))
                    self.assert_no_copy(server, self.key)
            attack.read_all(connection, attack.PATIENCE)
        self.assert_no_copy(server, self.key)

    def test_pieces_and_pipelines_of_requests_leave_nothing(self):
        server = self.server
        one = attack.request("GET", "/", attack.bearer(self.key))
        with attack.connect(server) as connection:
            for at in range(0, len(one), 7):
                connection.sendall(one[at:at + 7])
                time.sleep(0.002)
            connection.sendall(one * COUNT)
            got, _ = attack.read_all(connection, 2)
            self.assertEqual(attack.statuses(got), [200] * (COUNT + 1))
            self.assert_no_copy(server, self.key)

    def test_a_program_that_answers_a_request_has_no_key_of_it(self):
        with attack.connect(self.server) as connection:
            connection.sendall(attack.request("GET", "/evil/never", attack.bearer(self.key)))
            time.sleep(0.5)
            self.assert_no_copy(self.server, self.key)
        self.assert_no_copy(self.server, self.key)

    def test_a_key_in_the_query_leaves_nothing(self):
        server = self.server
        for path in ("/v1beta/models?key=", "http://localhost/v1beta/models?alt=sse&key=", "/nothing?key="):
            for headers in ([], attack.bearer(self.key)):
                self.assertIn(attack.http(server, "GET", path + self.key, headers)[0], (400, 401, 404))
        self.assert_no_copy(server, self.key)

    def test_websockets_hold_no_key_while_they_are_open(self):
        server = self.server
        with attack.WebSocket(server, self.key) as socket:  # In the subprotocol.
            self.assertEqual(socket.status, 101)
            socket.send({"verb": "list", "id": 1})
            self.assertEqual(socket.receive()[0]["id"], 1)
            self.assert_no_copy(server, self.key)
        for _ in range(COUNT):
            with attack.WebSocket(server, self.key) as socket:
                self.assertEqual(socket.status, 101)
        self.assert_no_copy(server, self.key)
        upgrade = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13"),
                   ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Sec-WebSocket-Protocol", "quire.1")]
        with attack.connect(server) as connection:
            connection.sendall(attack.request("GET", "/", upgrade + attack.bearer(self.key)))
            self.assertIn(b" 101 ", connection.recv(4096))
            self.assert_no_copy(server, self.key)

    def test_a_key_in_a_request_that_needs_none_leaves_nothing(self):
        server = self.server
        for _ in range(COUNT):
            attack.http(server, "GET", "/health", attack.bearer(self.key))
        self.assert_no_copy(server, self.key)

    def test_tls_leaves_nothing_of_what_it_decrypted(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        server = attack.Server("--no-endpoints", "--keys", self.keys, *certificate(folder.name))
        self.addCleanup(server.__exit__)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context.minimum_version = context.maximum_version = version
            for _ in range(COUNT // 4):
                with context.wrap_socket(attack.connect(server)) as connection:
                    connection.sendall(attack.request("GET", "/", attack.bearer(self.key)))
                    self.assertIn(b"200", connection.recv(1 << 16))
            with context.wrap_socket(attack.connect(server)) as connection:
                connection.sendall(attack.request("GET", "/", attack.bearer(self.key)))
                self.assertIn(b"200", connection.recv(1 << 16))
                self.assert_no_copy(server, self.key)  # While it is open.


if __name__ == "__main__":
    attack.main()
