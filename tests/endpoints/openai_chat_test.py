"""POST /v1/chat/completions."""
import concurrent.futures
import json

import harness
from harness import ADD, BAD_CALL, CUT_CALL, GOOD_CALL, KNOWN, TEXT, THOUGHT, only

PATH = "/v1/chat/completions"
TOOL = {"type": "function", "function": ADD}


class OpenAiChatTest(harness.EndpointTest):
    def request(self, **members):
        return {"model": self.name, "messages": [{"role": "user", "content": "Hello there"}], "max_tokens": 8,
                "seed": 1, **members}

    def whole(self, **members):
        return self.ok(PATH, self.request(**members)).json

    def chunks(self, **members):
        """The chunks of a stream, without its end, which is checked."""
        answer = self.ok(PATH, self.request(stream=True, **members))
        self.assertEqual(answer.headers["content-type"], "text/event-stream")
        events = [data for name, data in answer.events]
        self.assertEqual(events[-1], "[DONE]")
        return events[:-1]

    def text_of(self, chunks, index=0):
        return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"]
                       if choice["index"] == index)

    def refused(self, param, code=None, status=400, **members):
        for stream in (False, True):
            answer = self.post(PATH, {**self.request(stream=stream), **members})
            self.assertEqual(answer.status, status, answer.body)
            error = answer.json["error"]
            self.assertEqual((error["param"], error["code"], error["type"]), (param, code, "invalid_request_error"))
        return error["message"]

    # ---- shapes

    def test_a_response_has_every_member_of_the_interface(self):
        whole = self.whole()
        self.assertEqual(whole["object"], "chat.completion")
        self.assertEqual(whole["model"], self.name)
        self.assertTrue(whole["id"].startswith("chatcmpl-"))
        choice, = whole["choices"]
        self.assertEqual((choice["index"], choice["logprobs"], choice["message"]["role"]), (0, None, "assistant"))
        self.assertEqual(choice["finish_reason"], "length")
        usage = whole["usage"]
        self.assertEqual(usage["completion_tokens"], 8)
        self.assertEqual(usage["total_tokens"], usage["prompt_tokens"] + 8)

    def test_a_stream_has_the_text_of_the_whole_response(self):
        chunks = self.chunks()
        self.assertEqual({chunk["object"] for chunk in chunks}, {"chat.completion.chunk"})
        self.assertEqual(len({chunk["id"] for chunk in chunks}), 1)
        self.assertEqual(chunks[0]["choices"][0]["delta"], {"role": "assistant", "content": ""})
        self.assertEqual([chunk["choices"][0]["finish_reason"] for chunk in chunks if chunk["choices"]],
                         [None] * (len(chunks) - 1) + ["length"])
        self.assertEqual(self.text_of(chunks), self.whole()["choices"][0]["message"]["content"])
        self.assertTrue(all("usage" not in chunk for chunk in chunks))

    def test_include_usage_ends_a_stream_with_the_usage(self):
        chunks = self.chunks(stream_options={"include_usage": True})
        self.assertEqual([chunk["usage"] for chunk in chunks[:-1]], [None] * (len(chunks) - 1))
        self.assertEqual(chunks[-1]["choices"], [])
        self.assertEqual(chunks[-1]["usage"]["completion_tokens"], 8)

    def test_n_gives_choices_that_differ_streamed_and_whole(self):
        choices = self.whole(n=4)["choices"]
        self.assertEqual([choice["index"] for choice in choices], [0, 1, 2, 3])
        texts = [choice["message"]["content"] for choice in choices]
        self.assertGreater(len(set(texts)), 1)
        chunks = self.chunks(n=4)
        self.assertEqual([self.text_of(chunks, index) for index in range(4)], texts)
        self.assertEqual(self.whole(n=4)["usage"]["completion_tokens"], 32)

    # ---- how tokens are drawn

    def test_the_same_seed_gives_the_same_choices_with_a_hit_and_a_miss_of_the_cache(self):
        messages = [{"role": "user", "content": "A prompt that no other test has. " * 12}]
        first, second = self.whole(messages=messages), self.whole(messages=messages)
        self.assertEqual(first["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
        self.assertGreater(second["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
        self.assertEqual(json.dumps(first["choices"]), json.dumps(second["choices"]))
        self.assertNotEqual(self.whole(messages=messages, seed=2)["choices"], first["choices"])
        self.assertEqual(self.whole(messages=messages, seed=-7)["choices"],
                         self.whole(messages=messages, seed=-7)["choices"])

    def test_the_same_seed_gives_the_same_choices_in_a_full_server(self):
        alone = self.whole(max_tokens=40)["choices"]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            together = list(pool.map(lambda _: self.whole(max_tokens=40)["choices"], range(32)))
        self.assertEqual(together, [alone] * 32)

    def test_temperature_0_top_k_1_and_top_p_0_take_the_most_probable_token(self):
        wanted = self.whole(temperature=0)["choices"]
        self.assertEqual(self.whole(temperature=2, top_k=1)["choices"], wanted)
        self.assertEqual(self.whole(temperature=2, top_p=0)["choices"], wanted)
        self.assertEqual(self.whole(temperature=2, min_p=1)["choices"], wanted)

    def test_logit_bias_decides_which_tokens_come(self):
        self.assertEqual(self.whole(logit_bias=only(TEXT), max_tokens=3)["choices"][0]["message"]["content"],
                         KNOWN[TEXT] * 3)
        free = self.whole(temperature=0, logprobs=True)["choices"][0]["logprobs"]["content"][0]
        token, = self.ok("/tokenize", {"content": free["token"]}).json["tokens"][:1]
        banned = self.whole(temperature=0, logprobs=True, logit_bias={str(token): -100})
        self.assertNotEqual(banned["choices"][0]["logprobs"]["content"][0]["token"], free["token"])

    def test_penalties_count_the_tokens_of_the_answer_alone(self):
        members = {"messages": [{"role": "user", "content": KNOWN[TEXT] * 60}], "logit_bias": only(TEXT),
                   "temperature": 0}
        self.assertEqual(self.whole(frequency_penalty=2, presence_penalty=2, max_tokens=9, **members)["choices"][0][
            "message"]["content"], KNOWN[TEXT] * 9)
        text = self.whole(frequency_penalty=2, max_tokens=80, **members)["choices"][0]["message"]["content"]
        self.assertIn(text.count(KNOWN[TEXT]), range(20, 70))
        self.assertTrue(text.startswith(KNOWN[TEXT] * 20))

    def test_stop_ends_the_text_before_the_stop_streamed_and_whole(self):
        members = {"logit_bias": only(TEXT), "max_tokens": 9}
        for stop in ("re.", ["zzz", "re."]):
            choice = self.whole(stop=stop, **members)["choices"][0]
            self.assertEqual((choice["message"]["content"], choice["finish_reason"]), ("Su", "stop"))
            self.assertEqual(self.text_of(self.chunks(stop=stop, **members)), "Su")

    def test_max_completion_tokens_counts_before_max_tokens(self):
        self.assertEqual(self.whole(max_completion_tokens=3)["usage"]["completion_tokens"], 3)

    def test_without_a_maximum_the_answer_ends_with_the_context_at_the_latest(self):
        request = self.request(ignore_eos=True, temperature=0)
        del request["max_tokens"]
        whole = self.ok(PATH, request).json
        self.assertEqual(whole["choices"][0]["finish_reason"], "length")
        self.assertGreaterEqual(whole["usage"]["total_tokens"], self.context_length())

    def test_logprobs_have_each_token_with_alternatives_streamed_and_whole(self):
        content = self.whole(logprobs=True, top_logprobs=3)["choices"][0]["logprobs"]["content"]
        self.assertEqual(len(content), 8)
        for each in content:
            self.assertEqual(len(each["top_logprobs"]), 3)
            self.assertLess(each["logprob"], 0)
            probabilities = [other["logprob"] for other in each["top_logprobs"]]
            self.assertEqual(probabilities, sorted(probabilities, reverse=True))
        message = self.whole()["choices"][0]["message"]["content"]
        data = b"".join(bytes(each["bytes"]) for each in content)
        self.assertEqual(data.decode(errors="replace"), message)
        streamed = [each for chunk in self.chunks(logprobs=True, top_logprobs=3) for choice in chunk["choices"]
                    if choice["logprobs"] for each in choice["logprobs"]["content"]]
        self.assertEqual(streamed, content)

    def test_logprobs_of_a_text_that_a_stop_ends_are_those_of_its_tokens(self):
        choice = self.whole(logprobs=True, logit_bias=only(TEXT), stop="re.")["choices"][0]
        self.assertEqual([each["token"] for each in choice["logprobs"]["content"]], [KNOWN[TEXT]])

    # ---- structured output

    def test_no_logprobs_of_a_token_that_a_stop_is_all_of(self):
        members = {"logit_bias": only(TEXT), "stop": ["re. Sure. S"], "logprobs": True, "max_tokens": 8}
        choice = self.whole(**members)["choices"][0]
        self.assertEqual((choice["message"]["content"], choice["finish_reason"]), ("Su", "stop"))
        self.assertEqual([each["token"] for each in choice["logprobs"]["content"]], [KNOWN[TEXT]])
        streamed = [each["token"] for chunk in self.chunks(**members) for one in chunk["choices"]
                    for each in (one["logprobs"] or {"content": []})["content"]]
        self.assertEqual(streamed, [KNOWN[TEXT]])

    def test_thoughts_have_no_logprobs_and_come_before_the_text(self):
        members = {"tools": [TOOL], "logit_bias": {**only(THOUGHT), **only(TEXT)}, "logprobs": True, "max_tokens": 6}
        choice = self.whole(**members)["choices"][0]
        tokens = [each["token"] for each in choice["logprobs"]["content"]]
        self.assertEqual("".join(tokens).count("<think>"), tokens.count(KNOWN[THOUGHT]))

    def test_a_demanded_call_that_does_not_fit_is_refused_before_the_stream_begins(self):
        demanded = {"tools": [TOOL], "tool_choice": "required", "stream": True, "max_tokens": None}
        turns = lambda count: [{"role": "user", "content": KNOWN[TEXT] * count}]
        prompt = self.ok("/apply-template", {"messages": turns(0), "tools": [TOOL]}).json["prompt"]
        used = self.ok("/tokenize", {"content": prompt}).json["count"]
        turn = turns(self.context_length() - used - 3)
        answer = self.post(PATH, self.request(messages=turn, **demanded))
        self.assertEqual((answer.status, answer.json["error"]["code"]), (400, "context_length_exceeded"))
        self.ok(PATH, self.request(messages=turn))

    def test_a_text_that_is_too_long_for_a_call_is_too_long_for_the_context(self):
        text = "word " * 230_000
        for path, members in [(PATH, {"messages": [{"role": "user", "content": text}]}),
                              ("/v1/completions", {"prompt": text}), ("/v1/responses", {"input": text})]:
            answer = self.post(path, {"model": self.name, **members})
            self.assertEqual((answer.status, answer.json["error"]["code"]), (400, "context_length_exceeded"), path)
        answer = self.post("/v1/messages", {"model": self.name, "max_tokens": 1,
                                            "messages": [{"role": "user", "content": text}]})
        self.assertEqual(answer.status, 400)
        self.assertTrue(answer.json["error"]["message"].startswith("messages: prompt is too long"))

    def test_allowed_tools_are_those_that_may_be_called(self):
        other = {"type": "function", "function": {**ADD, "name": "other"}}
        choice = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [
            {"type": "function", "function": {"name": "add"}}]}}
        message = self.whole(tools=[other, TOOL], tool_choice=choice, max_tokens=200)["choices"][0]["message"]
        self.assertEqual(message["tool_calls"][0]["function"]["name"], "add")
        choice["allowed_tools"]["tools"] = [{"type": "web_search"}]
        self.refused("tool_choice", tools=[TOOL, {"type": "web_search"}], tool_choice=choice)

    def test_what_is_left_out_is_named_once_within_a_kibibyte(self):
        turns = [{"role": "user", "content": "Hi", "cache_hint": 1}] * 3
        answer = self.ok(PATH, self.request(messages=turns, tools=[TOOL, {"type": "web_search"}], zzz=1))
        self.assertEqual(answer.headers["x-quire-ignored"], "messages[0].cache_hint, tools[1] (web_search), zzz")
        answer = self.ok(PATH, self.request(**{f"unknown_member_{number}_\u00e9,\n": 1 for number in range(200)}))
        header = answer.headers["x-quire-ignored"]
        self.assertLessEqual(len(header), 1024)
        self.assertTrue(header.endswith(", ..."))
        self.assertNotIn("x-quire-ignored", self.ok(PATH, self.request()).headers)

    def test_json_schema_gives_an_answer_that_fits(self):
        schema = {"type": "object", "properties": {"kind": {"enum": ["a", "b"]}, "n": {"type": "integer", "maximum": 9,
                  "minimum": 0}}, "required": ["kind", "n"], "additionalProperties": False}
        format = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}
        whole = self.whole(response_format=format, max_tokens=200)["choices"][0]
        value = json.loads(whole["message"]["content"])
        self.assertEqual(set(value), {"kind", "n"})
        self.assertIn(value["kind"], ["a", "b"])
        self.assertIn(value["n"], range(10))
        self.assertEqual(whole["finish_reason"], "stop")
        self.assertEqual(self.text_of(self.chunks(response_format=format, max_tokens=200)),
                         whole["message"]["content"])

    def test_json_object_begins_an_object(self):
        text = self.whole(response_format={"type": "json_object"}, max_tokens=20)["choices"][0]["message"]["content"]
        self.assertTrue(text.startswith("{"))
        self.whole(response_format={"type": "text"})

    def test_with_tools_an_answer_fits_the_schema_or_is_a_call(self):
        format = {"type": "json_schema", "json_schema": {"name": "x", "schema": ADD["parameters"]}}
        members = {"response_format": format, "tools": [TOOL], "max_tokens": 60}
        answered = self.whole(**members)["choices"][0]
        self.assertIn(json.loads(answered["message"]["content"])["a"], range(100))
        self.assertEqual(self.text_of(self.chunks(**members)), answered["message"]["content"])
        members.update(logit_bias=only(GOOD_CALL), max_tokens=1)
        called = self.whole(**members)["choices"][0]
        self.assertEqual((called["finish_reason"], called["message"]["content"]), ("tool_calls", None))
        self.assertEqual(self.streamed_calls(**members), called["message"]["tool_calls"])
        self.refused("logprobs", "unsupported_parameter", logprobs=True, **members)

    def test_the_schema_of_a_tool_that_is_needed_is_checked_before_the_answer_begins(self):
        tool = {"type": "function", "function": {**ADD, "parameters": {"type": "wrong"}}}
        self.refused("tools", tools=[tool], tool_choice="required")
        tool["function"]["strict"] = True
        self.refused("tools", tools=[tool])

    def test_a_schema_that_is_wrong_is_refused(self):
        format = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "wrong"}}}
        self.refused("response_format", response_format=format)
        self.refused("response_format", response_format={"type": "xml"})
        self.refused("response_format.json_schema.schema", response_format={"type": "json_schema", "json_schema": {}})

    # ---- tools

    def test_a_demanded_call_has_arguments_that_fit_the_schema(self):
        other = {"type": "function", "function": {**ADD, "name": "subtract"}}
        for choice in ("required", {"type": "function", "function": {"name": "subtract"}}):
            whole = self.whole(tools=[TOOL, other], tool_choice=choice, max_tokens=60)["choices"][0]
            self.assertEqual((whole["finish_reason"], whole["message"]["content"]), ("tool_calls", None))
            call, = whole["message"]["tool_calls"]
            self.assertIn(json.loads(call["function"]["arguments"])["a"], range(100))
            if choice != "required":
                self.assertEqual(call["function"]["name"], "subtract")
            self.assertEqual(self.streamed_calls(tools=[TOOL, other], tool_choice=choice, max_tokens=60), [call])

    def streamed_calls(self, **members):
        calls = {}
        for chunk in self.chunks(**members):
            for choice in chunk["choices"]:
                for delta in choice["delta"].get("tool_calls", []):
                    if "id" in delta:
                        calls[delta["index"]] = {"id": delta["id"], "type": delta["type"],
                                                 "function": dict(delta["function"])}
                    else:
                        calls[delta["index"]]["function"]["arguments"] += delta["function"]["arguments"]
        return [calls[index] for index in sorted(calls)]

    def test_calls_that_the_model_writes_are_taken_out_of_its_text(self):
        members = {"tools": [TOOL], "logit_bias": only(GOOD_CALL), "max_tokens": 3}
        choice = self.whole(**members)["choices"][0]
        self.assertEqual(choice["finish_reason"], "tool_calls")
        self.assertIsNone(choice["message"]["content"])
        calls = choice["message"]["tool_calls"]
        self.assertEqual([json.loads(call["function"]["arguments"]) for call in calls], [{"a": 1}] * 3)
        self.assertEqual(len({call["id"] for call in calls}), 3)
        self.assertEqual(self.streamed_calls(**members), calls)
        self.assertEqual(self.text_of(self.chunks(**members)), "")
        self.assertEqual(self.whole(**members)["choices"], self.whole(**members)["choices"])

    def test_without_parallel_calls_the_first_alone_counts(self):
        members = {"tools": [TOOL], "logit_bias": only(GOOD_CALL), "max_tokens": 3, "parallel_tool_calls": False}
        self.assertEqual(len(self.whole(**members)["choices"][0]["message"]["tool_calls"]), 1)

    def test_tool_choice_none_leaves_the_text_as_it_is(self):
        members = {"tools": [TOOL], "logit_bias": only(GOOD_CALL), "max_tokens": 1, "tool_choice": "none"}
        choice = self.whole(**members)["choices"][0]
        self.assertEqual((choice["message"]["content"], choice["finish_reason"]), (KNOWN[GOOD_CALL], "length"))

    def test_a_call_that_is_cut_stays_in_the_text(self):
        members = {"tools": [TOOL], "logit_bias": only(CUT_CALL), "max_tokens": 1}
        choice = self.whole(**members)["choices"][0]
        self.assertEqual((choice["message"]["content"], choice["finish_reason"]), (KNOWN[CUT_CALL], "length"))
        self.assertEqual(self.text_of(self.chunks(**members)), KNOWN[CUT_CALL])

    def test_a_demanded_call_that_is_cut_has_the_arguments_so_far(self):
        choice = self.whole(tools=[TOOL], tool_choice="required", max_tokens=1)["choices"][0]
        self.assertEqual(choice["finish_reason"], "length")
        self.assertTrue('{"a":'.startswith(choice["message"]["tool_calls"][0]["function"]["arguments"][:1]))

    def test_strict_arguments_fit_the_schema_whatever_the_model_writes(self):
        def calls_of(strict, **members):
            tool = {"type": "function", "function": {**ADD, "strict": strict}}
            return self.whole(tools=[tool], stop="</tool_call>", max_tokens=60, **members)["choices"][0]["message"][
                "tool_calls"]

        bad, = calls_of(False, logit_bias=only(BAD_CALL))
        self.assertEqual(json.loads(bad["function"]["arguments"]), {"a": "many"})
        mended, = calls_of(True, logit_bias=only(BAD_CALL))
        self.assertIn(json.loads(mended["function"]["arguments"])["a"], range(100))
        good, = calls_of(True, logit_bias=only(GOOD_CALL))
        self.assertEqual(good["function"]["arguments"], '{"a":1}')

    def test_thoughts_are_apart_from_the_text_where_tools_are_offered(self):
        members = {"tools": [TOOL], "logit_bias": only(THOUGHT), "max_tokens": 1}
        message = self.whole(**members)["choices"][0]["message"]
        self.assertEqual((message["content"], message["reasoning_content"]), ("", "a thought"))
        thoughts = [choice["delta"].get("reasoning_content", "") for chunk in self.chunks(**members)
                    for choice in chunk["choices"]]
        self.assertEqual("".join(thoughts), "a thought")

    def test_a_conversation_with_calls_and_results_goes_on(self):
        call = {"id": "abc", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
        messages = [{"role": "user", "content": "Add"},
                    {"role": "assistant", "content": None, "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": "abc", "content": [{"type": "text", "text": "two"}]}]
        self.whole(messages=messages, tools=[TOOL])
        self.whole(messages=messages)
        prompt = self.ok("/apply-template", {"messages": messages, "tools": [TOOL]}).json["prompt"]
        self.assertIn('{"name": "add", "arguments": {"a": 1}}', prompt)
        self.assertIn("<tool_response>\ntwo\n</tool_response>", prompt)

    # ---- what is refused

    def test_a_prompt_that_does_not_fit_is_refused_with_the_numbers(self):
        message = self.refused("messages", "context_length_exceeded",
                               messages=[{"role": "user", "content": "word " * 3000}])
        self.assertIn(str(self.context_length()), message)
        message = self.refused("max_tokens", "context_length_exceeded", max_tokens=self.context_length())
        self.assertIn(str(self.context_length()), message)
        self.refused("max_completion_tokens", "context_length_exceeded", max_completion_tokens=self.context_length())

    def test_a_model_that_is_not_there_is_404(self):
        message = self.refused("model", "model_not_found", status=404, model="gpt-9")
        self.assertIn(self.name, message)
        self.refused("model", model=None)

    def test_wrong_values_are_refused_by_the_name_of_the_member(self):
        for member, values in {
                "temperature": ["1", -0.1, 2.1, [], True], "top_p": [1.5, "x"], "n": [0, 1.5, 129, "2"],
                "max_tokens": [0, -1, 1.5, "8"], "max_completion_tokens": [0], "seed": [1.5, "x", 1e300],
                "stop": [1, "", [""], [1], {}, ["x"] * 17], "stream": ["true", 1], "logprobs": [5],
                "top_logprobs": [21, -1], "logit_bias": [[], {"x": 1}, {"1": 101}, {"99999": 1}, {"1": "a"}],
                "presence_penalty": [3, "1"], "frequency_penalty": [-3], "messages": [[], "x", {}],
                "tools": [{}, "x"], "tool_choice": ["sometimes", {"type": "function", "function": {"name": "x"}}],
                "parallel_tool_calls": [1], "model": [5]}.items():
            for value in values:
                answer = self.post(PATH, self.request(**{member: value}))
                self.assertEqual((answer.status, answer.json["error"]["param"]), (400, member), (member, value))

    def test_wrong_messages_are_refused_by_their_place(self):
        for message, param in [
                ("x", "messages[1]"), ({"content": "x"}, "messages[1].role"),
                ({"role": "user"}, "messages[1].content"), ({"role": "wizard", "content": "x"}, "messages[1].role"),
                ({"role": "user", "content": 5}, "messages[1].content"),
                ({"role": "user", "content": [5]}, "messages[1].content[0]"),
                ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
                 "messages[1].content[0]"),
                ({"role": "user", "content": "x", "tool_cals": []}, "messages[1].tool_cals"),
                ({"role": "assistant", "content": "x", "function_call": {"name": "f", "arguments": "{}"}},
                 "messages[1].function_call"),
                ({"role": "assistant", "tool_calls": [5]}, "messages[1].tool_calls[0]"),
                ({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{]"}}]},
                 "messages[1].tool_calls[0].function.arguments")]:
            answer = self.post(PATH, self.request(messages=[{"role": "user", "content": "a"}, message]))
            self.assertEqual((answer.status, answer.json["error"]["param"]), (400, param), message)


if __name__ == "__main__":
    harness.main()
