"""Adapters through the endpoints: a request picks one by `model`, and each row of a batch has its own.

The model is tiny_llama with random weights, so the tests look at what differs and at what is the same.
"""
import concurrent.futures
import pathlib
import subprocess

import harness

ADAPTERS = pathlib.Path(__file__).resolve().parent.parent / "golden" / "adapters"
PROMPT = "The sky is blue because the sea is. " * 4
MESSAGES = [{"role": "user", "content": PROMPT}]
# Each endpoint that writes text: a request, its text of an answer, and that of one event of its stream.
ENDPOINTS = {
    "/v1/completions": ({"prompt": PROMPT, "max_tokens": 24}, lambda answer: answer["choices"][0]["text"],
                        lambda name, event: event["choices"][0]["text"] if event["choices"] else ""),
    "/v1/chat/completions": ({"messages": MESSAGES, "max_tokens": 24}, lambda answer: answer["choices"][0]["message"]["content"],
                             lambda name, event: event["choices"][0]["delta"].get("content") or "" if event["choices"] else ""),
    "/v1/responses": ({"input": PROMPT, "max_output_tokens": 24}, lambda answer: answer["output"][0]["content"][0]["text"],
                      lambda name, event: event["delta"] if name == "response.output_text.delta" else ""),
    "/v1/messages": ({"messages": MESSAGES, "max_tokens": 24}, lambda answer: answer["content"][0]["text"],
                     lambda name, event: event["delta"]["text"] if name == "content_block_delta" else ""),
}


