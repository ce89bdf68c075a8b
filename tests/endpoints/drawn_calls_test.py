"""The tokens of a call are found in the cache by the next request, however the model wrote the call."""
import json
import pathlib

import harness
from parrot import TOOL_TEMPLATE, parrot

PAGE = 16
# How templates write a call, and how a model does that does not write it so.
FORMS = {
    "fence": ('\n<tool_call>\n{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}\n</tool_call>',
              ('```json\n{"name": "write", ', '"arguments": {"path": "'), ('"}', '}\n```')),
    "blanks": ('\n<tool_call>\n{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}\n</tool_call>',
               ("<tool_call>", '{"name":"write",', '"arguments":{"path":"'), ('"}}', "</tool_call>")),
    "named": ("[TOOL_CALLS]{{ call.function.name }}[ARGS]{{ call.function.arguments | tojson }}",
              ("[TOOL_CALLS]", "write", "[ARGS]", '{ "path" :"'), ('" }', " ")),
    "pairs": ("\n<tool_call>\n<function={{ call.function.name }}>\n{% for name, value in call.function.arguments | items %}"
              "<parameter={{ name }}>\n{{ value }}\n</parameter>\n{% endfor %}</function>\n</tool_call>",
              ("<tool_call>\n", "<function=", "write>", "<parameter=path>"), ("</parameter>", "</function>", "</tool_call>")),
}
WORDS = [f"word{number} " for number in range(48)]
PATH = "".join(WORDS) + "end"


def turns(begin, end):
    return [[*begin, *WORDS, "end", *end], ["It is ", "written."]]


class DrawnCallsTest(harness.EndpointTest):
    has_store = True

    @classmethod
    def models(cls, folder):
        folder = pathlib.Path(folder)
        made = [parrot(folder / name, turns(begin, end), template=TOOL_TEMPLATE.replace("CALL", call))
                for name, (call, begin, end) in FORMS.items()]
        text = [["I write ", "it.\n", *turns(*FORMS["fence"][1:])[0]], ["Good."]]
        text[0].append("\nThat is all.")
        again = ['```json\n {"name": "write", ', '"arguments":  {"path": "', *(word.upper() for word in WORDS), 'end"', ' }}\n```']
        twice = [turns(*FORMS["fence"][1:])[0], again, ["Both are ", "written."]]
        made.append(parrot(folder / "twice", twice, template=TOOL_TEMPLATE.replace("CALL", FORMS["fence"][0])))
        return [*made, parrot(folder / "text", text, template=TOOL_TEMPLATE.replace("CALL", FORMS["fence"][0]))]

    SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}

    # Each gives (usage, the conversation with the answer and the result of its call).

    def chat(self, model, given, edit=None):
        answer = self.ok("/v1/chat/completions", {
            "model": model, "messages": given, "temperature": 0,
            "tools": [{"type": "function", "function": {"name": "write", "parameters": self.SCHEMA}}]}).json
        message, usage = answer["choices"][0]["message"], answer["usage"]
        if message.get("tool_calls"):
            function = message["tool_calls"][0]["function"]
            self.assertEqual(json.loads(function["arguments"])["path"].lower(), PATH)
            function["arguments"] = edit or function["arguments"]
            given = [*given, message, {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "done"}]
        return (usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"], usage["completion_tokens"]), given

    def responses(self, model, given, edit=None):
        answer = self.ok("/v1/responses", {"model": model, "input": given, "temperature": 0, "store": False, "tools": [
            {"type": "function", "name": "write", "parameters": self.SCHEMA}]}).json
        usage = answer["usage"]
        for call in (item for item in answer["output"] if item["type"] == "function_call"):
            call["arguments"] = edit or call["arguments"]
            given = [*given, *answer["output"],
                     {"type": "function_call_output", "call_id": call["call_id"], "output": "done"}]
        return (usage["input_tokens"], usage["input_tokens_details"]["cached_tokens"], usage["output_tokens"]), given

    def messages(self, model, given, edit=None):
        answer = self.ok("/v1/messages", {"model": model, "messages": given, "temperature": 0, "max_tokens": 128, "tools": [
            {"name": "write", "input_schema": self.SCHEMA}]}).json
        usage = answer["usage"]
        for call in (block for block in answer["content"] if block["type"] == "tool_use"):
            call["input"] = json.loads(edit) if edit else call["input"]
            given = [*given, {"role": "assistant", "content": answer["content"]},
                     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": "done"}]}]
        found = usage["cache_read_input_tokens"]
        return (usage["input_tokens"] + found, found, usage["output_tokens"]), given

    def two_turns(self, ask, model, question, edit=None):
        """How many tokens the first turn has, with what was drawn, and how many of them the second one finds."""
        (prompt, _, drawn), given = ask(self, model, [{"role": "user", "content": question}], edit)
        self.assertGreater(len(given), 1)
        (_, found, _), _ = ask(self, model, given)
        return prompt, prompt + drawn, found

    def test_the_next_turn_finds_the_tokens_of_a_call(self):
        for ask in (type(self).chat, type(self).responses, type(self).messages):
            for model in (*FORMS, "text"):
                with self.subTest(ask=ask.__name__, model=model):
                    _, all_tokens, found = self.two_turns(ask, model, f"Write for {ask.__name__}.")
                    self.assertGreaterEqual(found, all_tokens - 1 - PAGE)

    def test_a_conversation_finds_the_calls_of_all_its_turns(self):
        for ask in (type(self).chat, type(self).responses, type(self).messages):
            given, all_tokens = [{"role": "user", "content": f"Write twice for {ask.__name__}."}], 0
            for turn in range(3):
                with self.subTest(ask=ask.__name__, turn=turn):
                    (prompt, found, drawn), given = ask(self, "twice", given)
                    self.assertGreaterEqual(found, all_tokens - 1 - PAGE)
                    all_tokens = prompt + drawn

    def test_a_call_that_the_client_changed_is_written_as_the_template_does(self):
        for ask in (type(self).chat, type(self).responses, type(self).messages):
            with self.subTest(ask=ask.__name__):
                prompt, _, found = self.two_turns(ask, "fence", f"Change it for {ask.__name__}.", '{"path": "other"}')
                self.assertLessEqual(found, prompt + 1)


if __name__ == "__main__":
    harness.main()
