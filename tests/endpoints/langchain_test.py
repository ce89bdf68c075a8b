"""The client langchain-openai: chat models, text models, tools and structured output."""
import clients
import harness

langchain = clients.find("langchain_openai")
base = langchain and clients.find("langchain_openai.chat_models.base")
messages = langchain and clients.find("langchain_core.messages")
openai = clients.find("openai")
pydantic = clients.find("pydantic")


@clients.needs(langchain, "langchain-openai")
class LangChainTest(clients.SmolTest):
    def chat(self, **members):
        return langchain.ChatOpenAI(**{"model": self.name, "base_url": self.url + "/v1", "api_key": "none",
                                       "temperature": 0, "max_tokens": 24, "max_retries": 0, **members})

    def test_an_answer_has_the_text_of_the_endpoint_and_its_usage(self):
        answer = self.chat().invoke(clients.QUESTION)
        self.assertEqual(answer.content, self.answer())
        self.assertEqual(answer.response_metadata["finish_reason"], "length" if answer.usage_metadata[
            "output_tokens"] == 24 else "stop")
        again = self.chat().invoke(clients.QUESTION).usage_metadata
        self.assertGreater(again["input_token_details"]["cache_read"], 0)

    def test_the_parts_of_a_stream_are_the_answer(self):
        parts = list(self.chat(stream_usage=True).stream(clients.QUESTION))
        whole = parts[0]
        for part in parts[1:]:
            whole += part
        self.assertEqual(whole.content, self.answer())
        self.assertEqual(whole.usage_metadata["output_tokens"],
                         self.chat().invoke(clients.QUESTION).usage_metadata["output_tokens"])

    def test_a_batch_gives_each_question_its_answer(self):
        questions = [[*clients.QUESTION[:1], {"role": "user", "content": f"What is {number}?"}] for number in range(6)]
        answers = self.chat().batch(questions)
        self.assertEqual([answer.content for answer in answers], [self.answer(messages=each) for each in questions])

    def test_a_text_model_continues_a_text(self):
        model = langchain.OpenAI(model=self.name, base_url=self.url + "/v1", api_key="none", temperature=0, max_tokens=8)
        wanted = self.ok("/v1/completions", {"model": self.name, "prompt": "The capital of France is", "temperature": 0,
                                             "max_tokens": 8}).json
        self.assertEqual(model.invoke("The capital of France is"), wanted["choices"][0]["text"])
        self.assertEqual("".join(model.stream("The capital of France is")), wanted["choices"][0]["text"])

    def test_a_tool_is_called_and_its_result_goes_back(self):
        model = self.chat(max_tokens=60)
        called = model.bind_tools([clients.ADD_TOOL], tool_choice="required").invoke(clients.QUESTION)
        call, = called.tool_calls
        self.assertEqual((call["name"], set(call["args"])), ("add", {"a", "b"}))
        self.assertEqual(called.invalid_tool_calls, [])
        result = messages.ToolMessage("7", tool_call_id=call["id"])
        answer = model.bind_tools([clients.ADD_TOOL]).invoke([*clients.QUESTION, called, result])
        self.assertTrue(answer.content or answer.tool_calls)

    def test_a_call_of_a_stream_is_put_together(self):
        bound = self.chat(max_tokens=60).bind_tools([clients.ADD_TOOL], tool_choice="add")
        whole = None
        for part in bound.stream(clients.QUESTION):
            whole = part if whole is None else whole + part
        self.assertEqual([call["args"] for call in whole.tool_calls],
                         [call["args"] for call in bound.invoke(clients.QUESTION).tool_calls])

    def test_structured_output_comes_by_a_schema_and_by_a_tool(self):
        class City(pydantic.BaseModel):
            """A city."""
            name: str = pydantic.Field(max_length=20)
            size: int = pydantic.Field(ge=0, le=99)

        for method in ("json_schema", "function_calling"):
            with self.subTest(method):
                city = self.chat(max_tokens=100).with_structured_output(City, method=method).invoke(clients.QUESTION)
                self.assertIn(city.size, range(100))

    def test_logprobs_have_alternatives(self):
        answer = self.chat(logprobs=True, top_logprobs=2, max_tokens=3).invoke(clients.QUESTION)
        content = answer.response_metadata["logprobs"]["content"]
        self.assertEqual([len(each["top_logprobs"]) for each in content], [2] * 3)

    def test_errors_have_their_classes(self):
        with self.assertRaises(openai.NotFoundError):
            self.chat(model="x").invoke(clients.QUESTION)
        with self.assertRaises(openai.BadRequestError) as refused:
            self.chat(temperature=9).invoke(clients.QUESTION)
        self.assertEqual(refused.exception.param, "temperature")
        # The client knows this one by its code.
        with self.assertRaises(base.OpenAIContextOverflowError):
            self.chat().invoke(self.too_long())


if __name__ == "__main__":
    harness.main()
