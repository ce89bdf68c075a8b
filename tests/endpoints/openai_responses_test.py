"""/v1/responses."""
import json
import pathlib
import re
import time

import harness
from harness import ADD, CUT_CALL, GOOD_CALL, KNOWN, TEXT, THOUGHT, only

beside = harness.beside
PATH = "/v1/responses"
TOOL = {"type": "function", **ADD}
LONG = "A conversation that is longer than a page of the cache, so that it can be found. " * 4
MANY = 40  # Tokens.


class ResponsesTest(harness.EndpointTest):
    has_store = True

    def request(self, **members):
        return {"model": self.name, "input": "Hello there", "max_output_tokens": 8, "seed": 1, **members}

    def whole(self, **members):
        return self.ok(PATH, self.request(**members)).json

    def events(self, **members):
        """The events of a stream: each has the name of its type, and they are numbered from 0."""
        answer = self.ok(PATH, self.request(stream=True, **members))
        self.assertEqual(answer.headers["content-type"], "text/event-stream")
        self.check_numbers(answer.events)
        return [data for _, data in answer.events]

    def check_numbers(self, events, first=0):
        for number, (name, data) in enumerate(events, first):
            self.assertEqual((data["type"], data["sequence_number"]), (name, number))

    def refused(self, param, code=None, status=400, **members):
        answer = self.post(PATH, {**self.request(), **members})
        self.assertEqual(answer.status, status, answer.body)
        error = answer.json["error"]
        self.assertEqual((error["param"], error["code"]), (param, code))
        return error["message"]

    def get(self, path):
        answer = self.ask_of("GET", f"{PATH}/{path}")
        self.assertEqual(answer.status, 200, answer.body)
        return answer

    def status_of(self, response_id):
        return self.ask_of("GET", f"{PATH}/{response_id}").status

    def until_over(self, response_id):
        for _ in range(600):
            response = self.get(response_id).json
            if response["status"] not in ("queued", "in_progress"):
                return response
            time.sleep(0.05)
        self.fail(f"{response_id} is still {response['status']}")


def text_of(response):
    return "".join(part["text"] for item in response["output"] if item["type"] == "message"
                   for part in item["content"])


def cached(response):
    return response["usage"]["input_tokens_details"]["cached_tokens"]


