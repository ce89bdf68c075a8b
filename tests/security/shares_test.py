#!/usr/bin/env python3
"""Tenant 2 takes of every pool that tenants share as much as it gets, of all of them at once, and tenant 1 is served
meanwhile, with the bytes that it gets alone."""
import hashlib
import http.server
import json
import struct
import threading
import time
import unittest

import attack

INSTANCES, QUEUE = 48, 16
LAUNCHES, UPLOADS, FRAMES, EXCHANGES = 120, 20, 60, 320


class SlowPeer(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path == "/slow":
            time.sleep(20)
        try:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
        except OSError:
            pass  # The program is gone.


class Peers(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512


def launch(socket, program, *arguments):
    socket.last_id += 1
    socket.send({"verb": "launch", "id": socket.last_id, "program": program, "arguments": list(arguments)})


class SharesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        keys = attack.key_file(cls)
        cls.victim = attack.add_key(keys, "victim", "--tenant", "1")
        cls.taker = attack.add_key(keys, "taker", "--tenant", "2")
        cls.operator = attack.add_key(keys, "operator", "--rights", "operate")
        cls.peers = Peers(("127.0.0.1", 0), SlowPeer)
        threading.Thread(target=cls.peers.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.peers.server_close)
        cls.addClassCleanup(cls.peers.shutdown)
        cls.peer = f"http://127.0.0.1:{cls.peers.server_port}"
        cls.server = attack.Server("--keys", keys, "--instances", INSTANCES, "--launch-queue", QUEUE, "--allow-http",
                                   f"127.0.0.1:{cls.peers.server_port}", attack.GUESTS / "sleeper.wasm",
                                   attack.GUESTS / "ssrf.wasm")
        cls.addClassCleanup(cls.server.__exit__)

    def socket(self, key):
        socket = attack.WebSocket(self.server, key)
        self.assertEqual(socket.status, 101)
        self.addCleanup(socket.socket.close)
        return socket

    def answer(self):
        body = json.dumps({"model": "tiny_llama", "prompt": "a", "max_tokens": 4, "temperature": 0}).encode()
        status, _, answer = attack.http(self.server, "POST", "/v1/completions",
                                        [*attack.bearer(self.victim), ("Content-Type", "application/json")], body, timeout=20)
        self.assertEqual(status, 200, answer[:300])
        return json.loads(answer)["choices"][0]["text"]

    def take_all(self):
        """As tenant 2: exchanges with a peer that is slow, places, uploads and frames that never end."""
        for _ in range(4):
            socket = self.socket(self.taker)
            for _ in range(EXCHANGES // 4):
                launch(socket, "ssrf", self.peer + "/slow")
        for _ in range(4):
            socket = self.socket(self.taker)
            for _ in range(LAUNCHES // 4):
                launch(socket, "sleeper")
        for i in range(UPLOADS):
            reply = attack.upload(self.socket(self.taker), b"\0asm", 16 << 20, f"{i:064x}")
            self.assertEqual(reply.get("state"), "partial", reply)
        for _ in range(FRAMES):
            socket = attack.WebSocket(self.server, self.taker).socket
            self.addCleanup(socket.close)
            try:
                socket.sendall(bytes([0x82, 255]) + struct.pack(">Q", 2 << 20) + b"\0\0\0\0" + bytes((2 << 20) - 1000))
            except OSError:
                pass  # It was closed: the tenant holds too much.

    def test_a_tenant_that_takes_all_it_gets_leaves_enough_to_another(self):
        alone = self.answer()
        module = (attack.GUESTS / "sleeper.wasm").read_bytes()
        self.take_all()
        self.assertTrue(attack.until(lambda: self.server.metrics(self.operator)['quire_instances{stage="parked"}'] > 10))
        for _ in range(5):
            self.assertEqual(self.answer(), alone)
        mine = self.socket(self.victim)
        self.assertEqual(attack.upload(mine, module).get("state"), "ready")
        self.assertTrue(mine.run("ssrf", self.peer + "/ok")[0].startswith(b"OK 200"))
        self.assertEqual(attack.http(self.server, "GET", "/health/ready")[0], 200)
        self.assertEqual(attack.http(self.server, "GET", "/metrics", attack.bearer(self.operator))[0], 200)


class SharesOfAnOperator(unittest.TestCase):
    """Tests of the part that --tenant gives a tenant of the bytes that all connections share."""

    def test_a_tenant_has_the_uploads_and_frames_that_the_operator_gives_it(self):
        keys = attack.key_file(self)
        small = attack.add_key(keys, "small", "--tenant", "2")
        other = attack.add_key(keys, "other", "--tenant", "1")
        with attack.Server("--keys", keys, "--tenant", "2=uploads:4k,frames:1MiB") as server:
            replies = []
            for key in (small, other):
                socket = attack.WebSocket(server, key)
                replies.append(attack.upload(socket, bytes(5000), 6000, "1" * 64))
                socket.socket.close()
            self.assertEqual(replies[0].get("code"), "quota-exceeded", replies[0])
            self.assertIn("upload_bytes_total_max: 5000 bytes more", replies[0]["message"])
            self.assertEqual(replies[1].get("state"), "partial", replies[1])
            self.assertTrue(self.frame_is_refused(server, small))
            self.assertFalse(self.frame_is_refused(server, other))

    def frame_is_refused(self, server, key):
        """Whether the connection is closed with 1013 when most of a frame of 2 MiB has come."""
        socket = attack.WebSocket(server, key).socket
        self.addCleanup(socket.close)
        socket.settimeout(2)
        heard = b""
        try:
            socket.sendall(bytes([0x82, 255]) + struct.pack(">Q", 2 << 20) + bytes(4) + bytes(3 << 19))
            while part := socket.recv(4096):
                heard += part
        except OSError:
            pass  # It waits for the rest, or was reset after its close.
        return struct.pack(">H", 1013) in heard


if __name__ == "__main__":
    attack.main()
