#!/usr/bin/env python3
"""Endpoint programs that answer wrongly (evil_http.cpp), and programs that ask where they may not (ssrf.cpp)."""
import json
import os
import pathlib
import shutil
import socket
import tempfile
import threading
import unittest
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import attack

# Lines of a response's head that would split it or frame it anew.
REFUSED_LINES = [
    "x: a\r\nset-cookie: evil=1", "x: a\rset-cookie: evil=1", "x: a\0b\n", "x y: b\n", ": b\n", "x\n", "x : b\n",
    "\r\n\r\nHTTP/1.1 200 OK\n", "transfer-encoding: chunked\n", "connection: keep-alive\n",
    "content-length: 5\ncontent-length: 5\n", "content-length: -1\n", "content-length: +4\n", "content-length: 4, 4\n",
    "content-length: 0x4\n", "content-length: 99999999999999999999\n", "Content-Length : 4\n", "x-request-id: evil\n",
    "upgrade: websocket\n", "keep-alive: x\n", "trailer: x\n", "te: x\n", "proxy-connection: x\n", "x: a\x7f\n",
    "x:\x01\n"]


def quoted(text):
    return urllib.parse.quote(text, safe="")


class EvilProgramTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = attack.Server(attack.GUESTS / "evil_http.wasm", "--endpoint", "GET /evil/*=evil_http",
                                   "--no-endpoints", "--limit", "cpu_ns_between_waits_max=500ms")
        cls.addClassCleanup(cls.server.__exit__)

    def get(self, what):
        """All that comes, and how the connection ended."""
        return attack.raw(self.server, attack.request("GET", "/evil/" + what, [("Connection", "close")]))

    def status(self, what):
        return attack.statuses(self.get(what)[0])[0]

    def begin(self, what):
        connection = attack.connect(self.server)
        connection.sendall(attack.request("GET", "/evil/" + what))
        return connection

    def test_one_that_never_answers_ends_when_its_client_leaves(self):
        with self.begin("never"):
            self.assertTrue(attack.until(lambda: self.server.instance_count() == 1))
        self.assertTrue(attack.until(lambda: self.server.instance_count() == 0))

    def test_one_that_spins_ends_or_traps_is_500(self):
        for what in ("spin", "ends", "traps"):
            self.assertEqual(self.status(what), 500, what)

    def test_one_that_answers_twice_gives_one_answer(self):
        got, _ = self.get("twice")
        self.assertEqual(attack.statuses(got), [200])
        self.assertTrue(got.endswith(b"ok"), got)

    def test_a_body_of_another_length_than_announced_is_cut_and_begins_no_second_response(self):
        got, how = self.get("short")
        self.assertTrue(how in ("closed", "reset") and not got.endswith(b"0\r\n\r\n"), got)
        got, _ = self.get("long")
        self.assertTrue(b"evil" not in got and got.endswith(b"four"), got)

    def test_lines_that_would_split_or_frame_a_response_are_refused(self):
        for lines in REFUSED_LINES:
            got, _ = self.get("raw?v=" + quoted(lines))
            self.assertEqual(attack.statuses(got)[0], 422, lines)
            self.assertNotIn(b"evil", got.partition(b"\r\n\r\n")[0], lines)
        for status in ("0", "99", "100", "101", "199", "600", "999", "-1"):
            self.assertEqual(self.status("status?v=" + status), 422, status)
        self.assertEqual(self.status("headers?v=257"), 422)
        self.assertIn(self.status("headers?v=5000"), (422, 500))

    def test_a_value_with_a_line_end_gives_no_further_header(self):
        for end in ("\n", "\r\n", "\r"):
            value = f"alice{end}set-cookie: session=attacker{end}location: http://evil.example/"
            got, _ = self.get("sdk?v=" + quoted(value))
            head = got.partition(b"\r\n\r\n")[0].lower()
            self.assertNotIn(b"set-cookie", head)
            self.assertEqual(attack.statuses(got), [500], got)
        self.assertIn(b"x-user: alice\r\n", self.get("sdk?v=alice")[0])

    def test_much_output_for_a_client_that_does_not_read_is_bounded_and_leaves_nothing(self):
        before = self.server.resident_mib()
        with self.begin("gigabyte") as connection:
            got = 0
            while got < 16 << 20:
                got += len(connection.recv(1 << 20))
            self.assertLess(self.server.resident_mib() - before, 80)
        self.get("flood")
        self.assertLess(self.server.resident_mib() - before, 80)
        self.assertTrue(attack.until(lambda: self.server.instance_count() == 0))
        descriptors = self.server.descriptor_count()
        for what in ("ends", "traps", "twice", "short", "long") * 4:
            self.get(what)
        for _ in range(10):
            with self.begin("gigabyte") as connection:
                connection.recv(1 << 16)
        self.assertTrue(attack.until(lambda: self.server.instance_count() == 0))
        self.assertTrue(attack.until(lambda: self.server.descriptor_count() <= descriptors))