class AnswersTest(ResponsesTest):
    def test_a_response_has_the_members_of_the_interface(self):
        whole = self.whole(metadata={"a": "b"}, instructions="Be short.")
        self.assertEqual((whole["object"], whole["status"], whole["error"]), ("response", "incomplete", None))
        self.assertEqual(whole["incomplete_details"], {"reason": "max_output_tokens"})
        self.assertEqual((whole["metadata"], whole["instructions"], whole["store"]), ({"a": "b"}, "Be short.", True))
        self.assertEqual(whole["text"], {"format": {"type": "text"}})
        message, = whole["output"]
        self.assertEqual((message["type"], message["role"], message["status"]), ("message", "assistant", "incomplete"))
        self.assertEqual(message["content"][0]["annotations"], [])
        usage = whole["usage"]
        self.assertEqual((usage["output_tokens"], usage["total_tokens"]), (8, usage["input_tokens"] + 8))

    def test_a_stream_has_every_event_in_its_order_and_the_text_of_the_whole_response(self):
        events = self.events()
        deltas = [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
        types = re.sub(r"(output_text.delta )+", "output_text.delta ",
                       " ".join(event["type"].removeprefix("response.") for event in events) + " ")
        self.assertEqual(types.split(), ["created", "in_progress", "output_item.added", "content_part.added",
                                         "output_text.delta", "output_text.done", "content_part.done",
                                         "output_item.done", "incomplete"])
        self.assertGreater(len(deltas), 1)
        whole = self.whole()
        self.assertEqual("".join(deltas), text_of(whole))
        last = events[-1]["response"]
        self.assertEqual(text_of(last), text_of(whole))
        self.assertEqual(last["output"][0], events[-2]["item"])
        self.assertEqual(last["usage"]["output_tokens"], 8)
        self.assertEqual({event["response"]["id"] for event in events if "response" in event}, {last["id"]})

    def test_an_answer_that_ends_by_itself_is_completed(self):
        stop = self.whole(stop=["re."], logit_bias=only(TEXT))
        self.assertEqual((stop["status"], text_of(stop), stop["incomplete_details"]), ("completed", "Su", None))
        self.assertIsInstance(stop["completed_at"], int)
        self.assertEqual(self.events(stop=["re."], logit_bias=only(TEXT))[-1]["type"], "response.completed")

    def test_text_and_items_and_instructions_make_the_prompt_of_chat_completions(self):
        messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hello"},
                    {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "And now?"}]
        chat = self.ok("/v1/chat/completions", {"model": self.name, "messages": messages, "seed": 1,
                                                "max_tokens": 8}).json
        wanted = chat["choices"][0]["message"]["content"]
        items = [{"role": "user", "content": "Hello"},
                 {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                  "content": [{"type": "output_text", "text": "Hi.", "annotations": []}]},
                 {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And now?"}]}]
        self.assertEqual(text_of(self.whole(input=items, instructions="Be short.")), wanted)
        developer = [{"role": "developer", "content": "Be short."}, *items]
        self.assertEqual(text_of(self.whole(input=developer)), wanted)
        tokens = self.ok(PATH + "/input_tokens", self.request(input=developer)).json
        self.assertEqual(tokens["input_tokens"], chat["usage"]["prompt_tokens"])

    def test_logprobs_come_with_include_streamed_and_whole(self):
        members = {"include": ["message.output_text.logprobs"], "top_logprobs": 2}
        logprobs = self.whole(**members)["output"][0]["content"][0]["logprobs"]
        self.assertEqual([len(each["top_logprobs"]) for each in logprobs], [2] * 8)
        streamed = [each for event in self.events(**members) if event["type"] == "response.output_text.delta"
                    for each in event["logprobs"]]
        self.assertEqual(streamed, logprobs)

    def test_a_format_constrains_the_text(self):
        schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 9}},
                  "required": ["a"], "additionalProperties": False}
        text = {"format": {"type": "json_schema", "name": "x", "schema": schema}}
        response = self.whole(text=text, max_output_tokens=60)
        self.assertIn(json.loads(text_of(response))["a"], range(10))
        self.assertEqual(response["text"], text)
        self.refused("text.format.type", text={"format": {"type": "yaml"}})

    def test_calls_are_items_streamed_and_whole(self):
        members = {"tools": [TOOL], "logit_bias": only(GOOD_CALL), "max_output_tokens": 2}
        response = self.whole(**members)
        calls = [item for item in response["output"] if item["type"] == "function_call"]
        self.assertEqual([json.loads(call["arguments"]) for call in calls], [{"a": 1}] * 2)
        self.assertEqual(len({call["id"] for call in calls} | {call["call_id"] for call in calls}), 4)
        events = self.events(**members)
        done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
        self.assertEqual([item["call_id"] for item in done], [call["call_id"] for call in calls])
        deltas = [event["delta"] for event in events if event["type"] == "response.function_call_arguments.delta"]
        arguments = [event["arguments"] for event in events
                     if event["type"] == "response.function_call_arguments.done"]
        self.assertEqual("".join(deltas), "".join(arguments))
        self.assertEqual(arguments, [call["arguments"] for call in calls])
        one = self.whole(parallel_tool_calls=False, **members)
        self.assertEqual([item["type"] for item in one["output"]], ["function_call"])

    def test_tool_choice_decides_whether_and_what_is_called(self):
        other = {**TOOL, "name": "other"}
        for choice in ("required", {"type": "function", "name": "add"},
                       {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "add"}]}):
            call, = self.whole(tools=[TOOL], tool_choice=choice, max_output_tokens=60)["output"]
            self.assertEqual(call["name"], "add")
            self.assertIn(json.loads(call["arguments"])["a"], range(100))
        response = self.whole(tools=[TOOL, other], tool_choice="none", logit_bias=only(GOOD_CALL))
        self.assertEqual([item["type"] for item in response["output"]], ["message"])
        self.refused("tool_choice", tools=[TOOL], tool_choice={"type": "function", "name": "zzz"})
        self.refused("tool_choice", tools=[{"type": "web_search"}], tool_choice="required")
        self.refused("tool_choice", tools=[TOOL, {"type": "web_search"}], tool_choice={"type": "web_search"})

    def test_what_the_model_thinks_is_an_item_of_its_own(self):
        response = self.whole(tools=[TOOL], logit_bias=only(THOUGHT), max_output_tokens=1)
        reasoning = next(item for item in response["output"] if item["type"] == "reasoning")
        self.assertEqual(reasoning["content"], [{"type": "reasoning_text", "text": "a thought"}])
        self.assertGreater(response["usage"]["output_tokens_details"]["reasoning_tokens"], 0)
        self.whole(input=[{"role": "user", "content": "Hi"}, *response["output"], {"role": "user", "content": "So?"}])

    def test_what_is_wrong_is_refused_by_its_name(self):
        self.refused("model", "model_not_found", status=404, model="zzz")
        self.refused("input", input=[])
        self.refused("input[0].role", input=[{"role": "tool", "content": "x"}])
        self.refused("input[0].content[0]", "unsupported_parameter",
                     input=[{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}])
        self.refused("input[1].type", "unsupported_parameter",
                     input=[{"role": "user", "content": "x"}, {"type": "image_generation_call", "id": "x"}])
        self.refused("include", include=[5])
        self.refused("background", background=True, store=False)
        self.refused("reasoning", reasoning="low")
        self.refused("max_tokens", "unsupported_parameter", max_tokens=5)
        self.refused("input[0].id", status=404, input=[{"type": "item_reference", "id": "msg_none"}])
        message = self.refused("max_output_tokens", "context_length_exceeded", max_output_tokens=10 ** 6)
        self.assertIn(str(self.context_length()), message)
        message = self.refused("input", "context_length_exceeded", input="word " * 10 * self.context_length())
        self.assertIn(str(self.context_length()), message)


