"""docs/reference/openai.md, anthropic.md and gemini.md: each row of their tables does what the table says."""
import json
import re

import harness

FOLDER = harness.programs.SOURCE / "docs" / "reference"
CODE = re.compile(r"`([^`]*)`")
# Members that a member needs beside it.
NEEDS = {"stream_options": {"stream": True}, "top_logprobs": {"logprobs": True},
         "tool_choice": {"tools": [{"type": "function", "function": {"name": "add"}}]},
         "responses top_logprobs": {"include": ["message.output_text.logprobs"]},
         "responses tool_choice": {"tools": [{"type": "function", "name": "add"}]},
         "gemini toolConfig": {"tools": [{"functionDeclarations": [{"name": "add"}]}]},
         "gemini logprobs": {"responseLogprobs": True},
         "gemini responseSchema": {"responseMimeType": "application/json"},
         "gemini responseJsonSchema": {"responseMimeType": "application/json"},
         "anthropic tool_choice": {"tools": [{"name": "add", "input_schema": {}}]}}


def tables(document, heading):
    """{"honored": {member: example}, ...} of one section."""
    section = (FOLDER / document).read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found, kind = {}, None
    for line in section.splitlines():
        if not line.startswith("|"):
            kind = None
            continue
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if kind is None:
            kind = cells[0]
            found[kind] = {}
        elif not cells[0].startswith("-"):
            member, example = CODE.search(cells[0]), CODE.search(cells[1])
            found[kind][member.group(1)] = json.loads(example.group(1))
    return found


def snake(camel):
    """"topP" as "top_p"."""
    return re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), camel)


class TablesTest(harness.EndpointTest):
    has_store = True

    def check(self, path, base, rows, blamed, needs="", place="", misspelled=("temprature", "temperature")):
        """`place`: the member of the request whose members these are."""
        wrapped = lambda members: {**base, place: {**base[place], **members}} if place else {**base, **members}
        dotted = place + "." if place else ""
        self.assertEqual(set(rows) - {"left out"}, {"honored", "accepted", "refused"})
        for kind, members in rows.items():
            for member, example in members.items():
                if example == "MODEL":
                    example = self.name
                beside = NEEDS.get(needs + member, NEEDS.get(member, {}))
                answer = self.post(path, wrapped({**beside, member: example}))
                self.assertEqual(answer.status, 400 if kind == "refused" else 200, (member, answer.body[:500]))
                if kind == "refused":
                    self.assertEqual(blamed(answer.json["error"]), member)
                self.assertEqual(answer.headers.get("x-quire-ignored"), dotted + member if kind == "left out" else None)
        answer = self.ok(path, wrapped({"zzz": 1, "null_is_absent": None}))
        self.assertEqual(answer.headers["x-quire-ignored"], dotted + "zzz")
        wrong, meant = misspelled
        answer = self.post(path, wrapped({wrong: 1}))
        self.assertEqual((answer.status, blamed(answer.json["error"])), (400, wrong))
        self.assertIn(f'did you mean "{meant}"?', answer.json["error"]["message"])

    def test_chat_completions(self):
        rows = tables("openai.md", "Chat completions")
        self.assertGreater(len(rows["honored"]), 20)
        base = {"model": self.name, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}
        self.check("/v1/chat/completions", base, rows, lambda error: error["param"])

    def test_completions(self):
        base = {"model": self.name, "prompt": "Hi", "max_tokens": 2}
        self.check("/v1/completions", base, tables("openai.md", "Completions"), lambda error: error["param"])

    def test_responses(self):
        rows = tables("openai.md", "Responses")
        earlier = self.ok("/v1/responses", {"model": self.name, "input": "Hi", "max_output_tokens": 2}).json["id"]
        rows["honored"]["previous_response_id"] = earlier
        base = {"model": self.name, "input": "Hi", "max_output_tokens": 2}
        self.check("/v1/responses", base, rows, lambda error: error["param"].split(".")[0], "responses ")

    def test_messages(self):
        rows = tables("anthropic.md", "Messages")
        base = {"model": self.name, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}
        self.check("/v1/messages", base, rows, lambda error: error["message"].split(":")[0], "anthropic ")

    def test_content(self):
        path = f"/v1beta/models/{self.name}:generateContent"
        base = {"contents": [{"parts": [{"text": "Hi"}]}], "generationConfig": {"maxOutputTokens": 2}}
        self.check(path, base, tables("gemini.md", "Content"), lambda error: error["message"].split(":")[0], "gemini ",
                   misspelled=("systemInstrution", "systemInstruction"))
        self.check(path, base, tables("gemini.md", "Generation config"),
                   lambda error: error["message"].split(":")[0].removeprefix("generationConfig."), "gemini ",
                   "generationConfig")

    def test_an_accepted_member_and_one_that_is_left_out_change_no_byte(self):
        messages = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 6}
        for path, document, heading, members in [
                ("/v1/chat/completions", "openai.md", "Chat completions", messages),
                ("/v1/responses", "openai.md", "Responses", {"input": "Hi", "max_output_tokens": 6}),
                ("/v1/messages", "anthropic.md", "Messages", messages)]:
            base = {"model": self.name, "seed": 1, **members}
            output = lambda answer: (answer.get("choices") or answer.get("content")
                                     or [item["content"] for item in answer["output"]])
            wanted = output(self.ok(path, base).json)
            rows = tables(document, heading)
            for member, example in {**rows["accepted"], **rows["left out"]}.items():
                self.assertEqual(output(self.ok(path, {**base, member: example}).json), wanted, member)


if __name__ == "__main__":
    harness.main()
