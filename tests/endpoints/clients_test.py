"""The clients of OpenAI, Anthropic and Gemini for Python, as their registry has them; see clients.py."""
import enum
import json
import pathlib
import typing

import clients
import harness
import tables_test
from harness import ADD, GOOD_CALL, TEXT, only
from parrot import parrot

openai = clients.find("openai")
anthropic = clients.find("anthropic")
genai = clients.find("google.genai")
pydantic = clients.find("pydantic")
MESSAGES = [{"role": "user", "content": "Hello there"}]
TOOLS = [{"type": "function", "function": ADD}]


@clients.needs(openai, "openai")
class OpenAiClientTest(harness.EndpointTest):
    has_store = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = openai.OpenAI(base_url=cls.url + "/v1", api_key="none", max_retries=0,
                                   _strict_response_validation=True)
        cls.chat = cls.client.chat.completions

    def test_each_parameter_that_the_client_has_is_in_a_table(self):
        for params, heading in [(openai.types.chat.completion_create_params, "Chat completions"),
                                (openai.types.completion_create_params, "Completions"),
                                (openai.types.responses.response_create_params, "Responses")]:
            rows = tables_test.tables("openai.md", heading)
            members = {member for kind in rows.values() for member in kind}
            base = "ResponseCreateParamsBase" if heading == "Responses" else "CompletionCreateParamsBase"
            self.assertEqual(set(getattr(params, base).__annotations__) - members, set())

    def test_models_are_listed_and_retrieved(self):
        model, = self.client.models.list().data
        self.assertEqual(self.client.models.retrieve(model.id), model)

    def test_a_completion_and_its_stream_parse_in_the_typed_models(self):
        members = {"model": self.name, "messages": MESSAGES, "max_tokens": 8, "seed": 1, "n": 2, "logprobs": True,
                   "top_logprobs": 2}
        whole = self.chat.create(**members)
        texts = ["", ""]
        for chunk in self.chat.create(stream=True, stream_options={"include_usage": True}, **members):
            for choice in chunk.choices:
                texts[choice.index] += choice.delta.content or ""
        self.assertEqual(texts, [choice.message.content for choice in whole.choices])
        self.assertEqual(chunk.usage.completion_tokens, whole.usage.completion_tokens)
        self.assertEqual(len(whole.choices[0].logprobs.content[0].top_logprobs), 2)

    def test_the_helper_for_streams_finds_the_calls(self):
        with self.chat.stream(model=self.name, messages=MESSAGES, tools=TOOLS, logit_bias=only(GOOD_CALL),
                              max_tokens=2) as stream:
            names = [event.type for event in stream]
            message = stream.get_final_completion().choices[0].message
        self.assertEqual([json.loads(call.function.arguments) for call in message.tool_calls], [{"a": 1}] * 2)
        self.assertIn("tool_calls.function.arguments.done", names)

    def test_a_conversation_goes_on_with_the_message_as_it_came(self):
        message = self.chat.create(model=self.name, messages=MESSAGES, tools=TOOLS, tool_choice="required",
                                   max_tokens=60).choices[0].message
        result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "2"}
        answer = self.chat.create(model=self.name, messages=[*MESSAGES, message, result], tools=TOOLS, max_tokens=4)
        self.assertEqual(answer.usage.completion_tokens, 4)

    def test_a_format_and_a_tool_of_pydantic_are_filled_in(self):
        class Add(pydantic.BaseModel):
            kind: str = pydantic.Field(pattern="^[ab]$")
            sum: int = pydantic.Field(ge=0, le=9)

        parsed = self.chat.parse(model=self.name, messages=MESSAGES, response_format=Add).choices[0].message.parsed
        self.assertIn(parsed.kind, "ab")
        call, = self.chat.parse(model=self.name, messages=MESSAGES, tools=[openai.pydantic_function_tool(Add)],
                                tool_choice="required").choices[0].message.tool_calls
        self.assertIn(call.function.parsed_arguments.sum, range(10))

    def test_completions_parse_in_the_typed_models(self):
        members = {"model": self.name, "prompt": "Once", "max_tokens": 5, "seed": 1, "logprobs": 2}
        whole = self.client.completions.create(**members)
        # A chunk has no reason to finish yet; the typed model of the client wants one, so it does not validate.
        lenient = openai.OpenAI(base_url=self.client.base_url, api_key="none", max_retries=0)
        text = "".join(chunk.choices[0].text for chunk in lenient.completions.create(stream=True, **members))
        self.assertEqual(text, whole.choices[0].text)

    def test_a_response_is_created_retrieved_listed_and_deleted(self):
        responses = self.client.responses
        members = {"model": self.name, "max_output_tokens": 8, "extra_body": {"seed": 1}}
        first = responses.create(input="Hello there", instructions="Be short.", **members)
        self.assertEqual(responses.retrieve(first.id), first)
        second = responses.create(input="And now?", previous_response_id=first.id, **members)
        self.assertEqual(second.previous_response_id, first.id)
        self.assertGreater(second.usage.input_tokens_details.cached_tokens, 0)
        items = list(responses.input_items.list(second.id, order="asc", limit=2))  # Of two pages.
        self.assertEqual([item.role for item in items], ["user", "assistant", "user"])
        again = responses.create(input=[{"role": "user", "content": "Hello there"}, *first.output], **members)
        self.assertEqual(again.usage.output_tokens, 8)
        responses.delete(first.id)
        with self.assertRaises(openai.NotFoundError):
            responses.retrieve(first.id)
        with self.assertRaises(openai.BadRequestError) as absent:
            responses.create(input="x", previous_response_id=first.id, **members)
        self.assertEqual((absent.exception.param, absent.exception.code),
                         ("previous_response_id", "previous_response_not_found"))

    def test_the_events_of_a_response_parse_and_the_helper_puts_them_together(self):
        members = {"model": self.name, "max_output_tokens": 8, "extra_body": {"seed": 1}, "input": "Hello there"}
        whole = self.client.responses.create(include=["message.output_text.logprobs"], top_logprobs=2, **members)
        text = ""
        for event in self.client.responses.create(stream=True, **members):
            if event.type == "response.output_text.delta":
                text += event.delta
        self.assertEqual((text, event.type), (whole.output_text, "response.incomplete"))
        self.assertEqual(len(whole.output[0].content[0].logprobs[0].top_logprobs), 2)
        with self.client.responses.stream(**{**members, "extra_body": {"stop": ["re."], "logit_bias": only(TEXT)}}
                                          ) as stream:
            names = [event.type for event in stream]
            self.assertEqual(stream.get_final_response().output_text, "Su")
        self.assertEqual(names[-1], "response.completed")

    def test_a_response_in_the_background_is_polled_followed_and_cancelled(self):
        responses = self.client.responses
        members = {"model": self.name, "input": "Hello there", "background": True, "extra_body": {"seed": 1}}
        response = responses.create(max_output_tokens=20, **members)
        events = list(responses.retrieve(response.id, stream=True))
        self.assertEqual(events[-1].response, responses.retrieve(response.id))
        self.assertEqual(list(responses.retrieve(response.id, stream=True, starting_after=4)), events[5:])
        endless = responses.create(**{**members, "extra_body": {"ignore_eos": True}})
        self.assertEqual(responses.cancel(endless.id).status, "cancelled")

    def test_a_response_fills_in_a_format_and_a_tool_of_pydantic(self):
        class Add(pydantic.BaseModel):
            sum: int = pydantic.Field(ge=0, le=9)

        parsed = self.client.responses.parse(model=self.name, input="Hello", text_format=Add).output_parsed
        self.assertIn(parsed.sum, range(10))
        tool = openai.pydantic_function_tool(Add)["function"]
        call, = self.client.responses.parse(model=self.name, input="Hello", tools=[{"type": "function", **tool}],
                                            tool_choice="required").output
        self.assertIn(call.parsed_arguments["sum"], range(10))

    def test_errors_have_their_classes_and_their_members(self):
        with self.assertRaises(openai.NotFoundError) as absent:
            self.chat.create(model="x", messages=MESSAGES)
        self.assertEqual((absent.exception.param, absent.exception.code), ("model", "model_not_found"))
        with self.assertRaises(openai.BadRequestError) as refused:
            self.chat.create(model=self.name, messages=MESSAGES, function_call="none", stream=True)
        self.assertEqual((refused.exception.param, refused.exception.code), ("function_call", "unsupported_parameter"))
        with self.assertRaises(openai.BadRequestError):
            self.client.embeddings.create(model=self.name, input="x")


