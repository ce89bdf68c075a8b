"""Calls of tools come as the model writes them: in all interfaces, in the forms that a model without tools in its template
writes, whole or cut. A parrot (parrot.py) says each text."""
import json
import pathlib

import harness
from parrot import parrot

ARGUMENTS = {"path": "a.py", "text": "one\ntwo \u00e9 </tool_call>", "lines": [1, 2]}


def call(name, begin, end):
    """A call in pieces, each of which is a token."""
    return [begin, f'{{"name": "{name}", ', '"arguments": ', '{"path": ', '"a.p', 'y", "te', 'xt": "one', '\\nt', 'wo \\u00', 'e9 <',
            '/tool_', 'call>"', ', "lines": [', '1, ', '2]', '}', '}' + end]


def tool(name, **members):
    return {"name": name, "description": "Of a test.", **members, "parameters": {
        "type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"},
                                         "lines": {"type": "array", "items": {"type": "integer"}}},
        "required": ["path"], "additionalProperties": False}}


def closed(text):
    """The value of a beginning of JSON, when its string, arrays and objects are closed."""
    stack, in_text, at = "", False, 0
    while at < len(text):
        each = text[at]
        if in_text and each == "\\":
            at += 1
        elif each == '"':
            in_text = not in_text
        elif not in_text and each in "[{":
            stack += "]}"["[{".index(each)]
        elif not in_text and each in "]}":
            stack = stack[:-1]
        at += 1
    return json.loads(text + '"' * in_text + stack[::-1])


