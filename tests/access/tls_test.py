#!/usr/bin/env python3
"""A server with a certificate: https:// and wss:// alone, TLS 1.2 and 1.3, and files that are not what they should be."""
import asyncio
import http.client
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest

import serving

sys.path.insert(0, str(serving.ROOT / "clients/python"))

import websockets  # noqa: E402

from quire.frames import SUBPROTOCOL, Frame, decode, encode  # noqa: E402

LARGE = b"x" * (20 << 20)  # The endpoints take 16 MiB.


def make_certificate(folder, name, names="DNS:localhost,IP:127.0.0.1"):
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost", "-addext",
                    f"subjectAltName={names}"], check=True, stderr=subprocess.DEVNULL)
    return certificate, key


@unittest.skipUnless(shutil.which("openssl"), "no openssl here makes certificates")
class TlsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.certificate, cls.key = make_certificate(cls.folder, "server")
        cls.server = serving.Server("--tls-certificate", cls.certificate, "--tls-key", cls.key)
        cls.addClassCleanup(cls.server.__exit__)
        cls.host, port = cls.server.address.split(":")
        cls.port = int(port)

    def context(self, version=None):
        context = ssl.create_default_context(cafile=self.certificate)
        if version is not None:
            context.minimum_version = context.maximum_version = version
        return context

    def request(self, context, method="GET", path="/health", body=None):
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=serving.PATIENCE, context=context)
        connection.request(method, path, body)
        response = connection.getresponse()
        answer = response.status, response.read()
        connection.close()
        return answer

    def test_both_versions_are_served_and_older_ones_are_not(self):
        self.assertTrue(self.server.url.startswith("wss://"))
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            self.assertEqual(self.request(self.context(version))[0], 200)
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.set_ciphers("ALL:@SECLEVEL=0")
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            self.request(old)
        self.assertEqual(self.request(self.context())[0], 200)

    def test_the_protocol_that_is_agreed_on_is_http_1_1(self):
        context = self.context()
        context.set_alpn_protocols(["h2", "http/1.1"])
        with socket.create_connection((self.host, self.port)) as plain, \
                context.wrap_socket(plain, server_hostname="localhost") as stream:
            self.assertEqual(stream.selected_alpn_protocol(), "http/1.1")

    def test_a_kept_connection_answers_requests_and_ends_with_a_farewell(self):
        with socket.create_connection((self.host, self.port), timeout=serving.PATIENCE) as plain, \
                self.context().wrap_socket(plain, server_hostname="localhost", suppress_ragged_eofs=False) as stream:
            for _ in range(3):
                stream.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertIn(b'{"status":"ok"}', stream.recv(4096))
            stream.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = b""
            while part := stream.recv(4096):  # The server announces the end: else this raises.
                answer += part
            self.assertIn(b"200 OK", answer)

    def test_large_bodies_pass(self):
        status, body = self.request(self.context(), "POST", "/tokenize", LARGE)
        self.assertEqual(status, 413, body[:200])

    def test_a_websocket_runs_a_program(self):
        async def talk():
            async with websockets.connect(f"wss://localhost:{self.port}", ssl=self.context(),
                                          subprotocols=[SUBPROTOCOL], compression=None, max_size=None) as stream:
                await stream.send(encode(Frame({"verb": "status", "id": 1}, None)))
                return decode(await stream.recv()).head
        self.assertEqual(asyncio.run(asyncio.wait_for(talk(), serving.PATIENCE))["reply"], "status")

    def test_quire_speaks_wss_to_a_server_whose_certificate_it_trusts(self):
        for url in (self.server.url, f"wss://localhost:{self.port}"):
            status = serving.quire("status", "--server", url, SSL_CERT_FILE=str(self.certificate))
            self.assertEqual((status.returncode, status.stderr), (0, ""))
            self.assertIn("connections", status.stdout)
        program = serving.BUILD / "inferlets/hello.wasm"
        ran = serving.quire("run", "--server", self.server.url, program, SSL_CERT_FILE=str(self.certificate))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("Hello, ", ran.stdout)

    def test_quire_refuses_a_certificate_that_nobody_vouches_for_or_of_another_host(self):
        other, other_key = make_certificate(self.folder, "elsewhere", "DNS:elsewhere.example")
        refused = serving.quire("status", "--server", self.server.url)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("certificate", refused.stderr)
        self.assertIn("SSL_CERT_FILE", refused.stderr)
        with serving.Server("--tls-certificate", other, "--tls-key", other_key) as server:
            for url in (server.url, server.url.replace("127.0.0.1", "localhost")):
                refused = serving.quire("status", "--server", url, SSL_CERT_FILE=str(other))
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn("mismatch", refused.stderr)

    def test_quire_says_so_where_one_side_has_tls_and_the_other_has_not(self):
        refused = serving.quire("status", "--server", f"ws://{self.server.address}")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(f"wss://{self.server.address}", refused.stderr)
        with serving.Server() as plain:
            refused = serving.quire("status", "--server", f"wss://{plain.address}")
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(f"ws://{plain.address}", refused.stderr.replace(f"wss://{plain.address}", ""))

    def test_bytes_that_are_not_tls_end_their_connection_alone(self):
        for bytes_sent in (b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"x" * 70000, b""):
            with socket.create_connection((self.host, self.port), timeout=serving.PATIENCE) as plain:
                try:
                    plain.sendall(bytes_sent)
                    plain.shutdown(socket.SHUT_WR)
                    while plain.recv(65536):
                        pass
                except OSError:  # The server may be gone before all was sent.
                    pass
        self.assertEqual(self.request(self.context())[0], 200)

    def shown_by(self, server):
        host, port = server.address.split(":")
        return ssl.get_server_certificate((host, int(port)))

    def reload(self, server, told):
        """Reloads, and waits for the line of the server's log that has `told`."""
        server.process.send_signal(signal.SIGHUP)
        while line := server.process.stderr.readline():
            if told in line:
                return
        self.fail(f"the server ended before it told: {told}")

    def test_a_renewed_certificate_is_taken_on_sighup_and_open_connections_stay(self):
        certificate, key = make_certificate(self.folder, "renewed")
        first = certificate.read_text()
        with serving.Server("--tls-certificate", certificate, "--tls-key", key) as server:
            host, port = server.address.split(":")
            context = ssl.create_default_context(cafile=certificate)
            kept = http.client.HTTPSConnection("localhost", int(port), timeout=serving.PATIENCE, context=context)
            self.addCleanup(kept.close)
            kept.request("GET", "/health")
            self.assertEqual(kept.getresponse().read(), b'{"status":"ok"}\n')
            second = make_certificate(self.folder, "renewed")[0].read_text()
            self.assertNotEqual(second, first)
            self.reload(server, "new connections get the certificate of")
            self.assertEqual(self.shown_by(server), second)
            kept.request("GET", "/health")
            self.assertEqual(kept.getresponse().read(), b'{"status":"ok"}\n')
            key.write_text("not a key")
            self.reload(server, "the certificate stays as it was")
            self.assertEqual(self.shown_by(server), second)

    def test_files_that_do_not_fit_are_told_at_the_start(self):
        other, other_key = make_certificate(self.folder, "other")
        locked = self.folder / "locked.key"
        subprocess.run(["openssl", "pkey", "-in", other_key, "-aes256", "-passout", "pass:secret", "-out", locked],
                       check=True)
        for certificate, key, text in ((self.certificate, other_key, "is not the key of"),
                                       (self.folder / "none.pem", self.key, "--tls-certificate: "),
                                       (self.key, self.key, "--tls-certificate: "),
                                       (other, locked, "without a password"), (other, other, "--tls-key: ")):
            ran = serving.quire("serve", "--tls-certificate", certificate, "--tls-key", key)
            self.assertEqual(ran.returncode, 2, ran.stderr)
            self.assertIn(text, ran.stderr)
        alone = serving.quire("serve", "--tls-key", self.key)
        self.assertIn("given together", alone.stderr)


if __name__ == "__main__":
    unittest.main()
