"""The client openai-agents: agents with tools of Python, which hand over to each other."""
import asyncio

import clients
import harness

agents = clients.find("agents")
openai = clients.find("openai")
pydantic = clients.find("pydantic")


class AgentCases:
    """Turns of an agent over one interface of the endpoints: chat completions, or responses."""
    settings = {"max_tokens": 60}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.loop = cls.enterClassContext(asyncio.Runner())
        cls.client = openai.AsyncOpenAI(base_url=cls.url + "/v1", api_key="none", max_retries=0)
        cls.addClassCleanup(lambda: cls.loop.run(cls.client.close()))

    def model(self, name=None):
        raise NotImplementedError

    def agent(self, name, wants="auto", **members):
        """`wants`: the tool that its first answer calls."""
        settings = agents.ModelSettings(temperature=0, tool_choice=wants, **self.settings)
        return agents.Agent(name=name, model=self.model(), model_settings=settings,
                            instructions="You are a short and exact assistant. " * 12, **members)

    def run_agent(self, agent, text="What is 3 + 4?"):
        return self.loop.run(agents.Runner.run(agent, text, max_turns=6))

    def teacher(self):
        """An agent that adds, and one that hands over to it; `added` gets what was to be added."""
        added = []

        @agents.function_tool
        def add(a: int, b: int) -> str:
            """Adds two numbers."""
            added.append((a, b))
            return str(a + b)

        teacher = self.agent("teacher", "add", tools=[add])
        return self.agent("guide", "required", handoffs=[teacher]), added

    def test_an_agent_answers_with_the_usage_of_the_endpoint(self):
        result = self.run_agent(self.agent("plain"))
        self.assertTrue(result.final_output)
        self.assertEqual(result.context_wrapper.usage.requests, 1)
        self.assertGreater(result.context_wrapper.usage.input_tokens, 50)

    def test_a_hand_over_and_a_tool_take_three_turns_and_the_later_ones_find_their_prefix(self):
        guide, added = self.teacher()
        result = self.run_agent(guide)
        self.assertEqual(result.last_agent.name, "teacher")
        self.assertEqual(len(added), 1)
        self.assertIn(str(sum(added[0])), [item.output for item in result.new_items if item.type == "tool_call_output_item"])
        usages = [response.usage for response in result.raw_responses]
        self.assertEqual(len(usages), 3)
        # The teacher's second turn goes on from its first one.
        first, second = usages[1:]
        self.assertGreater(second.input_tokens_details.cached_tokens, first.input_tokens // 2)
        again = self.run_agent(guide)
        self.assertGreater(again.raw_responses[0].usage.input_tokens_details.cached_tokens, 0)
        self.assertEqual(again.final_output, result.final_output)

    def test_a_streamed_run_has_the_same_outcome(self):
        guide, added = self.teacher()

        async def streamed():
            result = agents.Runner.run_streamed(guide, "What is 3 + 4?", max_turns=6)
            deltas = [event.data.delta async for event in result.stream_events()
                      if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"]
            return result, "".join(deltas)

        result, text = self.loop.run(streamed())
        whole_guide, wanted = self.teacher()
        self.assertEqual(result.final_output, self.run_agent(whole_guide).final_output)
        self.assertTrue(text.endswith(result.final_output))
        self.assertEqual(added, wanted)

    def test_the_output_is_of_the_type_that_the_agent_has(self):
        class City(pydantic.BaseModel):
            name: str = pydantic.Field(max_length=20)
            size: int = pydantic.Field(ge=0, le=99)

        agent = self.agent("typed", output_type=City)
        agent.model_settings.max_tokens = 100
        self.assertIn(self.run_agent(agent).final_output.size, range(100))

    def test_a_session_keeps_the_conversation_and_finds_it(self):
        agent, session = self.agent("plain"), agents.SQLiteSession("one")

        async def turns():
            return [await agents.Runner.run(agent, text, session=session) for text in ("Say one.", "Say two.")]

        first, second = (result.raw_responses[0].usage for result in self.loop.run(turns()))
        self.assertGreater(second.input_tokens, first.input_tokens)
        self.assertGreaterEqual(second.input_tokens_details.cached_tokens, first.input_tokens - 32)

    def test_errors_have_their_classes(self):
        agent = self.agent("wrong")
        agent.model = self.model("x")
        with self.assertRaises(openai.NotFoundError):
            self.run_agent(agent)
        with self.assertRaises(openai.BadRequestError) as refused:
            self.run_agent(self.agent("long"), self.too_long())
        self.assertEqual(refused.exception.code, "context_length_exceeded")
        agent = self.agent("hot")
        agent.model_settings.temperature = 9
        with self.assertRaises(openai.BadRequestError) as refused:
            self.run_agent(agent)
        self.assertEqual(refused.exception.param, "temperature")


@clients.needs(agents, "openai-agents")
class ChatAgentsTest(AgentCases, clients.SmolTest):
    def model(self, name=None):
        return agents.OpenAIChatCompletionsModel(name or self.name, self.client)


@clients.needs(agents, "openai-agents")
class ResponsesAgentsTest(AgentCases, clients.SmolTest):
    # The client takes a response that is cut for an error, so a sentence ends each answer here.
    settings = {"max_tokens": 300, "extra_body": {"stop": ["."]}}

    def model(self, name=None):
        return agents.OpenAIResponsesModel(name or self.name, self.client)


if __name__ == "__main__":
    harness.main()