class AdaptersTest(harness.EndpointTest):
    has_store = True
    flags = ("--adapters", str(ADAPTERS), "--adapter", f"first={ADAPTERS / 'llama_r8'}",
             "--adapter", f"second={ADAPTERS / 'llama_r64_rslora.gguf'}")

    def text_of(self, model):
        body = {"model": model, "prompt": PROMPT, "max_tokens": 24, "temperature": 0}
        return self.ok("/v1/completions", body).json["choices"][0]["text"]

    def test_are_listed_behind_their_model_as_its_children(self):
        listed = self.ask_of("GET", "/v1/models").json["data"]
        self.assertEqual([each["id"] for each in listed], [self.name, "first", "second"])
        self.assertNotIn("parent", listed[0])
        self.assertEqual({each["parent"] for each in listed[1:]}, {self.name})
        one = self.ask_of("GET", "/v1/models/first").json
        self.assertEqual((one["id"], one["parent"]), ("first", self.name))
        self.assertEqual(self.ask_of("GET", f"/v1/models/{self.name}:second").json["parent"], self.name)

    def test_an_unknown_name_is_answered_with_those_that_there_are_and_the_one_that_is_meant(self):
        for name, meant in (("frist", "first"), ("Second", "second"), (self.name[:-1], self.name), ("zzzzzzzz", None)):
            for answer in (self.post("/v1/completions", {"model": name, "prompt": "x"}),
                           self.post("/v1/messages", {"model": name, "messages": MESSAGES, "max_tokens": 1}),
                           self.ask_of("GET", f"/v1/models/{name}")):
                message = answer.json["error"]["message"]
                self.assertEqual(answer.status, 404)
                self.assertIn(f"server has {self.name}, and as adapters first, second", message)
                self.assertEqual(f'did you mean "{meant}"?' in message, meant is not None, message)

    def test_an_adapter_never_has_the_name_of_a_model(self):
        answer = self.post("/v1/load_lora_adapter", {"lora_name": self.name, "lora_path": "llama_r8"})
        self.assertEqual(answer.status, 400, answer.body)
        self.assertIn(f"{self.name} is the name of a model", answer.body.decode())
        refused = subprocess.run([harness.programs.BUILD / "quire", "serve", "--model", self.model, "--no-store", "--listen",
                                  "127.0.0.1:0", "--adapter", f"{self.name}={ADAPTERS / 'llama_r8'}"],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                                 env=harness.beside.environment())
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(f"{self.name} is the name of a model", refused.stderr)

    def test_change_the_answer_under_either_form_of_their_name(self):
        base, first, second = (self.text_of(each) for each in (self.name, "first", "second"))
        self.assertEqual(len({base, first, second}), 3)
        self.assertEqual(self.text_of(f"{self.name}:first"), first)
        self.assertEqual(self.text_of(self.name), base, "the base does not find pages of an adapter")

    def test_answer_the_same_when_all_are_in_one_batch(self):
        models = [self.name, "first", "second", f"{self.name}:first"] * 4
        alone = {each: self.text_of(each) for each in set(models)}
        with concurrent.futures.ThreadPoolExecutor(len(models)) as pool:
            together = list(pool.map(self.text_of, models))
        self.assertEqual(together, [alone[each] for each in models])

    def test_share_no_page_with_the_base(self):
        def found(model):
            messages = [{"role": "user", "content": "A prompt that no other test has. " * 6}]
            body = {"model": model, "messages": messages, "max_tokens": 1}
            usage = self.ok("/v1/chat/completions", body).json["usage"]
            return usage["prompt_tokens_details"]["cached_tokens"]

        found(self.name)
        self.assertGreater(found(self.name), 0)
        self.assertEqual(found("first"), 0)
        self.assertGreater(found("first"), 0)

    def test_are_picked_by_model_in_each_endpoint(self):
        for path, (body, text_of, _) in ENDPOINTS.items():
            with self.subTest(path):
                said = {}
                for model in (self.name, "first", f"{self.name}:first", "second", f"{self.name}:second"):
                    answer = self.ok(path, {"model": model, "temperature": 0, **body}).json
                    self.assertEqual(answer["model"], model, "the answer names the model as it was asked for")
                    said[model] = text_of(answer)
                self.assertEqual(len({said[each] for each in (self.name, "first", "second")}), 3, said)
                self.assertEqual(said[f"{self.name}:first"], said["first"])
                self.assertEqual(said[f"{self.name}:second"], said["second"])

    def test_stream_the_text_that_they_give_at_once(self):
        for path, (body, text_of, text_of_event) in ENDPOINTS.items():
            for model in ("first", f"{self.name}:first"):
                with self.subTest(path, model=model):
                    request = {"model": model, "temperature": 0, **body}
                    events = self.ok(path, {**request, "stream": True}).events
                    streamed = "".join(text_of_event(name, event) for name, event in events if event != "[DONE]")
                    self.assertEqual(streamed, text_of(self.ok(path, request).json))

    def test_are_names_of_a_model_where_only_tokens_are_asked_for(self):
        for model in ("first", f"{self.name}:first"):
            counted = self.ok("/v1/messages/count_tokens", {"model": model, "messages": MESSAGES}).json
            self.assertGreater(counted["input_tokens"], 0)
            self.assertGreater(self.ok("/tokenize", {"model": model, "prompt": PROMPT}).json["count"], 0)

    def test_that_are_not_there_are_an_error_in_each_endpoint(self):
        for path, (body, *_) in ENDPOINTS.items():
            for name in ("third", f"{self.name}:third", "other-model:first", f"{self.name}:"):
                with self.subTest(path, name=name):
                    answer = self.post(path, {"model": name, **body})
                    self.assertEqual(answer.status, 404, answer.body)
                    self.assertIn(name, answer.json["error"]["message"])

    def test_that_are_not_there_are_an_error_that_lists_the_models(self):
        for name in ("third", f"{self.name}:third"):
            answer = self.post("/v1/completions", {"model": name, "prompt": "a"})
            self.assertEqual(answer.status, 404, answer.body)
            self.assertEqual(answer.json["error"]["code"], "model_not_found")

    def test_of_a_conversation_go_on_under_the_model_of_each_turn(self):
        first = self.ok("/v1/responses", {"model": "first", "input": PROMPT, "max_output_tokens": 8}).json
        body = {"input": "Go on.", "previous_response_id": first["id"], "max_output_tokens": 8, "temperature": 0}
        under = {model: self.ok("/v1/responses", {"model": model, **body}).json for model in ("first", self.name)}
        self.assertEqual({model: each["model"] for model, each in under.items()}, {"first": "first", self.name: self.name})


class ManyAdaptersTest(harness.EndpointTest):
    """A server has more adapters than can act together, and one under several names."""
    names = [f"name{number}" for number in range(9)]
    flags = [word for name in names for word in ("--adapter", f"{name}={ADAPTERS / 'llama_r8'}")]

    def test_are_all_there_and_the_same(self):
        listed = [each["id"] for each in self.ask_of("GET", "/v1/models").json["data"]]
        self.assertEqual(listed, [self.name, *self.names])
        body = {"prompt": PROMPT, "max_tokens": 24, "temperature": 0}
        texts = {name: self.ok("/v1/completions", {"model": name, **body}).json["choices"][0]["text"] for name in listed}
        self.assertEqual(len({texts[name] for name in self.names}), 1, texts)
        self.assertNotEqual(texts[self.name], texts["name0"])


harness.main()
