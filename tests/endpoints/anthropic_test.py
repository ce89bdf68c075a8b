"""POST /v1/messages and /v1/messages/count_tokens."""
import json

import harness
from harness import ADD

PATH = "/v1/messages"
TOOL = {"name": "add", "description": "Adds one.", "input_schema": ADD["parameters"]}


class AnthropicTest(harness.EndpointTest):
    def request(self, **members):
        return {"model": self.name, "messages": [{"role": "user", "content": "Hello there"}], "max_tokens": 8,
                "seed": 1, **members}

    def whole(self, **members):
        return self.ok(PATH, self.request(**members)).json

    def streamed(self, **members):
        """The events of a stream, put together to a message."""
        answer = self.ok(PATH, self.request(stream=True, **members))
        message, parts = None, {}
        for name, event in answer.events:
            self.assertEqual(name, event["type"])
            if name == "message_start":
                message = event["message"]
            elif name == "content_block_start":
                self.assertEqual(event["index"], len(message["content"]))
                message["content"].append(event["content_block"])
            elif name == "content_block_delta":
                block, delta = message["content"][event["index"]], event["delta"]
                if delta["type"] == "text_delta":
                    block["text"] += delta["text"]
                else:
                    parts[event["index"]] = parts.get(event["index"], "") + delta["partial_json"]
            elif name == "message_delta":
                message.update(event["delta"])
                message["usage"] = event["usage"]
        for index, part in parts.items():
            message["content"][index]["input"] = json.loads(part)
        self.assertEqual([name for name, _ in answer.events][-2:], ["message_delta", "message_stop"])
        return message

    def same(self, **members):
        """The message, which is the same streamed and whole."""
        whole, streamed = self.whole(**members), self.streamed(**members)
        for key in ("content", "stop_reason", "stop_sequence", "role", "type", "model"):
            self.assertEqual(streamed[key], whole[key], key)
        self.assertEqual(streamed["usage"]["output_tokens"], whole["usage"]["output_tokens"])
        return whole

    def test_a_message_is_the_same_streamed_and_whole(self):
        message = self.same()
        self.assertEqual((message["type"], message["role"], message["model"]), ("message", "assistant", self.name))
        self.assertEqual((message["stop_reason"], message["stop_sequence"]), ("max_tokens", None))
        self.assertEqual(message["usage"]["output_tokens"], 8)

    def test_tokens_of_the_prompt_are_counted_computed_and_found_apart(self):
        messages = [{"role": "user", "content": "A prompt that no other test has. " * 12}]
        count = self.ok(PATH + "/count_tokens", {"model": self.name, "messages": messages}).json["input_tokens"]
        first, second = self.whole(messages=messages), self.whole(messages=messages)
        for message in (first, second):
            usage = message["usage"]
            self.assertEqual(usage["input_tokens"] + usage["cache_read_input_tokens"], count)
        self.assertEqual(first["usage"]["cache_read_input_tokens"], 0)
        self.assertGreater(second["usage"]["cache_read_input_tokens"], 0)
        self.assertEqual(first["content"], second["content"])

    def test_a_stop_sequence_is_named(self):
        message = self.same(logit_bias=None, stop_sequences=["e", "a", "o", "i"], max_tokens=400)
        self.assertEqual(message["stop_reason"], "stop_sequence")
        self.assertIn(message["stop_sequence"], ["e", "a", "o", "i"])
        text = "".join(block["text"] for block in message["content"])
        self.assertFalse(set("eaoi") & set(text))

    def test_an_answer_goes_on_with_a_last_turn_of_the_assistant(self):
        turns = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "The best"}]
        count = lambda messages: self.ok(PATH + "/count_tokens", {"model": self.name, "messages": messages}).json[
            "input_tokens"]
        more = self.ok("/tokenize", {"content": "The best"}).json["count"]
        self.assertEqual(count(turns), count(turns[:1]) + more)

    def test_max_tokens_0_computes_the_prompt_alone(self):
        message = self.same(max_tokens=0)
        self.assertEqual((message["content"], message["stop_reason"]), ([], "max_tokens"))

    def test_the_end_of_the_context_is_a_stop_reason(self):
        message = self.whole(max_tokens=10 * self.context_length(), temperature=0)
        self.assertIn(message["stop_reason"], ["model_context_window_exceeded", "end_turn"])

    def test_output_config_gives_an_answer_that_fits(self):
        format = {"type": "json_schema", "schema": ADD["parameters"]}
        message = self.same(output_config={"format": format}, max_tokens=100)
        self.assertIn(json.loads(message["content"][0]["text"])["a"], range(100))

    def test_with_tools_an_answer_fits_the_format_or_is_a_call(self):
        format = {"type": "json_schema", "schema": ADD["parameters"]}
        message = self.same(output_config={"format": format}, tools=[TOOL], max_tokens=100)
        self.assertIn(json.loads(message["content"][0]["text"])["a"], range(100))

    def test_a_demanded_call_has_input_that_fits_the_schema(self):
        for choice in ({"type": "any"}, {"type": "tool", "name": "add"}):
            message = self.same(tools=[TOOL], tool_choice=choice, max_tokens=60)
            self.assertEqual(message["stop_reason"], "tool_use")
            call, = message["content"]
            self.assertEqual((call["type"], call["name"]), ("tool_use", "add"))
            self.assertIn(call["input"]["a"], range(100))

    def test_a_conversation_with_calls_and_results_goes_on(self):
        messages = [{"role": "user", "content": [{"type": "text", "text": "Add", "cache_control": {"type": "ephemeral"}}]},
                    {"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": ""},
                                                      {"type": "text", "text": "Yes."},
                                                      {"type": "tool_use", "id": "t", "name": "add", "input": {"a": 1}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "is_error": True,
                                                  "content": [{"type": "text", "text": "no"}]},
                                                 {"type": "text", "text": "Again"}]}]
        self.same(messages=messages, tools=[TOOL], system=[{"type": "text", "text": "Be short."}])

    def test_turns_of_one_role_are_joined(self):
        count = lambda *texts: self.ok(PATH + "/count_tokens", {
            "model": self.name, "messages": [{"role": "user", "content": text} for text in texts]}).json["input_tokens"]
        self.assertEqual(count("a", "b"), count("a\nb"))

    def test_wrong_values_are_refused_with_the_name_of_the_member(self):
        for member, values in {
                "max_tokens": [None, -1, 1.5, "8"], "temperature": [1.1, "1"], "top_p": [2], "top_k": [-1],
                "stop_sequences": [[""], [5], 5], "stream": [1], "messages": [[], "x"], "tools": [{}, "x", [5]],
                "system": [5, [{"type": "image"}]], "tool_choice": [{"type": "any"}, {"type": "x"}, "auto"],
                "thinking": [{}, "adaptive", {"type": "enabled", "budget_tokens": 0}, {"type": "enabled", "bugdet_tokens": 9}],
                "service_tier": [5], "speed": [1], "stop": [["x"]], "model": [None], "tool_choise": [{"type": "auto"}],
                "output_config": [{"effort": 5}, {"format": {"type": "x", "schema": {}}}, 5]}.items():
            for value in values:
                answer = self.post(PATH, self.request(**{member: value}))
                self.assertEqual(answer.status, 400, (member, value))
                error = answer.json
                self.assertEqual((error["type"], error["error"]["type"]), ("error", "invalid_request_error"))
                self.assertTrue(error["error"]["message"].startswith(member), error)
                self.assertEqual(error["request_id"], answer.headers["request-id"])

    def test_wrong_messages_are_refused_by_their_place(self):
        for message, start in [
                ("x", "messages[0]: "), ({"role": "tool", "content": "x"}, "messages[0].role"),
                ({"role": "user"}, "messages[0].content"),
                ({"role": "user", "content": [{"type": "image", "source": {}}]}, "messages[0].content[0]"),
                ({"role": "user", "content": [{"type": "tool_use", "id": "x", "name": "n", "input": {}}]},
                 "messages[0].content[0]"),
                ({"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "n", "input": 5}]},
                 "messages[0].content[0].input")]:
            answer = self.post(PATH, self.request(messages=[message]))
            self.assertEqual(answer.status, 400, message)
            self.assertTrue(answer.json["error"]["message"].startswith(start), answer.json)

    def test_cache_control_is_checked_wherever_it_stands(self):
        turn = lambda block: [{"role": "user", "content": [{"type": "text", "text": "Hi", **block}]}]
        places = {"": lambda block: block, "tools[0].": lambda block: {"tools": [{**TOOL, **block}]},
                  "messages[0].content[0].": lambda block: {"messages": turn(block)},
                  "system[0].": lambda block: {"system": [{"type": "text", "text": "Hi", **block}]}}
        for place, members in places.items():
            for value in (None, {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}):
                self.ok(PATH, self.request(**members({"cache_control": value})))
            for value, member in (([None], ""), ({}, ".type"), ({"type": "x"}, ".type"),
                                  ({"type": "ephemeral", "ttl": 5}, ".ttl"), ({"type": "ephemeral", "tttl": 1}, ".tttl")):
                answer = self.post(PATH, self.request(**members({"cache_control": value})))
                self.assertEqual(answer.status, 400, (place, value))
                self.assertEqual(answer.json["error"]["message"].split(":")[0], f"{place}cache_control{member}")

    def test_a_prompt_that_does_not_fit_is_refused_with_the_numbers(self):
        answer = self.post(PATH, self.request(messages=[{"role": "user", "content": "word " * 3000}]))
        self.assertEqual(answer.status, 400)
        self.assertIn(str(self.context_length()), answer.json["error"]["message"])

    def test_a_model_that_is_not_there_is_404(self):
        answer = self.post(PATH, self.request(model="claude"))
        self.assertEqual((answer.status, answer.json["error"]["type"]), (404, "not_found_error"))


if __name__ == "__main__":
    harness.main()
