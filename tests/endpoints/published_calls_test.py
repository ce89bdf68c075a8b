"""The calls that a published template writes, as Jinja2 renders them, are read back to the values that they were made of.

The model of each class answers with the text of a golden conversation (tests/golden/make_chat_templates.py).
"""
import json
import pathlib

import harness
from parrot import parrot

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = json.loads((HERE.parent / "golden/chat_templates_jinja2.json").read_text())
REQUEST = GOLDEN["requests"]["call_lines"]
RENDERED = GOLDEN["texts"]["Qwen3-Coder.jinja"]["call_lines"]
TOOL = REQUEST["tools"][0]["function"]
QUESTION, CALL, RESULT, THANKS = REQUEST["messages"]
ARGUMENTS = CALL["tool_calls"][0]["function"]["arguments"]
PROMPT_END = "assistant\n"


def pieces_of(text):
    """Lines of the text, joined until each piece is another one."""
    pieces, piece = [], ""
    for line in text.splitlines(keepends=True):
        piece += line
        if piece not in pieces:
            pieces.append(piece)
            piece = ""
    return [*pieces, piece] if piece else pieces


class PublishedCallsTest(harness.EndpointTest):
    has_store = True

    @classmethod
    def models(cls, folder):
        answer = RENDERED.split("<|im_start|>" + PROMPT_END)[1].split("<|im_end|>")[0]
        return [parrot(pathlib.Path(folder) / "coder", [pieces_of(answer)], template=(HERE / "qwen3_coder.jinja").read_text(),
                       marks=[PROMPT_END])]

    def check(self, text, name, arguments):
        self.assertEqual((text, name), (CALL["content"], "write"))
        self.assertEqual(json.loads(arguments), ARGUMENTS)

    def test_chat_completions_read_lines_and_values_of_other_types(self):
        ask = {"model": "coder", "messages": [QUESTION], "tools": REQUEST["tools"], "temperature": 0}
        message = self.ok("/v1/chat/completions", ask).json["choices"][0]["message"]
        [call] = message["tool_calls"]
        self.check(message["content"], call["function"]["name"], call["function"]["arguments"])

    def test_a_stream_gives_the_same_arguments(self):
        ask = {"model": "coder", "messages": [QUESTION], "tools": REQUEST["tools"], "temperature": 0, "stream": True}
        deltas = [event["choices"][0]["delta"] for _, event in self.ok("/v1/chat/completions", ask).events if event != "[DONE]"]
        calls = [call["function"] for delta in deltas for call in delta.get("tool_calls", [])]
        self.check("".join(delta.get("content") or "" for delta in deltas).strip(), calls[0]["name"],
                   "".join(call["arguments"] for call in calls))

    def test_responses_and_messages_read_them_too(self):
        answer = self.ok("/v1/responses", {"model": "coder", "input": [QUESTION], "temperature": 0, "store": False,
                                           "tools": [{"type": "function", **TOOL}]}).json
        [message, call] = answer["output"]
        self.check(message["content"][0]["text"], call["name"], call["arguments"])
        answer = self.ok("/v1/messages", {"model": "coder", "messages": [QUESTION], "temperature": 0, "max_tokens": 128, "tools": [
            {"name": TOOL["name"], "description": TOOL["description"], "input_schema": TOOL["parameters"]}]}).json
        [text, call] = answer["content"]
        self.check(text["text"], call["name"], json.dumps(call["input"]))

    def test_the_next_prompt_shows_the_call_as_jinja2_writes_it(self):
        function = {"name": "write", "arguments": json.dumps(ARGUMENTS)}  # Clients send arguments as text.
        call = {**CALL, "tool_calls": [{**CALL["tool_calls"][0], "function": function}]}
        prompt = self.ok("/apply-template", {"model": "coder", "messages": [QUESTION, call, RESULT, THANKS],
                                             "tools": REQUEST["tools"]}).json["prompt"]
        self.assertEqual(prompt, RENDERED)


if __name__ == "__main__":
    harness.main()
