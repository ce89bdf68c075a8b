"""Tests that an answer outside of a grammar is kept if it fits its schema, however it is spelled; else it is drawn again."""
import json
import pathlib

import harness
from parrot import parrot

POINT = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"],
         "additionalProperties": False}
SCHEMA = {"type": "object", "properties": {"at": {"anyOf": [{"type": "null"}, POINT]}, "n": {"type": "integer"}},
          "required": ["at", "n"], "additionalProperties": False}
# The members stand in another order than in the schema, inside of a choice too; there are blanks; 1.0 is a whole number.
FITTING = '{"n": 1.0,\n "at": {"b": 2, "a": 12345678901234567890123}}'
# In a call, the values as they were written, in their order, without blanks.
KEPT = '{"n":1.0,"at":{"b":2,"a":12345678901234567890123}}'
# In the place of a whole number stands a text.
WRONG = '{"n": "one", "at": null}'


def call(arguments):
    return f'<tool_call>\n{{"name": "place", "arguments": {arguments}}}\n</tool_call>'


class FitsTest(harness.EndpointTest):
    @classmethod
    def models(cls, folder):
        folder = pathlib.Path(folder)
        return [parrot(folder / "caller", [[call(FITTING)]]), parrot(folder / "answerer", [[FITTING]]),
                parrot(folder / "wrong_caller", [[call(WRONG)]]),
                parrot(folder / "wrong_answerer", [["No ", "JSON ", "at ", "all."]])]

    def chat(self, model, **members):
        function = {"name": "place", "parameters": SCHEMA, "strict": True}
        return self.ok("/v1/chat/completions", {
            "model": model, "messages": [{"role": "user", "content": "Place it."}], "temperature": 0,
            "tools": [{"type": "function", "function": function}], **members}).json

    FORMAT = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": SCHEMA}}

    def test_arguments_that_fit_in_another_spelling_keep_their_values_and_order(self):
        answer = self.chat("caller")
        choice = answer["choices"][0]
        made, = choice["message"]["tool_calls"]
        self.assertEqual((made["function"]["arguments"], choice["finish_reason"]), (KEPT, "tool_calls"))
        self.assertEqual(answer["usage"]["completion_tokens"], 1)  # And nothing was drawn again.
        tool = {"type": "function", "name": "place", "parameters": SCHEMA, "strict": True}
        output, = self.ok("/v1/responses", {"model": "caller", "input": "Place it.", "tools": [tool]}).json["output"]
        self.assertEqual(output["arguments"], KEPT)
        tool = {"name": "place", "input_schema": SCHEMA, "strict": True}
        answer = self.ok("/v1/messages", {"model": "caller", "messages": [{"role": "user", "content": "Place it."}],
                                          "max_tokens": 64, "tools": [tool]})
        self.assertEqual([block["input"] for block in answer.json["content"]], [json.loads(FITTING)])
        self.assertIn(b"12345678901234567890123", answer.body)

    def test_an_answer_that_fits_in_another_spelling_keeps_its_bytes(self):
        answer = self.chat("answerer", response_format=self.FORMAT)
        self.assertEqual(answer["choices"][0]["message"]["content"], FITTING)
        self.assertEqual(answer["usage"]["completion_tokens"], 1)

    def test_arguments_that_do_not_fit_are_drawn_again_within_the_limit(self):
        answer = self.chat("wrong_caller", max_tokens=40)
        made, = answer["choices"][0]["message"]["tool_calls"]
        self.assertNotEqual(made["function"]["arguments"], WRONG)
        count = answer["usage"]["completion_tokens"]
        self.assertGreater(count, 1)
        self.assertLessEqual(count, 40)

    def test_the_usage_of_an_answer_that_was_drawn_again_has_both_and_may_exceed_the_limit(self):
        answer = self.chat("wrong_answerer", response_format=self.FORMAT, max_tokens=4)
        content = answer["choices"][0]["message"]["content"]
        self.assertTrue('{"at":'.startswith(content[:1]), content)
        self.assertEqual(answer["usage"]["completion_tokens"], 8)
        self.assertEqual(answer["choices"][0]["finish_reason"], "length")


if __name__ == "__main__":
    harness.main()
