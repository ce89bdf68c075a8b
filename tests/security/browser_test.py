#!/usr/bin/env python3
"""A server without keys and a web page elsewhere: requests that a browser sends for it, with and without an Origin."""
import unittest

import attack

IMAGE = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "image"),
         ("Referer", "http://evil.example/")]
LINK = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")]
OWN = [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty")]


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = attack.Server("--allow-origin", "https://page.example")
        cls.addClassCleanup(cls.server.__exit__)

    def status(self, method, path, headers=(), body=b"", host="127.0.0.1"):
        return attack.http(self.server, method, path, headers, body, host)[0]

    def test_a_get_without_an_origin_launches_nothing(self):
        before = self.server.metrics()["quire_launches_total"]
        for headers in (IMAGE, LINK):
            self.assertEqual(self.status("GET", "/v1/models", headers), 403)
        self.assertEqual(self.server.metrics()["quire_launches_total"], before)
        self.assertEqual(self.status("GET", "/", IMAGE), 403)
        self.assertEqual(self.status("GET", "/", LINK), 200)

    def test_pages_of_the_server_and_of_allowed_origins_pass(self):
        self.assertEqual(self.status("GET", "/v1/models", OWN), 200)
        self.assertEqual(self.status("GET", "/v1/models", [*IMAGE, ("Origin", "https://page.example")]), 200)
        self.assertEqual(self.status("GET", "/v1/models"), 200)

    def test_a_post_of_a_page_elsewhere_is_refused(self):
        headers = [("Origin", "http://evil.example"), ("Content-Type", "text/plain")]
        self.assertEqual(self.status("POST", "/v1/completions", headers, b'{"prompt": "x"}'), 403)

    def test_a_name_that_leads_here_is_no_name_of_the_server(self):
        for host in ("attacker.test", "127.0.0.1.nip.io"):
            self.assertEqual(self.status("GET", "/", host=host), 403)
            self.assertEqual(self.status("POST", "/v1/completions", body=b"{}", host=host), 403)
            with attack.WebSocket(self.server, host=host) as refused:
                self.assertEqual(refused.status, 403)


if __name__ == "__main__":
    attack.main()