class Inside(BaseHTTPRequestHandler):
    """A server that no program may reach."""
    hits = []

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.hits.append((self.server.server_port, self.path))
        self.send_response(200)
        self.end_headers()


class Granted(BaseHTTPRequestHandler):
    """One that programs may reach: it answers with the headers of the request, and redirects to where /to?... says."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        is_redirect = self.path.startswith("/to?")
        self.send_response(302 if is_redirect else 200)
        if is_redirect:
            self.send_header("location", urllib.parse.unquote(self.path[4:]))
            self.send_header("content-length", "0")
        self.end_headers()
        if not is_redirect:
            self.wfile.write(json.dumps(dict(self.headers)).encode())


class Six(ThreadingHTTPServer):
    address_family = socket.AF_INET6


HOSTS = """127.0.0.1 localhost
127.0.0.1 rebind.test mixed.test a.granted.test
93.184.216.34 mixed.test
169.254.169.254 metadata.test
::1 six.test
::ffff:127.0.0.1 mapped.test
10.0.0.1 ten.test
0.0.0.0 zero.test
168.63.129.16 azure.test
fe80::1 link.test
64:ff9b::7f00:1 nat64.test
"""
INNER_HOSTS = [
    "127.0.0.1", "127.0.0.2", "127.1", "0", "0.0.0.0", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1.",
    "localhost", "LOCALHOST", "rebind.test", "mixed.test", "mapped.test", "ten.test", "zero.test", "a.granted.test",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[::]", "[0:0:0:0:0:ffff:127.0.0.1]",
    "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "127.0.0.1%2f", "127.0.0.1%00", "evil@127.0.0.1",
    "127.0.0.1:80@127.0.0.1", "127。0。0。1", "①②⑦.0.0.1", "metadata.test", "azure.test", "nat64.test"]


def serve(handler, address="127.0.0.1", kind=ThreadingHTTPServer):
    server = kind((address, 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class OutboundTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.servers = [serve(Inside), serve(Granted)]
        try:
            cls.servers.append(serve(Inside, "::1", Six))
        except OSError:
            pass  # No IPv6 here: its addresses are refused all the same.
        for each in cls.servers:
            cls.addClassCleanup(each.server_close)
            cls.addClassCleanup(each.shutdown)
        cls.inside, cls.granted, cls.six = (cls.servers[i % len(cls.servers)].server_port for i in range(3))

    def urls(self, own_port):
        inside, granted, six = self.inside, self.granted, self.six
        return [f"http://{host}:{inside}/" for host in INNER_HOSTS] + [
            f"http://[::1]:{six}/", f"http://six.test:{six}/", "http://169.254.169.254/latest/meta-data/",
            "http://[fe80::1]/", "http://link.test/", "http://[fd00:ec2::254]/", "http://168.63.129.16/",
            "http://metadata.test/", "file:///etc/passwd", "gopher://127.0.0.1:1/", "ftp://127.0.0.1/",
            f"http:/127.0.0.1:{inside}/", f"http:127.0.0.1:{inside}", f"//127.0.0.1:{inside}/",
            f"http:\\\\127.0.0.1:{inside}\\", f"http://127.0.0.1:{inside}\r\nX: y/",
            f"http://127.0.0.1:{inside}/ HTTP/1.1\r\nX: y", f"http://127.0.0.1:{granted}@127.0.0.1:{inside}/",
            f"http://127.0.0.1:{own_port}/metrics", f"http://127.0.0.1:0{inside}/",
            f"http://127.0.0.1:{65536 + inside}/", "unix:///tmp/x", ""]

    def redirects(self, own_port):
        inside, granted, six = self.inside, self.granted, self.six
        return [f"http://127.0.0.1:{inside}/", f"http://localhost:{inside}/", f"http://rebind.test:{inside}/",
                f"http://[::1]:{six}/", "http://169.254.169.254/", "file:///etc/passwd", f"//127.0.0.1:{inside}/",
                f"http://127.0.0.1:{granted}@127.0.0.1:{inside}/", "http://metadata.test/",
                f"http:\\\\127.0.0.1:{inside}", f"http://127.0.0.1:{own_port}/metrics", f"http://mixed.test:{inside}/"]

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "names that lead inside need an /etc/hosts")
    def test_nothing_inside_is_reached_by_any_spelling_name_or_redirect(self):
        with tempfile.NamedTemporaryFile("w") as hosts:
            hosts.write(HOSTS)
            hosts.flush()
            prefix = ("unshare", "-m", "--propagation", "private", "sh", "-c",
                      f'mount --bind {hosts.name} /etc/hosts && exec "$@"', "sh")
            grants = ("*:*", "*.granted.test:*", f"127.0.0.1:{self.granted}")
            flags = [word for grant in grants for word in ("--allow-http", grant)]
            with attack.Server(attack.GUESTS / "ssrf.wasm", "--no-endpoints", *flags, prefix=prefix) as server, \
                    attack.WebSocket(server) as client:
                port = server.address[1]
                for url in self.urls(port):
                    self.assertTrue(client.run("ssrf", url)[0].startswith(b"NO "), url)
                for to in self.redirects(port):
                    url = f"http://127.0.0.1:{self.granted}/to?" + quoted(to)
                    self.assertTrue(client.run("ssrf", url)[0].startswith(b"NO "), to)
                granted = client.run("ssrf", f"http://127.0.0.1:{self.granted}/ok")
                self.assertTrue(granted[0].startswith(b"OK 200"), granted)
        self.assertEqual(Inside.hits, [])

    def test_a_value_with_a_line_end_sends_no_further_header(self):
        url = f"http://127.0.0.1:{self.granted}/ok"
        with attack.Server(attack.GUESTS / "ssrf.wasm", "--no-endpoints", "--allow-http",
                           f"127.0.0.1:{self.granted}") as server, attack.WebSocket(server) as client:
            said = client.run("ssrf", "inject " + url)[0]
            self.assertTrue(said.startswith(b"NO "), said)
            self.assertIn(b"x-user", said)

    def test_a_grant_of_a_tenant_is_that_tenants_alone(self):
        place = f"127.0.0.1:{self.granted}"
        with tempfile.TemporaryDirectory() as folder:
            keys = pathlib.Path(folder) / "keys.txt"
            key = {tenant: attack.add_key(keys, f"of-{tenant}", "--tenant", tenant) for tenant in ("1", "2", "3")}
            with attack.Server(attack.GUESTS / "ssrf.wasm", "--no-endpoints", "--keys", keys, "--allow-http",
                               "api.example.com", "--tenant", f"1=weight:1,allow-http:{place}", "--tenant",
                               "2=weight:1", "--tenant", "3=allow-http:*") as server:
                said = {}
                for tenant in key:
                    with attack.WebSocket(server, key=key[tenant]) as client:
                        said[tenant] = client.run("ssrf", f"http://{place}/ok", "http://api.example.com:1/")
        self.assertTrue(said["1"][0].startswith(b"OK 200"), said)
        for tenant in ("2", "3"):
            self.assertTrue(said[tenant][0].startswith(b"NO "), said)


if __name__ == "__main__":
    attack.main()
