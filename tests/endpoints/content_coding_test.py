"""Bodies with a content coding: decoded for the programs of quire, and as they were sent for all others."""
import gzip
import json
import pathlib
import shutil
import socket
import tempfile
import zlib

import harness

CONTENT = {"content": "hello hello hello"}
PLAIN = json.dumps(CONTENT).encode()
# `printf '{"content": "hello hello hello"}' | zstd -19 | xxd -p`, in one frame and in two.
ZSTD = bytes.fromhex("28b52ffd0468dd0000a87b22636f6e74656e74223a202268656c6c6f20227d0100639430bdf9ac9f")
ZSTD_FRAMES = bytes.fromhex("28b52ffd04684900007b22636f6e74656e747f0a5cc0"
                            "28b52ffd046895000060223a202268656c6c6f20227d0100310a12f3255660")
CODED = {"gzip": gzip.compress(PLAIN), "x-gzip": gzip.compress(PLAIN), "GZIP": gzip.compress(PLAIN[:9]) + gzip.compress(PLAIN[9:]),
         "deflate": zlib.compress(PLAIN), "zstd": ZSTD, "Zstd": ZSTD_FRAMES, "identity": PLAIN, "identity, gzip": gzip.compress(PLAIN)}
FORMS = ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/tokenize")


class ContentCodingTest(harness.EndpointTest):
    def raw(self, *parts):
        """The bytes that the server sends until it closes the connection."""
        with socket.create_connection(self.address.split(":"), timeout=harness.TIMEOUT_SECONDS) as peer:
            for part in parts:
                peer.sendall(part)
            return b"".join(iter(lambda: peer.recv(65536), b""))

    def head(self, path, body_bytes, *lines):
        return "\r\n".join([f"POST {path} HTTP/1.1", f"Host: {self.address}", "Content-Type: application/json",
                            f"Content-Length: {body_bytes}", *lines, "", ""]).encode()

    def check_refused(self, path, coding, body, status, text):
        answer = self.post(path, body, {"content-encoding": coding})
        self.assertEqual(answer.status, status, (path, coding, answer.body[:500]))
        self.assertEqual(answer.json.get("type"), "error" if path.startswith("/v1/messages") else None)
        error = answer.json["error"]
        self.assertIn(text, error["message"])
        self.assertEqual(error["type"], "request_too_large" if status == 413 and path.startswith("/v1/messages")
                         else "invalid_request_error")
        self.assertEqual(answer.headers.get("accept-encoding"), "gzip, deflate, zstd" if status == 415 else None)

    def test_the_answer_is_that_of_the_plain_body(self):
        wanted = self.ok("/tokenize", CONTENT).json
        for coding, body in CODED.items():
            answer = self.post("/tokenize", body, {"content-encoding": coding})
            self.assertEqual((answer.status, answer.json), (200, wanted), (coding, answer.body[:500]))

    def test_all_interfaces_take_them(self):
        messages = {"model": self.name, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}
        for path, body in [("/v1/chat/completions", messages), ("/v1/messages", messages),
                           ("/v1/messages/count_tokens", {"model": self.name, "messages": messages["messages"]}),
                           ("/v1/completions", {"model": self.name, "prompt": "Hi", "max_tokens": 2}),
                           ("/v1/responses", {"model": self.name, "input": "Hi", "max_output_tokens": 2}),
                           ("/detokenize", {"tokens": [1, 2]}), ("/apply-template", {"messages": messages["messages"]})]:
            answer = self.post(path, gzip.compress(json.dumps(body).encode()), {"content-encoding": "gzip"})
            self.assertEqual(answer.status, 200, (path, answer.body[:500]))

    def test_a_body_comes_in_chunks_too(self):
        for coding, body in CODED.items():
            connection = harness.http.client.HTTPConnection(self.address, timeout=harness.TIMEOUT_SECONDS)
            self.addCleanup(connection.close)
            for _ in range(2):  # The connection goes on.
                pieces = iter([body[at:at + 7] for at in range(0, len(body), 7)])
                connection.request("POST", "/tokenize", pieces, {"content-encoding": coding}, encode_chunked=True)
                answer = harness.Answer(connection.getresponse())
                self.assertEqual(answer.status, 200, (coding, answer.body[:500]))

    def test_a_client_that_awaits_continue_is_asked_for_the_body(self):
        body = CODED["gzip"]
        head = self.head("/tokenize", len(body), "Content-Encoding: gzip", "Expect: 100-continue", "Connection: close")
        with socket.create_connection(self.address.split(":"), timeout=harness.TIMEOUT_SECONDS) as peer:
            peer.sendall(head)
            self.assertEqual(peer.recv(25), b"HTTP/1.1 100 Continue\r\n\r\n")
            peer.sendall(body)
            self.assertTrue(peer.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n"))
        refused = self.raw(self.head("/tokenize", 5, "Content-Encoding: br", "Expect: 100-continue"))
        self.assertTrue(refused.startswith(b"HTTP/1.1 415 "), refused)

    def test_another_coding_or_two_is_415(self):
        for path in FORMS:
            for coding in ("br", "compress", "gzip, gzip", "gzip, zstd", "gzip;q=1"):
                self.check_refused(path, coding, CODED["gzip"], 415,
                                   f'Content-Encoding "{coding}": the body may have one of these codings, or none: '
                                   "gzip, deflate, zstd")

    def test_a_body_that_is_not_in_its_coding_is_400(self):
        for path in FORMS:
            for coding in ("gzip", "deflate", "zstd"):
                start = f"Content-Encoding {coding}: the body is "
                self.check_refused(path, coding, PLAIN, 400, start + "not")
                self.check_refused(path, coding, CODED[coding][:-1], 400, start + "cut short: it ends after")
                self.check_refused(path, coding, CODED[coding] + PLAIN, 400, "bytes follow its end")
        raw = zlib.compressobj(wbits=-15)
        self.check_refused("/tokenize", "deflate", raw.compress(PLAIN) + raw.flush(), 400, "not zlib (RFC 1950)")

    def test_a_bomb_is_413_and_takes_no_memory(self):
        before = self.server.quiet_resident_bytes()
        for path in FORMS:
            self.check_refused(path, "gzip", gzip.compress(b" " * (64 << 20)), 413, "decompression_ratio_max: ")
        self.assertLess(self.server.quiet_resident_bytes() - before, 32 << 20)
        self.assertTrue(self.server.is_alive())

    def test_the_limits_of_a_body_hold_once_it_is_decoded(self):
        digits = "".join(str(n * n) for n in range(1 << 16)).encode()
        body = gzip.compress(b'{"model": "' + (digits * 64)[:17 << 20] + b'"}', 1)
        for path in ("/v1/chat/completions", "/v1/messages"):
            self.check_refused(path, "gzip", body, 413, "16777216")

    def test_a_request_after_a_refused_body_is_not_answered(self):
        body = CODED["gzip"]
        following = self.head("/tokenize", len(PLAIN), "Connection: close") + PLAIN
        for coding, sent, status in [("br", body, 415), ("gzip", body[:-1], 400), ("gzip", body + b"x", 400), ("zstd", body, 400),
                                     ("gzip", gzip.compress(b" " * (4 << 20)), 413)]:
            answers = self.raw(self.head("/tokenize", len(sent), f"Content-Encoding: {coding}") + sent + following)
            self.assertTrue(answers.startswith(f"HTTP/1.1 {status} ".encode()), answers)
            self.assertEqual(answers.count(b"HTTP/1.1 "), 1, answers)
        answers = self.raw(self.head("/tokenize", len(body), "Content-Encoding: gzip") + body + following)
        self.assertEqual(answers.count(b"HTTP/1.1 200 OK"), 2, answers)


class OtherProgramsTest(harness.EndpointTest):
    def test_the_file_of_the_program_decides(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        shipped = harness.programs.BUILD / "inferlets" / "complete_http.wasm"
        shutil.copy(shipped, folder / "mine.wasm")
        shutil.copy(shipped, folder / "openai_completions.wasm")  # Takes the place of that of quire.
        server = self.enterContext(harness.beside.Server(
            harness.programs.BUILD,
            (folder / "openai_completions.wasm", "--endpoint", "POST /v1/completions=openai_completions",
             "--endpoint", f"POST /mine={folder / 'mine.wasm'}", "--endpoint", f"POST /shipped={shipped}"), 512, model=self.model, has_endpoints=True))
        plain = b'{"prompt": "a", "max_tokens": 1}'
        for path, decodes in [("/mine", False), ("/v1/completions", False), ("/shipped", True)]:
            for coding, body in [("identity", plain), ("gzip", gzip.compress(plain)), ("br", plain)]:
                connection = harness.http.client.HTTPConnection(server.url.removeprefix("ws://"),
                                                                timeout=harness.TIMEOUT_SECONDS)
                self.addCleanup(connection.close)
                connection.request("POST", path, body, {"content-encoding": coding})
                answer = harness.Answer(connection.getresponse())
                is_read = coding == "identity" or (coding == "gzip" if decodes else coding == "br")
                wanted = 200 if is_read else 415 if decodes else 400
                self.assertEqual(answer.status, wanted, (path, coding, answer.body))


if __name__ == "__main__":
    harness.main()
