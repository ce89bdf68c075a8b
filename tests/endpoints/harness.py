"""The endpoints that `quire serve` has without being asked, on a server with a tiny model.

A test file is `NAME_test.py`: `class NameTest(harness.EndpointTest)` and, at its end, `harness.main()`. ctest runs it
as `endpoint_NAME` with the build folder as its argument. The weights of the model are random, so the tests look at
shapes, counts and whether bytes are the same. KNOWN are tokens that stand for a whole text each: a request whose
`logit_bias` favors one of them gets that text as its answer.
"""
import http.client
import importlib.util
import json
import pathlib
import sys
import urllib.parse

_PATH = pathlib.Path(__file__).resolve().parent.parent / "programs" / "harness.py"
_SPEC = importlib.util.spec_from_file_location("programs_harness", _PATH)
programs = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(programs)
beside = programs.beside

TIMEOUT_SECONDS = 120
GOOD_CALL, BAD_CALL, CUT_CALL, TEXT, THOUGHT = range(793, 798)  # The first tokens after the model's own.
KNOWN = {
    GOOD_CALL: '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>\n',
    BAD_CALL: '<tool_call>\n{"name": "add", "arguments": {"a": "many"}}\n</tool_call>\n',
    CUT_CALL: '<tool_call>\n{"name": "add", "argum',
    TEXT: "Sure. ",
    THOUGHT: "<think>a thought</think>",
}
ADD = {"name": "add", "description": "Adds one.",
       "parameters": {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 99}},
                      "required": ["a"], "additionalProperties": False}}


def only(token):
    """The `logit_bias` that leaves only this token."""
    return {str(token): 100}


def tiny_endpoint_model(folder):
    """The tiny model with a chat template and the KNOWN tokens."""
    model = programs.tiny_chat_model(folder)
    path = model / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    tokenizer["added_tokens"] += [
        {"id": token, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
         "special": False} for token, text in KNOWN.items()]
    path.write_text(json.dumps(tokenizer))
    return model


class Answer:
    """A response: status, headers, body; `json` of it, or the `events` of a stream as (name, JSON or text)."""

    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def events(self):
        found = []
        for block in self.body.decode().split("\n\n"):
            name, data = "", []
            for line in block.splitlines():
                if line.startswith("event: "):
                    name = line[len("event: "):]
                elif line.startswith("data: "):
                    data.append(line[len("data: "):])
            if data:
                text = "\n".join(data)
                found.append((name, text if text == "[DONE]" else json.loads(text)))
        return found


class EndpointTest(programs.ProgramTest):
    """One server for each test class."""
    has_endpoints = True

    @classmethod
    def models(cls, folder):
        cls.model = tiny_endpoint_model(folder)
        return [cls.model]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.address = urllib.parse.urlparse(cls.server.url).netloc
        cls.url = "http://" + cls.address
        cls.name = cls.ask_of("GET", "/v1/models").json["data"][0]["id"]

    @classmethod
    def ask_of(cls, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(cls.address, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def post(self, path, body, headers=None):
        """`body` as JSON, or bytes as they are."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask_of("POST", path, data, {"content-type": "application/json", **(headers or {})})

    def ok(self, path, body):
        answer = self.post(path, body)
        self.assertEqual(answer.status, 200, answer.body[:2000])
        return answer

    def context_length(self):
        return self.ask_of("GET", "/v1/models").json["data"][0]["max_model_len"]


def main():
    if len(sys.argv) > 1:
        programs.BUILD = pathlib.Path(sys.argv[1]).resolve()
    programs.main()
