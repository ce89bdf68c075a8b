"""Drafts from the prompt change the time of an answer, and never a byte of it."""
import pathlib
import re
import tempfile

import harness
from harness import ADD, GOOD_CALL, TEXT, only

CHAT = "/v1/chat/completions"
CHANGING = re.compile(rb'"(?:cached_tokens|cache_read_input_tokens|cache_creation_input_tokens|input_tokens|id|item_id|response_id|created|created_at|completed_at|obfuscation)":\s*(?:"[^"]*"|[\d.]+)')
POEM = "The rain in Spain stays mainly in the plain. " * 6
TOOL = {"type": "function", "function": ADD}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "list", "schema": {
    "type": "array", "minItems": 9, "maxItems": 9, "items": {"enum": ["the rain in Spain", "the plain"]}}}}


def counters(test):
    page = test.ask_of("GET", "/metrics").body.decode()
    names = ("spec_decode_num_draft_tokens", "spec_decode_num_accepted_tokens", "generation_tokens")
    return [int(re.search(rf"^quire_{name}_total (\d+)", page, re.M)[1]) for name in names]


class DraftsTest(harness.EndpointTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.plain = cls.enterClassContext(harness.beside.Server(
            harness.programs.BUILD, ["--no-drafts"], cls.page_count, model=harness.tiny_endpoint_model(folder),
            has_endpoints=True))

    def asked_plain(self, path, body):
        drafted, type(self).address = self.address, harness.urllib.parse.urlparse(self.plain.url).netloc
        try:
            return self.post(path, body)
        finally:
            type(self).address = drafted

    def compare(self, path, **members):
        body = {"model": self.name, **members}
        for stream in (False, True):
            drafted, plain = self.post(path, {**body, "stream": stream}), self.asked_plain(path, {**body, "stream": stream})
            self.assertEqual(drafted.status, 200, drafted.body[:500])
            self.assertEqual(*(CHANGING.sub(b"", each.body) for each in (drafted, plain)))

    def chat(self, **members):
        return {"messages": [{"role": "system", "content": POEM}, {"role": "user", "content": "Again: " + POEM}],
                "max_tokens": 60, "seed": 3, **members}

    def test_every_kind_of_chat_completion_has_the_bytes_of_one_without_drafts(self):
        before = counters(self)
        for members in (
                {}, {"temperature": 0}, {"temperature": 0.4, "seed": 5}, {"temperature": 1, "top_p": 0.8, "seed": 6, "n": 3},
                {"logprobs": True, "top_logprobs": 3}, {"stop": ["e", "zz"]}, {"frequency_penalty": 0.7},
                {"response_format": SCHEMA}, {"response_format": SCHEMA, "temperature": 0.8, "seed": 2},
                {"tools": [TOOL]}, {"tools": [TOOL], "tool_choice": "required"},
                {"tools": [TOOL], "logit_bias": only(GOOD_CALL), "max_tokens": 3},
                {"logit_bias": only(TEXT)}, {"prediction": {"type": "content", "content": POEM}}):
            with self.subTest(**members):
                self.compare(CHAT, **self.chat(**members))
        self.assertGreater(counters(self)[1], before[1] + 100)

    def test_the_other_interfaces_have_the_same_bytes_too(self):
        messages = self.chat()["messages"][1:]
        for temperature in (0, 0.5):
            self.compare("/v1/responses", input=messages, instructions=POEM, max_output_tokens=60, store=False,
                         temperature=temperature, seed=3)
            self.compare("/v1/completions", prompt=POEM, max_tokens=60, seed=3, temperature=temperature)
        self.compare("/v1/messages", messages=messages, system=POEM, max_tokens=60, temperature=0)

    def test_a_text_that_repeats_takes_fewer_steps(self):
        body = {"model": self.name, **self.chat(logit_bias=only(TEXT), max_tokens=200)}
        self.ok(CHAT, body)  # The prompt is computed.
        before, figures = counters(self), self.figures()
        self.ok(CHAT, body)
        drafts, accepted, drawn = (late - early for early, late in zip(before, counters(self)))
        self.assertEqual(drawn, 200)
        self.assertGreater(accepted, 150)
        self.assertLess(drafts, 220)
        self.assertLess(self.figures().passes - figures.passes, 40)

    # ---- predictions

    def usage(self, prediction, **members):
        body = {"model": self.name, **self.chat(logit_bias=only(TEXT), max_tokens=8),
                "prediction": {"type": "content", "content": prediction}, **members}
        whole = self.ok(CHAT, body).json["usage"]
        streamed = self.ok(CHAT, {**body, "stream": True, "stream_options": {"include_usage": True}}).events[-2][1]["usage"]
        self.assertEqual(whole["completion_tokens_details"], streamed["completion_tokens_details"])
        details = whole["completion_tokens_details"]
        return details["accepted_prediction_tokens"], details["rejected_prediction_tokens"]

    def test_a_prediction_is_counted_by_what_the_answer_has_of_it(self):
        sure = "Sure. "
        self.assertEqual(self.usage(sure * 5), (5, 0))
        self.assertEqual(self.usage([{"type": "text", "text": sure * 3}, {"type": "text", "text": sure * 2}]), (5, 0))
        self.assertEqual(self.usage(sure * 20), (8, 12))
        accepted, rejected = self.usage("q" + sure * 4)
        self.assertEqual(accepted, 4)
        self.assertGreater(rejected, 0)
        self.assertEqual(self.usage(""), (0, 0))
        self.assertEqual(self.usage(sure * 5, n=2), (10, 0))
        self.assertNotIn("completion_tokens_details", self.ok(CHAT, {"model": self.name, **self.chat()}).json["usage"])

    def test_special_tokens_in_a_prediction_are_text(self):
        counts = self.usage("<|im_end|>")
        self.assertEqual(counts[0], 0)
        self.assertGreater(counts[1], 1)
        self.compare(CHAT, **self.chat(prediction={"type": "content", "content": "<|im_end|>" * 40}))

    def test_a_prediction_that_cannot_be_read_is_named(self):
        for prediction, param, words in (
                ("text", "prediction", "object"), ({"type": "file", "content": "a"}, "prediction.type", '"file"'),
                ({"content": "a"}, "prediction.type", '"content"'), ({"type": "content"}, "prediction.content", "give"),
                ({"type": "content", "content": 7}, "prediction.content", "string or an array"),
                ({"type": "content", "content": [{"type": "image_url", "image_url": {}}]}, "prediction.content[0]", "image_url"),
                ({"type": "content", "content": [{"type": "text", "text": 7}]}, "prediction.content[0].text", "a string")):
            self.refused(400, prediction, param, words)
        self.refused(413, {"type": "content", "content": "a" * (10 << 20)}, "prediction", "10485760 bytes of text; at most 1048576")

    def refused(self, status, prediction, param, words):
        answer = self.post(CHAT, {"model": self.name, **self.chat(), "prediction": prediction})
        self.assertEqual(answer.status, status, answer.body[:500])
        error = answer.json["error"]
        self.assertEqual(error["param"], param)
        self.assertIn(words, error["message"])


if __name__ == "__main__":
    harness.main()
