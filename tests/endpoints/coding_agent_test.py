"""Sends the requests of the coding agent opencode in one session of three questions again.

bench/serving/coding_agent.py wrote coding_agent.jsonl while the agent worked with Qwen2.5-Coder-1.5B, which called `read`, got
the file and answered. Each line is one request as the agent sent it; only the folder has another name.
"""
import json
import pathlib

import clients
import harness

RECORD = pathlib.Path(__file__).with_name("coding_agent.jsonl")
TURNS = [json.loads(line)["body"] for line in RECORD.read_text().splitlines()]
PAGE_TOKENS = 16


class CodingAgentTest(clients.SmolTest):
    def chunks(self, turn, **members):
        """The server's answer to the agent's request: the chunks of a stream."""
        body = {**turn, "model": self.name, "temperature": 0, "max_tokens": 24, **members}
        events = [event for _, event in self.ok("/v1/chat/completions", body).events]
        self.assertEqual(events[-1], "[DONE]")
        return events[:-1]

    def test_each_turn_finds_the_prompt_of_the_turn_before(self):
        usages = [self.chunks(turn)[-1]["usage"] for turn in TURNS]
        for before, usage in zip(usages, usages[1:]):
            found = usage["prompt_tokens_details"]["cached_tokens"]
            # All but the words that ask for the answer, and less than a page.
            self.assertGreater(found, before["prompt_tokens"] - 2 * PAGE_TOKENS)
            self.assertLess(found, usage["prompt_tokens"])

    def required_call(self, turn):
        """The first call of a turn that must call: its name, and its arguments if the model came to their end."""
        chunks = self.chunks(turn, tool_choice="required", max_tokens=512)
        choices = [choice for chunk in chunks for choice in chunk["choices"]]
        first = [call["function"] for choice in choices for call in choice["delta"].get("tool_calls", [])
                 if call["index"] == 0]
        if choices[-1]["finish_reason"] == "length":  # A model of this size may write a path without end.
            return first[0]["name"], None
        self.assertEqual(choices[-1]["finish_reason"], "tool_calls")
        return first[0]["name"], json.loads("".join(call["arguments"] for call in first))

    def test_a_required_call_has_the_name_and_the_arguments_of_a_tool(self):
        required = {tool["function"]["name"]: tool["function"]["parameters"]["required"] for tool in TURNS[0]["tools"]}
        whole = 0
        for turn in TURNS:
            name, arguments = self.required_call(turn)
            self.assertIn(name, required)
            if arguments is not None:
                whole += 1
                self.assertLessEqual(set(required[name]), set(arguments))
        self.assertGreater(whole, 0)


if __name__ == "__main__":
    harness.main()