@clients.needs(anthropic, "anthropic")
class AnthropicClientTest(harness.EndpointTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = anthropic.Anthropic(base_url=cls.url, api_key="none", max_retries=0,
                                         _strict_response_validation=True)
        cls.members = {"model": cls.name, "messages": MESSAGES, "max_tokens": 8, "extra_body": {"seed": 1}}

    def test_each_parameter_that_the_client_has_is_in_a_table(self):
        params = anthropic.types.message_create_params.MessageCreateParamsBase.__annotations__
        rows = tables_test.tables("anthropic.md", "Messages")
        members = {member for kind in rows.values() for member in kind}
        headers = {"user_profile_id", "workspace_id"}  # Which the client sends as headers.
        self.assertEqual(set(params) - members - headers, set())

    def test_models_are_listed_and_retrieved(self):
        model, = self.client.models.list().data
        self.assertEqual(self.client.models.retrieve(model.id).id, self.name)

    def test_a_message_and_its_stream_parse_in_the_typed_models(self):
        whole = self.client.messages.create(**self.members)
        with self.client.messages.stream(**self.members) as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        self.assertEqual(text, whole.content[0].text)
        self.assertEqual((final.stop_reason, final.usage.output_tokens), ("max_tokens", 8))
        for event in self.client.messages.create(stream=True, **self.members):
            self.assertTrue(event.type)

    def test_a_call_of_a_stream_is_put_together_and_its_result_goes_back(self):
        tools = [{"name": "add", "input_schema": ADD["parameters"]}]
        members = {**self.members, "max_tokens": 60, "tools": tools}
        with self.client.messages.stream(tool_choice={"type": "any"}, **members) as stream:
            message = stream.get_final_message()
        call, = message.content
        self.assertIn(call.input["a"], range(100))
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "2"}
        members["messages"] = [*MESSAGES, {"role": "assistant", "content": message.content},
                               {"role": "user", "content": [result]}]
        self.client.messages.create(**members)

    def test_tokens_are_counted(self):
        count = self.client.messages.count_tokens(model=self.name, messages=MESSAGES, system="Be short.").input_tokens
        usage = self.client.messages.create(system="Be short.", **self.members).usage
        self.assertEqual(usage.input_tokens + usage.cache_read_input_tokens, count)

    def test_errors_have_their_classes(self):
        with self.assertRaises(anthropic.NotFoundError):
            self.client.messages.create(**{**self.members, "model": "x"})
        with self.assertRaises(anthropic.BadRequestError) as refused:
            self.client.messages.create(**{**self.members, "extra_body": {"inference_geo": "us"}})
        self.assertTrue(refused.exception.request_id.startswith("req_"))


