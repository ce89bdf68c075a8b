"""POST /v1/completions and /v1/embeddings, GET /v1/models."""
import re

import harness
from harness import KNOWN, TEXT, only

PATH = "/v1/completions"


class OpenAiCompletionsTest(harness.EndpointTest):
    def request(self, **members):
        return {"model": self.name, "prompt": "Once upon", "max_tokens": 6, "seed": 1, **members}

    def whole(self, **members):
        return self.ok(PATH, self.request(**members)).json

    def chunks(self, **members):
        events = [data for name, data in self.ok(PATH, self.request(stream=True, **members)).events]
        self.assertEqual(events[-1], "[DONE]")
        return events[:-1]

    def text_of(self, chunks, index=0):
        return "".join(choice["text"] for chunk in chunks for choice in chunk["choices"] if choice["index"] == index)

    def test_a_response_and_its_stream_have_the_same_text(self):
        whole = self.whole()
        self.assertEqual((whole["object"], whole["model"]), ("text_completion", self.name))
        self.assertEqual(whole["usage"]["completion_tokens"], 6)
        chunks = self.chunks(stream_options={"include_usage": True})
        self.assertEqual(self.text_of(chunks), whole["choices"][0]["text"])
        self.assertEqual(chunks[-2]["choices"][0]["finish_reason"], "length")
        self.assertEqual((chunks[-1]["choices"], chunks[-1]["usage"]["completion_tokens"]), ([], 6))

    def test_the_default_is_16_tokens(self):
        request = self.request()
        del request["max_tokens"]
        self.assertEqual(self.ok(PATH, request).json["usage"]["completion_tokens"], 16)

    def test_several_prompts_have_n_choices_each(self):
        whole = self.whole(prompt=["Once", "Twice"], n=2)
        self.assertEqual([choice["index"] for choice in whole["choices"]], [0, 1, 2, 3])
        chunks = self.chunks(prompt=["Once", "Twice"], n=2)
        self.assertEqual([self.text_of(chunks, index) for index in range(4)],
                         [choice["text"] for choice in whole["choices"]])
        self.assertEqual(whole["choices"][0]["text"], self.whole(prompt="Once")["choices"][0]["text"])
        self.assertEqual(whole["choices"][2]["text"], self.whole(prompt="Twice")["choices"][0]["text"])

    def test_a_prompt_in_tokens_is_that_of_its_text(self):
        tokens = self.ok("/tokenize", {"prompt": "Once upon"}).json["tokens"]
        wanted = self.whole()["choices"]
        self.assertEqual(self.whole(prompt=tokens)["choices"], wanted)
        self.assertEqual(self.whole(prompt=[tokens])["choices"], wanted)

    def test_echo_begins_with_the_prompt(self):
        text = self.whole()["choices"][0]["text"]
        self.assertEqual(self.whole(echo=True)["choices"][0]["text"], "Once upon" + text)
        self.assertEqual(self.text_of(self.chunks(echo=True)), "Once upon" + text)
        self.assertEqual(self.whole(echo=True, max_tokens=0)["choices"][0]["text"], "Once upon")

    def test_logprobs_have_one_element_for_each_token(self):
        logprobs = self.whole(logprobs=2)["choices"][0]["logprobs"]
        self.assertEqual([len(logprobs[key]) for key in ("tokens", "token_logprobs", "top_logprobs", "text_offset")],
                         [6] * 4)
        self.assertEqual(logprobs["text_offset"][0], 0)
        self.assertTrue(all(0 < len(each) <= 3 for each in logprobs["top_logprobs"]))
        streamed = [token for chunk in self.chunks(logprobs=2) for choice in chunk["choices"]
                    if choice["logprobs"] for token in choice["logprobs"]["tokens"]]
        self.assertEqual(streamed, logprobs["tokens"])
        # The drawn token is among the alternatives in any case.
        drawn = self.whole(logprobs=0)["choices"][0]["logprobs"]
        self.assertEqual(drawn["top_logprobs"], [{token: value} for token, value in zip(
            drawn["tokens"], drawn["token_logprobs"])])

    def test_alternatives_have_names_of_their_own_and_parts_of_characters_have_their_bytes(self):
        for logprobs in [self.whole(logprobs=20, max_tokens=30)["choices"][0]["logprobs"]]:
            for token, each in zip(logprobs["tokens"], logprobs["top_logprobs"]):
                self.assertIn(token, each)
                self.assertFalse([name for name in each if "\ufffd" in name])
            names = [name for each in logprobs["top_logprobs"] for name in each]
            self.assertTrue(any(re.fullmatch(r"bytes:(\\x[0-9a-f]{2})+", name) for name in names), names)

    def test_no_logprobs_of_a_token_that_a_stop_is_all_of(self):
        choice = self.whole(logit_bias=only(TEXT), stop=["re. Sure. S"], logprobs=1)["choices"][0]
        self.assertEqual((choice["text"], choice["logprobs"]["tokens"], choice["logprobs"]["text_offset"]),
                         ("Su", [KNOWN[TEXT]], [0]))

    def test_stop_and_logit_bias_act_as_in_chat(self):
        choice = self.whole(logit_bias=only(TEXT), stop=["re."])["choices"][0]
        self.assertEqual((choice["text"], choice["finish_reason"]), ("Su", "stop"))
        self.assertEqual(self.whole(logit_bias=only(TEXT), max_tokens=2)["choices"][0]["text"], KNOWN[TEXT] * 2)

    def test_penalties_count_the_tokens_of_the_answer_alone(self):
        members = {"prompt": KNOWN[TEXT] * 60, "logit_bias": only(TEXT), "temperature": 0, "frequency_penalty": 2}
        self.assertEqual(self.whole(max_tokens=9, **members)["choices"][0]["text"], KNOWN[TEXT] * 9)
        self.assertIn(self.whole(max_tokens=80, **members)["choices"][0]["text"].count(KNOWN[TEXT]), range(20, 70))

    def test_the_same_seed_gives_the_same_choices_with_a_hit_and_a_miss_of_the_cache(self):
        prompt = "A prompt of this test alone. " * 20
        first, second = self.whole(prompt=prompt), self.whole(prompt=prompt)
        self.assertEqual(first["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
        self.assertGreater(second["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
        self.assertEqual(first["choices"], second["choices"])

    def test_wrong_values_are_refused_by_the_name_of_the_member(self):
        for member, values in {
                "prompt": [None, "", [], [""], [[]], {}, 5, [1.5], [99999], [-1], ["x"] * 129, [[1], "", "x"]],
                "max_tokens": [-1, "5"], "n": [0], "best_of": [2, 0], "logprobs": [21, True, "1"], "echo": [1],
                "suffix": ["x"], "model": [None, 5]}.items():
            for value in values:
                answer = self.post(PATH, self.request(**{member: value}))
                self.assertEqual((answer.status, answer.json["error"]["param"]), (400, member), (member, value))

    def test_a_prompt_that_does_not_fit_is_refused_with_the_numbers(self):
        error = self.post(PATH, self.request(prompt="word " * 3000)).json["error"]
        self.assertEqual((error["param"], error["code"]), ("prompt", "context_length_exceeded"))
        self.assertIn(str(self.context_length()), error["message"])

    def test_embeddings_say_that_the_model_does_not_embed(self):
        answer = self.post("/v1/embeddings", {"model": self.name, "input": "x", "encoding_format": "base64"})
        self.assertEqual((answer.status, answer.json["error"]["param"]), (400, "model"))
        self.assertIn("does not embed", answer.json["error"]["message"])
        self.assertEqual(self.post("/v1/embeddings", {"model": "other", "input": "x"}).status, 404)

    def test_models_are_listed_and_found_by_name(self):
        models = self.ask_of("GET", "/v1/models").json
        self.assertEqual((models["object"], [each["id"] for each in models["data"]]), ("list", [self.name]))
        one = self.ask_of("GET", "/v1/models/" + self.name)
        self.assertEqual(one.json, models["data"][0])
        absent = self.ask_of("GET", "/v1/models/a%2Fb")
        self.assertEqual((absent.status, absent.json["error"]["code"]), (404, "model_not_found"))
        self.assertIn('"a/b"', absent.json["error"]["message"])
        absent = self.ask_of("GET", "/v1/models/a", headers={"anthropic-version": "2023-06-01"})
        self.assertEqual((absent.status, absent.json["error"]["type"]), (404, "not_found_error"))


if __name__ == "__main__":
    harness.main()
