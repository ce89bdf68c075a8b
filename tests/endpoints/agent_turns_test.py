"""Requests of coding agents, with texts of ours, turn by turn: hints, tools of services, thoughts, namespaces.

The members and the shapes are those that codex 0.171.0 (/v1/responses), claude-cli 2.1.197 (/v1/messages) and gemini-cli
0.61.0 (/v1beta/models) send. The model is a parrot (parrot.py), which thinks and calls in its first turn, and answers in
its second.
"""
import json
import pathlib

import clients
import harness
from parrot import parrot

openai = clients.find("openai")
anthropic = clients.find("anthropic")
THOUGHT, ANSWER = "The folder first.", "It has two files."
LONG = " ".join(f"Rule {number}: keep the code simple." for number in range(20))


def call_of(name, arguments):
    return f'<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(arguments)}}}\n</tool_call>'


# As Qwen2.5-Coder answers what the tool Read of claude-cli gives: the tab of a line is not escaped.
COPIED_CALL = '{"name": "Read", "arguments": {"file_path": "1\tx\\n2\ty"}}'


# Each piece is one token of the parrot.
def said(name, arguments):
    return [["<think>\n", "The folder", " first.", "\n</think>\n\n", call_of(name, arguments)], ["It has", " two files."]]


def function(name, properties, **members):
    return {"type": "function", "name": name, "description": "Of an agent.", "strict": False,
            "parameters": {"type": "object", "properties": properties, "required": list(properties),
                           "additionalProperties": False}, **members}