class PingTest(harness.EndpointTest):
    """Streams in which pings come before the first event."""
    flags = ("--ping-seconds", "0.01")
    MESSAGES = [{"role": "user", "content": "x" * 3000}]

    @classmethod
    def models(cls, folder):
        return [parrot(pathlib.Path(folder) / "slow", [["Yes", " it is"]], layers=8)]

    @clients.needs(openai, "openai")
    def test_the_client_of_openai_passes_over_pings(self):
        client = openai.OpenAI(base_url=self.url + "/v1", api_key="none", max_retries=0)
        chunks = list(client.chat.completions.create(model=self.name, messages=self.MESSAGES, stream=True, temperature=0))
        self.assertEqual("".join(chunk.choices[0].delta.content or "" for chunk in chunks), "Yes it is")
        events = list(client.responses.create(model=self.name, input="y" * 3000, stream=True, temperature=0, store=False))
        self.assertEqual(events[-1].response.output_text, "Yes it is")
        texts = [each.choices[0].text for each in client.completions.create(
            model=self.name, prompt="z" * 3000 + "<|turn0|>", stream=True, temperature=0)]
        self.assertEqual("".join(texts), "Yes it is")

    @clients.needs(anthropic, "anthropic")
    def test_the_client_of_anthropic_passes_over_pings(self):
        client = anthropic.Anthropic(base_url=self.url, api_key="none", max_retries=0)
        with client.messages.stream(model=self.name, messages=self.MESSAGES, max_tokens=8,
                                    extra_body={"temperature": 0}) as stream:
            self.assertEqual(stream.get_final_text(), "Yes it is")


