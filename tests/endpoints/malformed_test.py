"""Bodies that are not what an endpoint takes: each has a status and an error in the form of the protocol."""
import harness

PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens",
         "/tokenize", "/detokenize", "/apply-template", "/v1beta/models/{model}:generateContent",
         "/v1beta/models/{model}:streamGenerateContent?alt=sse", "/v1beta/models/{model}:countTokens")
DEPTH = 1_000_000
WRONG = {
    "nothing": b"",
    "not JSON": b"{",
    "half a member": b'{"model": ',
    "text after": b'{} {}',
    "an array": b"[]",
    "a number": b"5",
    "null": b"null",
    "deep arrays": b"[" * DEPTH,
    "deep objects": b'{"a":' * (DEPTH // 4),
    "deep messages": b'{"messages":' + b"[" * 1000 + b"]" * 1000 + b"}",
    "no UTF-8": b'{"model": "\xff\xfe"}',
    "half a surrogate": b'{"model": "\\ud800"}',
    "a control character": b'{"model": "\x01"}',
    "a number that is too large": b'{"model": 1e999}',
    "NaN": b'{"model": NaN}',
}


class MalformedTest(harness.EndpointTest):
    def check(self, path, body, status, what):
        answer = self.post(path.replace("{model}", self.name), body)
        self.assertEqual(answer.status, status, (path, what, answer.body[:500]))
        error = answer.json["error"]
        self.assertIsInstance(error["message"], str)
        self.assertEqual(answer.json.get("type"), "error" if path.startswith("/v1/messages") else None)
        return error

    def test_a_body_that_is_not_a_json_object_is_400(self):
        for path in PATHS:
            for what, body in WRONG.items():
                self.check(path, body, 400, what)

    def test_a_body_that_is_too_large_is_413(self):
        body = b'{"model": "' + b"a" * (17 << 20) + b'"}'
        for path in PATHS:
            self.check(path, body, 413, "large")

    def test_a_body_of_the_largest_size_with_the_most_values_fits_in_memory(self):
        rest = b'{"zzz": [' + b"1," * ((16 << 19) - 32) + b'1]}'
        for path in ("/v1/chat/completions", "/tokenize"):
            self.check(path, rest, 400, "values")
        empty = b'{"zzz": [' + b"[]," * ((16 << 20) // 3 - 32) + b'1]}'
        self.check("/v1/messages", empty, 400, "arrays")
        members = b'{"zzz": {' + b'"":1,' * ((16 << 20) // 5 - 32) + b'"":1}}'
        self.check("/v1/messages", members, 400, "members")

    def test_the_server_goes_on(self):
        self.test_a_body_that_is_not_a_json_object_is_400()
        self.ok("/tokenize", {"content": "x"})
        self.assertTrue(self.server.is_alive())

    def test_other_methods_are_405_and_other_paths_404(self):
        self.assertEqual(self.ask_of("GET", "/v1/chat/completions").status, 405)
        self.assertEqual(self.ask_of("DELETE", "/v1/models").status, 405)
        self.assertEqual(self.ask_of("POST", "/v1/nothing", b"{}").status, 404)


if __name__ == "__main__":
    harness.main()