CODEX_TOOLS = [function("exec_command", {"cmd": {"type": "string"}}),
               {"type": "namespace", "name": "agents", "description": "Other agents.",
                "tools": [function("close_agent", {"target": {"type": "string"}})]},
               {"type": "custom", "name": "apply_patch", "description": "Edits files.",
                "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}},
               {"type": "web_search", "external_web_access": False}]
CLAUDE_TOOLS = [{"name": "Read", "description": "Reads a file.", "input_schema": {
    "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
    "properties": {"file_path": {"type": "string"}}, "required": ["file_path"], "additionalProperties": False}},
                {"type": "web_search_20250305", "name": "web_search", "max_uses": 8},
                {"name": "mcp__plugin_of_a_long_name__" + "x" * 90, "input_schema": {"type": "object"}}]


class AgentTurnsTest(harness.EndpointTest):
    has_store = True

    @classmethod
    def models(cls, folder):
        folder = pathlib.Path(folder)
        return [parrot(folder / "shell", said("exec_command", {"cmd": "ls"})),
                parrot(folder / "spaced", said("agents__close_agent", {"target": "b"})),
                parrot(folder / "reader", said("Read", {"file_path": "a.py"})),
                parrot(folder / "copier", [["Now.\n", "```github\n", COPIED_CALL, "\n```"]]),
                parrot(folder / "thinker", [["<think>", *(f"w{number} " for number in range(40)), "</think>", "Yes."]])]

    # ---- /v1/responses, as codex ------------------------------------------------------------------

    def codex(self, model, items, **members):
        return {"model": model, "instructions": LONG, "input": items, "tools": CODEX_TOOLS, "tool_choice": "auto",
                "parallel_tool_calls": True, "reasoning": {"effort": "medium", "summary": "auto"}, "store": False,
                "include": ["reasoning.encrypted_content"], "prompt_cache_key": "thread", "text": {"verbosity": "low"},
                "service_tier": "priority", "client_metadata": {"installation": "i"}, "temperature": 0, **members}

    QUESTION = [{"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be short."}]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is here?"}]}]

    def events_of(self, body):
        answer = self.ok("/v1/responses", {**body, "stream": True})
        return answer, [event for _, event in answer.events]

    def test_a_turn_of_codex_thinks_calls_and_goes_on_with_its_prompt(self):
        answer, events = self.events_of(self.codex("shell", self.QUESTION))
        self.assertEqual(answer.headers["x-quire-ignored"],
                         "tools[2] (custom), tools[3] (web_search), client_metadata")
        output = events[-1]["response"]["output"]
        self.assertEqual([item["type"] for item in output], ["reasoning", "function_call"])
        self.assertEqual(output[0]["content"][0]["text"], THOUGHT)
        self.assertEqual((output[1]["name"], json.loads(output[1]["arguments"])), ("exec_command", {"cmd": "ls"}))
        deltas = [event["delta"] for event in events if event["type"] == "response.reasoning_text.delta"]
        self.assertGreater(len(deltas), 1)
        self.assertEqual("".join(deltas), THOUGHT)

        result = {"type": "function_call_output", "call_id": output[1]["call_id"], "output": "a.py b.py"}
        _, more = self.events_of(self.codex("shell", [*self.QUESTION, *output, result]))
        self.assertEqual(more[-1]["response"]["output"][-1]["content"][0]["text"], ANSWER)
        first, second = (each[-1]["response"]["usage"] for each in (events, more))
        self.assertGreater(second["input_tokens_details"]["cached_tokens"], 0.9 * first["input_tokens"])

    def test_a_function_of_a_namespace_comes_back_with_it(self):
        _, events = self.events_of(self.codex("spaced", self.QUESTION))
        call = events[-1]["response"]["output"][-1]
        self.assertEqual((call["name"], call["namespace"]), ("close_agent", "agents"))
        choice = {"type": "function", "name": "close_agent", "namespace": "agents"}
        demanded = self.ok("/v1/responses", self.codex("shell", self.QUESTION, tool_choice=choice,
                                                       max_output_tokens=4)).json["output"][-1]
        self.assertEqual((demanded["name"], demanded["namespace"]), ("close_agent", "agents"))
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "closed"}
        self.ok("/v1/responses", self.codex("spaced", [*self.QUESTION, call, result]))

    def test_a_choice_of_what_was_left_out_is_refused(self):
        for choice in ({"type": "web_search"}, {"type": "custom", "name": "apply_patch"},
                       {"type": "function", "name": "close_agent"}):
            answer = self.post("/v1/responses", self.codex("shell", self.QUESTION, tool_choice=choice))
            self.assertEqual((answer.status, answer.json["error"]["param"].split(".")[0]), (400, "tool_choice"), choice)
        answer = self.post("/v1/responses", self.codex("shell", self.QUESTION, tools=CODEX_TOOLS[2:],
                                                       tool_choice="required"))
        self.assertEqual(answer.status, 400)

    def test_calls_of_tools_that_the_server_lacks_are_read_as_text(self):
        patch = {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*** Begin Patch"}
        done = {"type": "custom_tool_call_output", "call_id": "c", "output": "Done patching"}
        search = {"type": "web_search_call", "id": "ws_1", "status": "completed",
                  "action": {"type": "search", "query": "quire"}}
        items = [*self.QUESTION, patch, done, search, {"role": "user", "content": "Go on"}]
        body = self.codex("shell", items, store=True)
        response = self.ok("/v1/responses", body).json
        listed = self.ask_of("GET", f"/v1/responses/{response['id']}/input_items?order=asc").json["data"]
        self.assertEqual([item["type"] for item in listed][2:5], [patch["type"], done["type"], search["type"]])
        count = lambda given: self.ok("/v1/responses/input_tokens", self.codex("shell", given)).json["input_tokens"]
        less = [*self.QUESTION, {"role": "assistant", "content": ""}, {"role": "user", "content": ""},
                {"role": "assistant", "content": ""}, items[-1]]
        texts = ["[apply_patch: *** Begin Patch]", "[custom_tool_call_output: Done patching]",
                 f"[web_search_call: {json.dumps(search, separators=(',', ':'))}]"]
        self.assertEqual(count(items) - count(less), sum(map(len, texts)))  # A byte is a token of the parrot.

    @clients.needs(openai, "openai")
    def test_the_client_of_openai_reads_the_turns(self):
        client = openai.OpenAI(base_url=self.url + "/v1", api_key="none", max_retries=0)
        members = {key: value for key, value in self.codex("shell", self.QUESTION).items() if key != "client_metadata"}
        with client.responses.stream(**members) as stream:
            kinds = [event.type for event in stream]
            response = stream.get_final_response()
        self.assertLess(kinds.index("response.reasoning_text.delta"), kinds.index("response.output_item.done"))
        self.assertEqual([item.type for item in response.output], ["reasoning", "function_call"])
        raw = client.responses.with_raw_response.create(**members)
        self.assertIn("web_search", raw.headers["x-quire-ignored"])

    # ---- /v1/messages, as claude-cli ----------------------------------------------------------------

    def claude(self, model, messages, **members):
        return {"model": model, "max_tokens": 64, "temperature": 0, "seed": 1, "messages": messages, "tools": CLAUDE_TOOLS,
                "system": [{"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.197.fa0;"},
                           {"type": "text", "text": LONG, "cache_control": {"type": "ephemeral", "ttl": "1h",
                                                                            "scope": "global"}}],
                "thinking": {"type": "adaptive"}, "metadata": {"user_id": "u"}, "output_config": {"effort": "high"},
                "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}, **members}

    ASKED = [{"role": "user", "content": [{"type": "text", "text": "<system-reminder>\nBe short.\n</system-reminder>"},
                                          {"type": "text", "text": "What is here?"}]},
             {"role": "system", "content": "Available agents: none."}]

    def message_of(self, body):
        """The message of a stream, put together, which is the one of the whole response."""
        answer = self.ok("/v1/messages?beta=true", {**body, "stream": True})
        blocks = []
        for name, event in answer.events:
            if name == "content_block_start":
                blocks.append({**event["content_block"]})
            elif name == "content_block_delta":
                delta = event["delta"]
                for part, member in (("thinking", "thinking"), ("text", "text"), ("signature", "signature"),
                                     ("partial_json", "partial")):
                    if part in delta:
                        blocks[-1][member] = blocks[-1].get(member, "") + delta[part]
        for block in blocks:
            if block["type"] == "tool_use":
                block["input"] = json.loads(block.pop("partial", "{}"))
        whole = self.ok("/v1/messages?beta=true", body).json
        self.assertEqual(blocks, whole["content"])
        return answer, whole

    def test_a_turn_of_claude_thinks_calls_and_goes_on_with_its_prompt(self):
        answer, message = self.message_of(self.claude("reader", self.ASKED))
        self.assertEqual(answer.headers["x-quire-ignored"],
                         "system[1].cache_control.scope, tools[1] (web_search_20250305), context_management")
        thought, call = message["content"]
        self.assertEqual((thought["type"], thought["thinking"]), ("thinking", THOUGHT))
        self.assertTrue(thought["signature"])
        self.assertEqual((call["name"], call["input"], message["stop_reason"]),
                         ("Read", {"file_path": "a.py"}, "tool_use"))
        turns = [*self.ASKED, {"role": "assistant", "content": message["content"]},
                 {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": "x = 1"}]}]
        _, more = self.message_of(self.claude("reader", turns))
        self.assertEqual(more["content"], [{"type": "text", "text": ANSWER}])
        first, second = message["usage"], more["usage"]
        self.assertGreater(second["cache_read_input_tokens"],
                           0.9 * (first["input_tokens"] + first["cache_read_input_tokens"]))

    def test_a_call_in_a_fence_with_copied_tabs_is_a_call(self):
        for body in (self.claude("copier", self.ASKED), self.claude("copier", self.ASKED, thinking={"type": "disabled"})):
            _, message = self.message_of(body)
            text, call = message["content"]
            self.assertEqual((text["text"], call["input"]), ("Now.", {"file_path": "1\tx\n2\ty"}))
            self.assertEqual(message["stop_reason"], "tool_use")
        output = self.ok("/v1/responses", {
            "model": "copier", "input": "Go on", "temperature": 0,
            "tools": [function("Read", {"file_path": {"type": "string"}}, strict=False)]}).json["output"]
        self.assertEqual(json.loads(output[-1]["arguments"]), {"file_path": "1\tx\n2\ty"})

    def test_the_line_about_billing_is_not_computed(self):
        def count(system):
            body = self.claude("reader", self.ASKED, system=system)
            for name in ("max_tokens", "temperature", "seed", "metadata"):
                del body[name]
            if system is None:
                del body["system"]
            return self.ok("/v1/messages/count_tokens", body).json["input_tokens"]

        line = "x-anthropic-billing-header: cc_version=2.1.175.fa0; cc_entrypoint=cli; cch=71fea;"
        block = lambda text: {"type": "text", "text": text}
        without = count(LONG)
        for system in ([block(line), block(LONG)], [block(line + "\n"), block(LONG)], line + "\n" + LONG, [block(line + "\n" + LONG)]):
            self.assertEqual(count(system), without, system)
        self.assertEqual(count(line), count(None))
        self.assertGreater(count(LONG + "\n" + line), without)  # Only at the beginning.
        chat = lambda text: self.ok("/v1/chat/completions", {"model": "reader", "max_tokens": 1, "messages": [
            {"role": "system", "content": text}, {"role": "user", "content": "Hi"}]}).json["usage"]["prompt_tokens"]
        self.assertEqual(chat(line + "\n" + LONG), chat(LONG))
        given = lambda text: self.ok("/v1/responses/input_tokens", {
            "model": "reader", "input": "Hi", "instructions": text}).json["input_tokens"]
        self.assertEqual(given(line + "\n" + LONG), given(LONG))

    def test_thinking_is_taken_in_every_form(self):
        for thinking, has_block in (({"type": "enabled", "budget_tokens": 1024}, True), ({"type": "adaptive"}, True),
                                    ({"type": "adaptive", "display": "summarized"}, True), ({"type": "disabled"}, False)):
            _, message = self.message_of(self.claude("reader", self.ASKED, thinking=thinking))
            self.assertEqual(message["content"][0]["type"] == "thinking", has_block, thinking)
        _, message = self.message_of(self.claude("reader", self.ASKED,
                                                 thinking={"type": "adaptive", "display": "omitted"}))
        self.assertEqual(message["content"][0]["thinking"], "")

    def test_a_budget_ends_thoughts(self):
        body = self.claude("thinker", self.ASKED, tools=[], max_tokens=60)
        _, free = self.message_of(body)
        _, bounded = self.message_of({**body, "thinking": {"type": "enabled", "budget_tokens": 8}})
        self.assertEqual(len(free["content"][0]["thinking"].split()), 40)
        self.assertLessEqual(len(bounded["content"][0]["thinking"].split()), 8)
        self.assertTrue(free["content"][0]["thinking"].startswith(bounded["content"][0]["thinking"]))
        self.assertEqual(bounded["content"][1]["text"], "Yes.")

    @clients.needs(anthropic, "anthropic")
    def test_the_client_of_anthropic_reads_the_turns(self):
        client = anthropic.Anthropic(base_url=self.url, api_key="none", max_retries=0)
        members = self.claude("reader", self.ASKED)
        beyond = {name: members.pop(name) for name in ("seed", "temperature")}  # Of the client's parameters.
        with client.beta.messages.stream(**members, extra_body=beyond) as stream:
            kinds = [event.type for event in stream]
            message = stream.get_final_message()
        self.assertIn("thinking", kinds)
        self.assertEqual([block.type for block in message.content], ["thinking", "tool_use"])

    # ---- /v1beta/models, as gemini-cli --------------------------------------------------------------

    def gemini(self, contents):
        """The request of a turn, and the parts and the usage of its answer, of a stream of events."""
        functions = [{"name": "Read", "description": "Reads a file.", "parametersJsonSchema": {
            "type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]}},
            {"name": "mcp_server.list:all", "description": "Of a plugin.", "parametersJsonSchema": {
                "type": "object", "properties": {}}}]
        body = {"contents": contents, "systemInstruction": {"role": "user", "parts": [{"text": LONG}]},
                "tools": [{"functionDeclarations": functions}],
                "generationConfig": {"temperature": 0, "topP": 0.95, "topK": 64, "thinkingConfig": {"includeThoughts": True}}}
        answer = self.ok("/v1beta/models/reader:streamGenerateContent?alt=sse", body)
        self.assertNotIn("x-quire-ignored", answer.headers)
        chunks = [chunk for _, chunk in answer.events]
        return [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]], chunks[-1]["usageMetadata"]

    def test_a_turn_of_gemini_cli_thinks_calls_and_goes_on_with_its_prompt(self):
        question = {"role": "user", "parts": [{"text": "<session_context>\nToday is a day.\n</session_context>"},
                                              {"text": "What is here?"}]}
        parts, first = self.gemini([question])
        self.assertEqual("".join(part["text"] for part in parts if part.get("thought")), THOUGHT)
        call, = (part["functionCall"] for part in parts if "functionCall" in part)
        self.assertEqual((call["name"], call["args"]), ("Read", {"file_path": "a.py"}))
        asked = {"role": "model", "parts": [{"functionCall": call, "thoughtSignature": "skip_thought_signature_validator"}]}
        result = {"functionResponse": {"id": call["id"], "name": "Read", "response": {"output": "a file"}}}
        parts, second = self.gemini([question, asked, {"role": "user", "parts": [result]}])
        self.assertEqual("".join(part.get("text", "") for part in parts), ANSWER)
        self.assertGreater(second["cachedContentTokenCount"], 0.9 * first["promptTokenCount"])


if __name__ == "__main__":
    harness.main()