@clients.needs(genai, "google-genai")
class GeminiClientTest(harness.EndpointTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = genai.Client(api_key="none", http_options={"base_url": cls.url})
        cls.types = genai.types

    def config(self, **members):
        return self.types.GenerateContentConfig(max_output_tokens=8, seed=1, **members)

    def ask(self, contents="Hello there", **members):
        return self.client.models.generate_content(model=self.name, contents=contents, config=self.config(**members))

    def test_each_parameter_that_the_client_has_is_in_a_table(self):
        rows = [*tables_test.tables("gemini.md", "Content").values(),
                *tables_test.tables("gemini.md", "Generation config").values()]
        members = {tables_test.snake(member) for kind in rows for member in kind}
        of_client_alone = {"http_options", "should_return_http_response", "automatic_function_calling",
                           "automatic_continuation", "model_armor_config",
                           "generation_output_config"}  # Not sent to the interface of Gemini.
        self.assertEqual(set(self.types.GenerateContentConfig.model_fields) - members - of_client_alone, set())

    def test_models_are_listed_and_retrieved(self):
        model, = list(self.client.models.list())
        self.assertEqual((model.name, model.display_name), ("models/" + self.name, self.name))
        self.assertIn("generateContent", model.supported_actions)
        self.assertEqual(self.client.models.get(model=self.name).input_token_limit, self.context_length() - 1)

    def test_a_response_and_its_stream_have_the_same_text(self):
        whole = self.ask(candidate_count=2, response_logprobs=True, logprobs=2)
        self.assertEqual([each.finish_reason.name for each in whole.candidates], ["MAX_TOKENS"] * 2)
        self.assertEqual(len(whole.candidates[0].logprobs_result.chosen_candidates), 8)
        chunks = list(self.client.models.generate_content_stream(model=self.name, contents="Hello there",
                                                                  config=self.config()))
        self.assertEqual("".join(chunk.text for chunk in chunks), self.ask().text)
        self.assertEqual(chunks[-1].usage_metadata.candidates_token_count, 8)
        count = self.client.models.count_tokens(model=self.name, contents="Hello there").total_tokens
        self.assertEqual(whole.usage_metadata.prompt_token_count, count)

    def test_a_chat_goes_on_whole_and_streamed(self):
        chat = self.client.chats.create(model=self.name, config=self.config(system_instruction="Be short."))
        first = chat.send_message("A prompt that no other test of the client has. " * 8)
        self.assertTrue("".join(chunk.text for chunk in chat.send_message_stream("And now?")))
        third = chat.send_message("And then?")
        self.assertGreater(third.usage_metadata.cached_content_token_count, 0.8 * first.usage_metadata.prompt_token_count)

    def test_a_format_of_pydantic_and_an_enum_are_filled_in(self):
        class Sum(pydantic.BaseModel):
            sum: int = pydantic.Field(ge=0, le=9)
            word: typing.Literal["a", "b"]

        for members in ({"response_schema": Sum}, {"response_json_schema": Sum.model_json_schema()}):
            config = self.types.GenerateContentConfig(response_mime_type="application/json", seed=1, **members)
            answer = self.client.models.generate_content(model=self.name, contents="Hello", config=config)
            self.assertIn(Sum.model_validate_json(answer.text).sum, range(10))
        kind = enum.Enum("Kind", {"RED": "red one", "BLUE": "blue"})
        answer = self.ask(response_mime_type="text/x.enum", response_schema=kind)
        self.assertIn(answer.parsed, list(kind))

    def test_a_function_of_python_is_called_and_its_result_goes_back(self):
        def add(a: int) -> int:
            """Adds one."""
            return a + 1

        off = self.types.AutomaticFunctionCallingConfig(disable=True)
        any_of_them = self.types.ToolConfig(function_calling_config=self.types.FunctionCallingConfig(mode="ANY"))
        config = self.types.GenerateContentConfig(tools=[add], tool_config=any_of_them, automatic_function_calling=off,
                                                  max_output_tokens=60, seed=1)
        response = self.client.models.generate_content(model=self.name, contents="Hello", config=config)
        call, = response.function_calls
        self.assertIsInstance(call.args["a"], int)
        result = self.types.Part(function_response=self.types.FunctionResponse(
            id=call.id, name=call.name, response={"result": 2}))
        contents = [self.types.UserContent("Hello"), response.candidates[0].content, self.types.UserContent([result])]
        self.assertTrue(self.ask(contents, tools=[add], automatic_function_calling=off).candidates)

    def test_errors_have_their_classes_and_codes(self):
        with self.assertRaises(genai.errors.ClientError) as absent:
            self.client.models.generate_content(model="gemini-2.5-flash", contents="x")
        self.assertEqual((absent.exception.code, absent.exception.status), (404, "NOT_FOUND"))
        with self.assertRaises(genai.errors.ClientError) as refused:
            list(self.client.models.generate_content_stream(model=self.name, contents="word " * 3000))
        self.assertEqual((refused.exception.code, refused.exception.status), (400, "INVALID_ARGUMENT"))
        self.assertTrue(refused.exception.message.startswith("contents: prompt is too long"))

    def test_both_versions_of_the_interface_answer_alike(self):
        for version in ("v1", "v1beta"):
            client = genai.Client(api_key="none", http_options={"base_url": self.url, "api_version": version})
            answer = client.models.generate_content(model=self.name, contents="Hello there", config=self.config())
            self.assertEqual(answer.text, self.ask().text)
            self.assertEqual([each.name for each in client.models.list()], ["models/" + self.name])


if __name__ == "__main__":
    harness.main()