class KeptTest(ResponsesTest):
    def test_a_conversation_goes_on_with_its_context_and_gives_the_bytes_of_its_replay(self):
        first = self.whole(input=LONG, instructions="Be short.")
        second = self.whole(input="And then?", instructions="Be short.", previous_response_id=first["id"])
        own = second["usage"]["input_tokens"] - cached(second)
        turn = self.ok("/tokenize", {"content": "<|end|>\n<user>And then?<|end|>\n<assistant>"}).json["count"]
        self.assertLessEqual(own, turn + 2)  # Only its own tokens.
        self.assertGreater(cached(second), 64)
        items = [{"role": "user", "content": LONG}, *first["output"], {"role": "user", "content": "And then?"}]
        replayed = self.whole(input=items, instructions="Be short.", store=False)
        self.assertEqual(text_of(second), text_of(replayed))
        self.assertEqual(second["usage"]["input_tokens"], replayed["usage"]["input_tokens"])
        third = self.whole(input="Go on.", instructions="Be short.", previous_response_id=second["id"])
        items += [*second["output"], {"role": "user", "content": "Go on."}]
        self.assertEqual(text_of(third), text_of(self.whole(input=items, instructions="Be short.")))

    def test_items_of_stored_responses_are_referred_to_by_their_ids(self):
        first = self.whole(input=[{"role": "user", "content": "Hi", "id": "msg_of_the_client"}])
        question, answer = first["output"][0]["content"][0]["text"], first["output"][0]["id"]
        more = {"role": "user", "content": "More"}
        referring = self.whole(input=[{"type": "item_reference", "id": "msg_of_the_client"}, {"id": answer}, more])
        spelled = self.whole(input=[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": question}, more])
        self.assertEqual(text_of(referring), text_of(spelled))
        listed = self.get(f"{referring['id']}/input_items?order=asc").json["data"]
        self.assertEqual([item["id"] for item in listed][:2], ["msg_of_the_client", answer])

    def test_a_call_and_its_result_go_on_too(self):
        members = {"tools": [TOOL]}
        first = self.whole(tool_choice="required", max_output_tokens=60, input=LONG, **members)
        call, = first["output"]
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "2"}
        second = self.whole(input=[result], previous_response_id=first["id"], **members)
        replayed = self.whole(input=[{"role": "user", "content": LONG}, call, result], store=False, **members)
        self.assertEqual(json.dumps([text_of(second), second["usage"]["input_tokens"]]),
                         json.dumps([text_of(replayed), replayed["usage"]["input_tokens"]]))
        self.assertGreater(cached(second), 64)

    def test_other_instructions_and_two_branches_of_one_response_are_right_too(self):
        first = self.whole(input=LONG, instructions="Be short.")
        for instructions, text in (("Be long.", "And then?"), (None, "And then?"), ("Be short.", "Why?")):
            second = self.whole(input=text, instructions=instructions, previous_response_id=first["id"])
            items = [{"role": "user", "content": LONG}, *first["output"], {"role": "user", "content": text}]
            self.assertEqual(text_of(second), text_of(self.whole(input=items, instructions=instructions)))

    def test_a_response_is_read_listed_and_deleted(self):
        first = self.whole()
        self.assertEqual(self.get(first["id"]).json, first)
        second = self.whole(input="And then?", previous_response_id=first["id"])
        items = self.get(second["id"] + "/input_items?order=asc").json
        self.assertEqual([item["role"] for item in items["data"]], ["user", "assistant", "user"])
        self.assertEqual(items["data"][2]["content"], [{"type": "input_text", "text": "And then?"}])
        page = self.get(second["id"] + "/input_items?limit=2").json
        self.assertEqual((page["has_more"], page["data"]), (True, items["data"][:0:-1]))
        rest = self.get(f"{second['id']}/input_items?after={page['last_id']}").json
        self.assertEqual((rest["has_more"], rest["data"]), (False, items["data"][:1]))
        deleted = self.ask_of("DELETE", f"{PATH}/{first['id']}")
        self.assertEqual((deleted.status, deleted.json["deleted"]), (200, True))
        for path in (first["id"], first["id"] + "/input_items"):
            self.assertEqual(self.status_of(path), 404)
        self.assertEqual(self.ask_of("DELETE", f"{PATH}/{first['id']}").status, 404)
        self.refused("previous_response_id", "previous_response_not_found", previous_response_id=first["id"])
        self.whole(input="Go on.", previous_response_id=second["id"])  # Which has all that it needs.

    def test_store_false_keeps_nothing(self):
        response = self.whole(store=False)
        self.assertFalse(response["store"])
        self.assertEqual(self.status_of(response["id"]), 404)

    def test_ids_of_no_response_and_unknown_paths_are_not_found(self):
        for path in ("x", "resp_", "resp_fffffffff", "resp_zzzzzzzzzz", "%2e%2e%2fx", "x/y", "x/cancel/z"):
            self.assertEqual(self.status_of(path), 404, path)
        self.assertEqual(self.post(PATH + "/compact", self.request()).status, 404)
        for query in ("limit=0", "limit=x", "order=up", "after=zzz"):
            answer = self.ask_of("GET", f"{PATH}/{self.whole()['id']}/input_items?{query}")
            self.assertEqual((answer.status, answer.json["error"]["param"]), (400, query.split("=")[0]))

    def test_a_query_parameter_that_is_not_known_is_refused_by_name(self):
        path = f"{PATH}/{self.whole()['id']}"
        for where in ("", "/input_items"):
            answer = self.ask_of("GET", f"{path}{where}?include%5B%5D=reasoning.encrypted_content")
            error = answer.json["error"]
            self.assertEqual((answer.status, error["param"], error["code"]),
                             (400, "include[]", "unsupported_parameter"))
        self.assertEqual(self.ask_of("GET", path + "?include_obfuscation=false").status, 200)


    def computed(self):
        page = self.ask_of("GET", "/metrics").body.decode()
        return int(re.search(r"^quire_computed_tokens_total (\d+)$", page, re.M)[1])

    def test_what_is_kept_is_computed_once(self):
        closing_max = 4  # Tokens of the template after an answer.
        for extra in range(0, 16, 5):  # The answer ends in another place of a page.
            before = self.computed()
            response = self.whole(input=f"{extra} is a number.", max_output_tokens=17 + extra, logit_bias=only(TEXT))
            new = response["usage"]["total_tokens"] - cached(response)
            self.assertLessEqual(self.computed() - before, new + closing_max)


class BackgroundTest(ResponsesTest):
    def begun(self, **members):
        response = self.whole(background=True, **members)
        self.assertEqual((response["status"], response["background"]), ("queued", True))
        return response

    def followed(self, response_id, after=None):
        query = "?stream=true" + ("" if after is None else f"&starting_after={after}")
        events = self.get(response_id + query).events
        self.check_numbers(events, 0 if after is None else after + 1)
        return [data for _, data in events]

    def test_a_response_in_the_background_is_the_one_of_the_foreground(self):
        over = self.until_over(self.begun(max_output_tokens=MANY)["id"])
        wanted = self.whole(max_output_tokens=MANY)
        self.assertEqual((over["status"], text_of(over)), ("incomplete", text_of(wanted)))
        self.assertEqual(over["usage"]["output_tokens"], MANY)
        second = self.whole(input="And?", previous_response_id=over["id"])
        self.assertEqual(text_of(second), text_of(self.whole(input="And?", previous_response_id=wanted["id"])))

    def test_its_events_are_followed_from_any_of_them_on_while_it_runs_and_later(self):
        response = self.begun(max_output_tokens=MANY)
        live = self.followed(response["id"])
        self.assertEqual([event["type"] for event in live[:3]],
                         ["response.created", "response.queued", "response.in_progress"])
        self.assertEqual(live[-1]["type"], "response.incomplete")
        self.assertEqual(live[-1]["response"], self.get(response["id"]).json)
        deltas = [event["delta"] for event in live if event["type"] == "response.output_text.delta"]
        self.assertEqual("".join(deltas), text_of(live[-1]["response"]))
        for after in (0, 7, len(live) - 2):
            self.assertEqual(self.followed(response["id"], after), live[after + 1:])

    def test_a_stream_that_is_left_is_resumed(self):
        wanted = self.whole(max_output_tokens=MANY)
        connection = harness.http.client.HTTPConnection(self.address, timeout=harness.TIMEOUT_SECONDS)
        body = self.request(background=True, stream=True, max_output_tokens=MANY)
        connection.request("POST", PATH, json.dumps(body))
        stream = connection.getresponse()
        lines = [stream.readline().decode() for _ in range(3)]
        connection.close()
        first = json.loads(lines[1].removeprefix("data: "))
        self.assertEqual(first["type"], "response.created")
        rest = self.followed(first["response"]["id"], after=0)
        self.assertEqual(text_of(rest[-1]["response"]), text_of(wanted))

    def test_a_response_is_cancelled(self):
        response = self.begun(max_output_tokens=None, ignore_eos=True)
        cancelled = self.post(f"{PATH}/{response['id']}/cancel", {})
        self.assertEqual((cancelled.status, cancelled.json["status"]), (200, "cancelled"))
        last = self.followed(response["id"])[-1]
        self.assertEqual((last["type"], last["response"]["status"]), ("response.incomplete", "cancelled"))
        self.assertEqual(self.get(response["id"]).json["status"], "cancelled")
        self.assertEqual(self.post(f"{PATH}/{response['id']}/cancel", {}).json["status"], "cancelled")
        self.refused("previous_response_id", previous_response_id=response["id"])
        whole = self.whole()
        answer = self.post(f"{PATH}/{whole['id']}/cancel", {})
        self.assertEqual((answer.status, answer.json["error"]["param"]), (400, "background"))
        answer = self.ask_of("GET", f"{PATH}/{whole['id']}?stream=true")
        self.assertEqual((answer.status, answer.json["error"]["param"]), (400, "stream"))

    def test_a_response_that_is_deleted_while_it_runs_leaves_nothing(self):
        response = self.begun(max_output_tokens=None, ignore_eos=True)
        self.assertEqual(self.ask_of("DELETE", f"{PATH}/{response['id']}").status, 200)
        self.assertEqual(self.status_of(response["id"]), 404)

    def test_what_is_wrong_is_refused_before_it_begins(self):
        self.refused("input", "context_length_exceeded", background=True, input="word " * 10 * self.context_length())


class RestartTest(ResponsesTest):
    """Servers one after the other on one store."""
    def serving(self, *flags):
        return beside.Server(harness.programs.BUILD, flags, 512, model=self.model, has_endpoints=True,
                             store=self.folder / "second")

    @classmethod
    def models(cls, folder):
        cls.folder = pathlib.Path(folder)
        return super().models(folder)

    def use(self, server):
        type(self).address = server.url.removeprefix("ws://")

    def test_responses_outlive_the_server_even_one_that_is_killed(self):
        with self.serving() as server:
            self.use(server)
            first = self.whole(input=LONG)
            running = self.whole(background=True, max_output_tokens=None, ignore_eos=True)
            server.process.kill()
            server.process.wait()
        with self.serving() as server:
            self.use(server)
            self.assertEqual(self.get(first["id"]).json, first)
            self.assertEqual(self.get(running["id"]).json["status"], "failed")
            second = self.whole(input="And then?", previous_response_id=first["id"])
            self.assertGreater(cached(second), 64)  # Of the snapshot: this server computed none of it.
            items = [{"role": "user", "content": LONG}, *first["output"], {"role": "user", "content": "And then?"}]
            self.assertEqual(text_of(second), text_of(self.whole(input=items)))

    def test_old_ones_leave_and_a_full_store_says_so(self):
        program = harness.programs.BUILD / "inferlets" / "openai_responses.wasm"
        with self.serving("--endpoint", f"POST {PATH}={program} --ttl-seconds 4 --count-max 3") as server:
            self.use(server)
            kept = [self.whole()["id"] for _ in range(3)]
            answer = self.post(PATH, self.request())
            self.assertEqual((answer.status, answer.json["error"]["code"]), (429, "response_quota_exceeded"))
            self.assertRegex(answer.json["error"]["message"], r"at most 3 responses, and has 3; the oldest leaves in")
            self.whole(store=False)
            time.sleep(4.5)
            self.assertEqual([self.status_of(each) for each in kept], [404] * 3)
            self.whole()

    def test_a_server_without_a_store_keeps_nothing_and_says_so(self):
        with beside.Server(harness.programs.BUILD, (), 512, model=self.model, has_endpoints=True) as server:
            self.use(server)
            response = self.whole()
            self.assertFalse(response["store"])
            for member in ("store", "background"):
                message = self.refused(member, "unsupported_parameter", **{member: True})
                self.assertIn("without a store", message)


class WithoutAStoreTest(ResponsesTest):
    has_store = False

    def test_a_server_that_keeps_nothing_says_how_to_start_one_that_does(self):
        first = self.whole()
        self.assertFalse(first["store"])
        soon = f"resp_{int(time.time()) + 1000:09x}" + "0" * 39
        for given in (first["id"], soon, "resp_1"):
            for message in (self.refused("previous_response_id", "previous_response_not_found", previous_response_id=given),
                            self.ask_of("GET", f"{PATH}/{given}").json["error"]["message"]):
                self.assertIn("keeps no responses", message)
                self.assertIn("without --no-store", message)
        for item in ({"type": "item_reference", "id": first["output"][0]["id"]}, {"id": "msg_1"}):
            message = self.refused("input", status=404, input=[item])
            self.assertIn("without --no-store", message)
            self.assertIn("send the items themselves", message)
        for member in ("store", "background"):
            self.assertIn("without --no-store", self.refused(member, "unsupported_parameter", **{member: True}))


if __name__ == "__main__":
    harness.main()
