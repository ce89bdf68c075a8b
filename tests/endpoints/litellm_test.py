"""The client litellm, which speaks to this server as to OpenAI, to a text model of OpenAI, and to Anthropic."""
import json

import clients
import harness

litellm = clients.find("litellm")
pydantic = clients.find("pydantic")


@clients.needs(litellm, "litellm")
class LiteLlmTest(clients.SmolTest):
    def complete(self, provider="openai", **members):
        base = self.url if provider == "anthropic" else self.url + "/v1"
        return litellm.completion(**{
            "model": f"{provider}/{self.name}", "api_base": base, "api_key": "none", "messages": clients.QUESTION,
            "temperature": 0, "max_tokens": 24, "num_retries": 0, **members})

    def test_an_answer_has_the_text_of_the_endpoint_and_its_usage(self):
        whole = self.complete()
        self.assertEqual(whole.choices[0].message.content, self.answer())
        self.assertIn("Paris", whole.choices[0].message.content)
        again = self.complete().usage
        self.assertEqual(again.total_tokens, again.prompt_tokens + again.completion_tokens)
        self.assertGreater(again.prompt_tokens_details.cached_tokens, 0)

    def test_the_parts_of_a_stream_are_the_answer(self):
        chunks = list(self.complete(stream=True, stream_options={"include_usage": True}))
        self.assertGreater(len(chunks), 3)
        built = litellm.stream_chunk_builder(chunks)
        self.assertEqual(built.choices[0].message.content, self.answer())
        self.assertEqual(built.usage.completion_tokens, self.complete().usage.completion_tokens)

    def test_the_interface_of_anthropic_gives_the_same_answer_whole_and_streamed(self):
        whole = self.complete("anthropic")
        self.assertEqual(whole.choices[0].message.content, self.answer())
        streamed = "".join(chunk.choices[0].delta.content or "" for chunk in self.complete("anthropic", stream=True))
        self.assertEqual(streamed, whole.choices[0].message.content)

    def test_a_text_model_continues_a_text(self):
        members = {"model": f"text-completion-openai/{self.name}", "api_base": self.url + "/v1", "api_key": "none",
                   "prompt": "The capital of France is", "temperature": 0, "max_tokens": 8}
        wanted = self.ok("/v1/completions", {**members, "model": self.name, "api_base": None, "api_key": None}).json
        self.assertEqual(litellm.text_completion(**members).choices[0].text, wanted["choices"][0]["text"])

    def test_a_tool_is_called_and_its_result_goes_back_by_either_interface(self):
        for provider in ("openai", "anthropic"):
            with self.subTest(provider):
                members = {"tools": [clients.ADD_TOOL], "max_tokens": 60}
                message = self.complete(provider, tool_choice="required", **members).choices[0].message
                call, = message.tool_calls
                self.assertEqual((call.function.name, set(json.loads(call.function.arguments))), ("add", {"a", "b"}))
                result = {"role": "tool", "tool_call_id": call.id, "name": "add", "content": "7"}
                answer = self.complete(provider, messages=[*clients.QUESTION, message, result], **members)
                self.assertTrue(answer.choices[0].message.content or answer.choices[0].message.tool_calls)

    def test_a_call_of_a_stream_is_put_together(self):
        members = {"tools": [clients.ADD_TOOL], "tool_choice": "required", "max_tokens": 60}
        built = litellm.stream_chunk_builder(list(self.complete(stream=True, **members)))
        calls = [[call.function.arguments for call in message.tool_calls]
                 for message in (built.choices[0].message, self.complete(**members).choices[0].message)]
        self.assertEqual(calls[0], calls[1])

    def test_a_format_of_pydantic_is_filled_in(self):
        class City(pydantic.BaseModel):
            name: str = pydantic.Field(max_length=20)
            size: int = pydantic.Field(ge=0, le=99)

        text = self.complete(response_format=City, max_tokens=100).choices[0].message.content
        self.assertIn(City.model_validate_json(text).size, range(100))

    def test_logprobs_have_alternatives(self):
        content = self.complete(logprobs=True, top_logprobs=2, max_tokens=3).choices[0].logprobs.content
        self.assertEqual([len(each.top_logprobs) for each in content], [2] * 3)

    def test_errors_have_their_classes(self):
        with self.assertRaises(litellm.NotFoundError):
            self.complete(model="openai/x")
        with self.assertRaises(litellm.ContextWindowExceededError):
            self.complete(messages=[{"role": "user", "content": self.too_long()}])
        with self.assertRaises(litellm.BadRequestError) as refused:
            self.complete(temperature=9)
        self.assertIn("temperature: must be a number from 0 to 2", str(refused.exception))
        with self.assertRaises(litellm.BadRequestError):
            self.complete(stream=True, n=0)
        with self.assertRaises(litellm.NotFoundError):
            self.complete("anthropic", model="anthropic/x")


if __name__ == "__main__":
    harness.main()
