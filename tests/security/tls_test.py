#!/usr/bin/env python3
"""TLS as strangers try it: suites of TLS 1.2 with an RSA and an EC certificate, plain HTTP, and a handshake that never begins."""
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
import warnings

import attack

warnings.simplefilter("ignore")  # Of Python, about what is old.
OLD = ["AES128-SHA", "AES256-SHA", "AES128-SHA256", "AES128-GCM-SHA256", "AES256-GCM-SHA384", "CAMELLIA128-SHA",
       "DES-CBC3-SHA", "RC4-SHA", "NULL-SHA", "ADH-AES128-SHA", "AECDH-AES128-SHA", "PSK-AES128-CBC-SHA",
       "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-SHA384", "ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384",
       "DHE-RSA-AES128-SHA", "DHE-RSA-AES128-GCM-SHA256"]
GOOD = {"RSA": ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305"],
        "EC": ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"]}
KEYS = {"RSA": ["-newkey", "rsa:2048"], "EC": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]}
HANDSHAKE_SECONDS_MAX = 10


def agreed_suite(server, suite):
    """The suite of TLS 1.2 that the server takes of this one; None: it takes none."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        context.set_ciphers(suite + ":@SECLEVEL=0")
    except ssl.SSLError:
        return None  # This OpenSSL does not have it.
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    try:
        with attack.connect(server) as plain, context.wrap_socket(plain, server_hostname="localhost") as stream:
            return stream.cipher()[0]
    except OSError:
        return None


@unittest.skipUnless(shutil.which("openssl"), "no openssl here makes certificates")
class TlsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.servers = {}
        for kind, flags in KEYS.items():
            certificate, key = (pathlib.Path(folder.name) / (kind + ending) for ending in (".pem", ".key"))
            subprocess.run(["openssl", "req", "-x509", *flags, "-nodes", "-keyout", key, "-out", certificate, "-days",
                            "2", "-subj", "/CN=localhost"], check=True, stderr=subprocess.DEVNULL)
            cls.servers[kind] = attack.Server("--tls-certificate", certificate, "--tls-key", key, "--no-endpoints")
            cls.addClassCleanup(cls.servers[kind].__exit__)

    def test_tls_1_2_has_suites_with_forward_secrecy_that_authenticate_alone(self):
        for kind, server in self.servers.items():
            self.assertEqual([suite for suite in OLD if agreed_suite(server, suite)], [], kind)
            self.assertEqual([agreed_suite(server, suite) for suite in GOOD[kind]], GOOD[kind])

    def test_plain_http_gets_no_answer(self):
        for kind, server in self.servers.items():
            got, _ = attack.raw(server, attack.request("GET", "/health"), 5)
            self.assertEqual(attack.statuses(got), [], kind)

    def test_a_handshake_that_never_begins_ends_in_time(self):
        times = {}

        def wait(kind):
            began = time.monotonic()
            with attack.connect(self.servers[kind]) as silent:
                _, how = attack.read_all(silent, HANDSHAKE_SECONDS_MAX + 5)
            times[kind] = how, time.monotonic() - began
        threads = [threading.Thread(target=wait, args=(kind,)) for kind in self.servers]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        for kind, (how, seconds) in times.items():
            self.assertNotEqual(how, "open", kind)
            self.assertLess(seconds, HANDSHAKE_SECONDS_MAX + 3, kind)


if __name__ == "__main__":
    attack.main()