class StreamedCallsTest(harness.EndpointTest):
    @classmethod
    def models(cls, folder):
        folder = pathlib.Path(folder)
        return [parrot(folder / "marks", [["I write ", "it.\n", *call("write", "<tool_call>\n", "\n</tool_call>"), "\nDone."]]),
                parrot(folder / "fence", [["Now.\n", *call("write", "```json\n", "\n```")]]),
                parrot(folder / "example", [["So:\n", '```json\n{"name": "Ada", ', '"arguments": {"a": 1}}', "\n```", " is one."]]),
                parrot(folder / "wrong", [["<tool_call>\n", '{"name": "write", "arguments": {', '"path": "it', "\\'s", '"}}',
                                           "\n</tool_call>"]])]

    # Each gives the answer of one interface as (text, [(name, arguments)], why it ended, deltas of arguments).

    def chat(self, model, stream, most=64, **members):
        body = {"model": model, "messages": [{"role": "user", "content": "Write."}], "temperature": 0, "max_tokens": most,
                "tools": [{"type": "function", "function": tool("write", **members.pop("function", {}))}], **members}
        if not stream:
            choice = self.ok("/v1/chat/completions", body).json["choices"][0]
            calls = [(each["function"]["name"], each["function"]["arguments"])
                     for each in choice["message"].get("tool_calls", [])]
            return choice["message"]["content"] or "", calls, choice["finish_reason"], None
        text, calls, deltas, why = "", [], [], None
        for _, event in self.ok("/v1/chat/completions", {**body, "stream": True}).events:
            if event == "[DONE]" or not event["choices"]:
                continue
            delta = event["choices"][0]["delta"]
            why = event["choices"][0]["finish_reason"] or why
            text += delta.get("content") or ""
            for each in delta.get("tool_calls", []):
                if "name" in each["function"]:
                    calls.append([each["function"]["name"], ""])
                if each["function"]["arguments"]:
                    deltas.append(each["function"]["arguments"])
                    calls[each["index"]][1] += deltas[-1]
        return text, [tuple(each) for each in calls], why, deltas

    def responses(self, model, stream, most=64, **members):
        body = {"model": model, "input": "Write.", "temperature": 0, "max_output_tokens": most, "store": False,
                "tools": [{"type": "function", **tool("write", **members.pop("function", {}))}], **members}
        deltas = None
        if stream:
            events = [event for _, event in self.ok("/v1/responses", {**body, "stream": True}).events]
            deltas = [event["delta"] for event in events if event["type"] == "response.function_call_arguments.delta"]
            done = [event["arguments"] for event in events if event["type"] == "response.function_call_arguments.done"]
            self.assertEqual("".join(done), "".join(deltas))
            response = events[-1]["response"]
        else:
            response = self.ok("/v1/responses", body).json
        text = "".join(item["content"][0]["text"] for item in response["output"] if item["type"] == "message")
        calls = [(item["name"], item["arguments"]) for item in response["output"] if item["type"] == "function_call"]
        return text, calls, response["status"], deltas

    def messages(self, model, stream, most=64, **members):
        function = tool("write", **members.pop("function", {}))
        function["input_schema"] = function.pop("parameters")
        body = {"model": model, "messages": [{"role": "user", "content": "Write."}], "temperature": 0, "max_tokens": most,
                "tools": [function], **members}
        if not stream:
            message = self.ok("/v1/messages", body).json
            text = "\n".join(block["text"] for block in message["content"] if block["type"] == "text")
            calls = [(block["name"], block["input"]) for block in message["content"] if block["type"] == "tool_use"]
            return text, calls, message["stop_reason"], None
        blocks, deltas, why = [], [], None
        for name, event in self.ok("/v1/messages", {**body, "stream": True}).events:
            if name == "content_block_start":
                blocks.append([event["content_block"]["type"], event["content_block"].get("name"), ""])
                self.assertEqual(event["index"], len(blocks) - 1)
            elif name == "content_block_delta":
                delta = event["delta"]
                self.assertEqual(delta["type"] == "input_json_delta", blocks[-1][0] == "tool_use")
                blocks[-1][2] += delta.get("text") or delta.get("partial_json") or ""
                if delta["type"] == "input_json_delta":
                    deltas.append(delta["partial_json"])
            elif name == "message_delta":
                why = event["delta"]["stop_reason"]
        text = "\n".join(text for kind, _, text in blocks if kind == "text")
        return text, [(name, given) for kind, name, given in blocks if kind == "tool_use"], why, deltas

    INTERFACES = (chat, responses, messages)

    def same(self, ask, *args, **members):
        """The answer of a stream, which is that of the whole response."""
        streamed, whole = ask(self, *args, True, **members), ask(self, *args, False, **members)
        value = lambda given: given if isinstance(given, dict) else json.loads(given or "{}")
        self.assertEqual((streamed[0], streamed[2]), (whole[0], whole[2]))
        self.assertEqual([name for name, _ in streamed[1]], [name for name, _ in whole[1]])
        if streamed[2] in ("tool_calls", "completed", "tool_use"):
            self.assertEqual([value(given) for _, given in streamed[1]], [value(given) for _, given in whole[1]])
        return streamed

    def test_arguments_come_as_the_model_writes_them(self):
        for ask in self.INTERFACES:
            for model, text in (("marks", "I write it.\nDone."), ("fence", "Now.")):
                with self.subTest(ask=ask.__name__, model=model):
                    shown, calls, why, deltas = self.same(ask, model)
                    self.assertEqual((shown, [name for name, _ in calls]), (text, ["write"]))
                    self.assertEqual(json.loads(calls[0][1]), ARGUMENTS)
                    self.assertIn(why, ("tool_calls", "completed", "tool_use"))
                    self.assertGreater(len(deltas), 8, deltas)
                    for count in range(1, len(deltas)):
                        self.assertIsInstance(closed("".join(deltas[:count])), dict)

    def test_a_call_that_is_cut_has_the_arguments_that_came(self):
        for ask, reason in zip(self.INTERFACES, ("length", "incomplete", "max_tokens")):
            with self.subTest(ask=ask.__name__):
                _, calls, why, deltas = self.same(ask, "marks", most=9)
                self.assertEqual((calls[0][0], why), ("write", reason))
                self.assertEqual(calls[0][1], '{"path":"a.py","text":"one')

    def test_a_call_that_was_cut_can_be_sent_back(self):
        def count(arguments):
            call = {"id": "c", "type": "function", "function": {"name": "write", "arguments": arguments}}
            return self.ok("/v1/chat/completions", {"model": "marks", "max_tokens": 1, "messages": [
                {"role": "user", "content": "Write."}, {"role": "assistant", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": "It was cut."}]}).json["usage"]["prompt_tokens"]

        self.assertEqual(count('{"path":"a.py","lines":[1,2'), count('{"path":"a.py","lines":[1,2]}'))
        self.assertEqual(count('{"path":"a.'), count('{"path":"a."}'))
        call = {"type": "function_call", "call_id": "c", "name": "write", "arguments": '{"path":"a.'}
        result = {"type": "function_call_output", "call_id": "c", "output": "It was cut."}
        self.ok("/v1/responses", {"model": "marks", "max_output_tokens": 1, "input": [
            {"role": "user", "content": "Write."}, call, result]})

    def test_an_example_of_json_is_text(self):
        for ask in self.INTERFACES:
            text, calls, _, _ = self.same(ask, "example")
            self.assertEqual((text, calls), ('So:\n```json\n{"name": "Ada", "arguments": {"a": 1}}\n``` is one.', []))

    def test_what_cannot_be_read_in_a_call_is_text_after_it(self):
        for ask in self.INTERFACES:
            text, calls, why, _ = self.same(ask, "wrong")
            self.assertEqual((calls[0], text), (("write", '{"path":"it'), "'s\"}}\n</tool_call>"))
            self.assertNotIn(why, ("tool_calls", "completed", "tool_use"))

    def test_a_strict_call_comes_when_its_schema_allows_it(self):
        for ask in self.INTERFACES:
            shown, calls, _, deltas = self.same(ask, "marks", function={"strict": True})
            self.assertEqual((shown, json.loads(calls[0][1])), ("I write it.\nDone.", ARGUMENTS))
            self.assertEqual(len(deltas), 1)

    def test_logprobs_of_a_text_stay_with_it_beside_a_call(self):
        _, calls, why, _ = self.same(type(self).chat, "marks", logprobs=True)
        self.assertEqual((json.loads(calls[0][1]), why), (ARGUMENTS, "tool_calls"))
        _, calls, _, _ = self.same(type(self).responses, "marks", include=["message.output_text.logprobs"])
        self.assertEqual(json.loads(calls[0][1]), ARGUMENTS)


if __name__ == "__main__":
    harness.main()
