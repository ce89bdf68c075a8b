"""Chat templates that take no system turn, and variables that a request gives its template."""
import json
import shutil

import harness

TURNS = ("{% for m in messages %}<{{ m.role }}>{{ m.content }}<|end|>\n{% endfor %}"
         "{% if add_generation_prompt %}<assistant>{% endif %}")
ALTERNATE = ("{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
             "{{ raise_exception('Conversation roles must alternate user/assistant') }}{% endif %}{% endfor %}")
TEMPLATES = {
    # As Gemma's.
    "refuses": "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" + ALTERNATE + TURNS,
    "alternates": ALTERNATE + TURNS,
    "drops": TURNS.replace("in messages", "in messages if m.role != 'system'"),
    "takes": TURNS,
    # As Qwen3's and as DeepSeek's.
    "thinks": TURNS + "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}",
    "may_think": TURNS + "{% if thinking is defined and thinking %}<think>{% else %}</think>{% endif %}",
    "shows": "{{ style | default('no style') }} {{ reasoning_effort | default('no effort') }}\n" + TURNS,
}
ADD = {"type": "function", "function": harness.ADD}
HI = {"role": "user", "content": "Hi"}


class TemplatesTest(harness.EndpointTest):
    has_store = True

    @classmethod
    def models(cls, folder):
        tiny = harness.tiny_endpoint_model(folder)
        settings = json.loads((tiny / "tokenizer_config.json").read_text())
        for name, template in TEMPLATES.items():
            model = tiny.parent / name
            shutil.copytree(tiny, model)
            (model / "tokenizer_config.json").write_text(json.dumps({**settings, "chat_template": template}))
        return [tiny.parent / name for name in TEMPLATES]

    def prompt(self, model, messages=(HI,), **members):
        return self.ok("/apply-template", {"model": model, "messages": messages, **members}).json["prompt"]

    def count(self, model, text):
        return self.ok("/tokenize", {"model": model, "content": text}).json["count"]

    def chat(self, model, messages=(HI,), **members):
        return self.ok("/v1/chat/completions", {"model": model, "messages": messages, "max_tokens": 1, **members})

    # ---- system turns ---------------------------------------------------------------------------

    def test_tools_reach_a_model_whose_template_has_no_place_for_a_system_turn(self):
        for model in ("refuses", "alternates", "drops"):
            prompt = self.prompt(model, tools=[ADD])
            self.assertTrue(prompt.startswith("<user>You can call tools."), prompt)
            self.assertTrue(prompt.endswith("then go on.\n\nHi<|end|>\n<assistant>"), prompt)
            count = self.count(model, prompt)
            self.assertEqual(self.chat(model, tools=[ADD]).json["usage"]["prompt_tokens"], count)
            function = {"type": "function", **harness.ADD}
            answer = self.ok("/v1/responses", {"model": model, "input": "Hi", "tools": [function], "max_output_tokens": 1})
            self.assertEqual(answer.json["usage"]["input_tokens"], count)
            tool = {"name": "add", "description": harness.ADD["description"], "input_schema": harness.ADD["parameters"]}
            answer = self.ok("/v1/messages/count_tokens", {"model": model, "messages": [HI], "tools": [tool]})
            self.assertEqual(answer.json["input_tokens"], count)
        self.assertTrue(self.prompt("takes", tools=[ADD]).startswith("<system>You can call tools."))

    def test_instructions_stand_before_the_next_turn_of_the_user(self):
        system = {"role": "system", "content": "Be brief."}
        answered = {"role": "assistant", "content": "Yes?"}
        for model in ("refuses", "alternates", "drops"):
            self.assertEqual(self.prompt(model, [system, HI]), "<user>Be brief.\n\nHi<|end|>\n<assistant>")
            self.assertEqual(self.prompt(model, [system, answered, HI]),
                             "<user>Be brief.<|end|>\n<assistant>Yes?<|end|>\n<user>Hi<|end|>\n<assistant>")
            self.assertEqual(self.prompt(model, [HI, answered, system, HI]),
                             "<user>Hi<|end|>\n<assistant>Yes?<|end|>\n<user>Be brief.\n\nHi<|end|>\n<assistant>")
            self.assertEqual(self.prompt(model, [HI, system, answered, HI]),
                             "<user>Hi\n\nBe brief.<|end|>\n<assistant>Yes?<|end|>\n<user>Hi<|end|>\n<assistant>")
            told = self.prompt(model, [system, HI], tools=[ADD])
            self.assertTrue(told.startswith("<user>Be brief.\n\nYou can call tools."), told)
        self.assertEqual(self.prompt("takes", [system, HI]), "<system>Be brief.<|end|>\n<user>Hi<|end|>\n<assistant>")

    def test_an_error_of_the_template_about_other_turns_stays(self):
        answer = self.post("/v1/chat/completions", {"model": "alternates", "messages": [HI, HI]})
        self.assertEqual((answer.status, answer.json["error"]["param"]), (400, "messages"))
        self.assertIn("roles must alternate", answer.json["error"]["message"])

    # ---- variables ------------------------------------------------------------------------------

    def test_a_request_gives_its_template_variables(self):
        off = {"chat_template_kwargs": {"enable_thinking": False}}
        empty = "<user>Hi<|end|>\n<assistant><think>\n\n</think>\n\n"
        self.assertEqual(self.prompt("thinks", **off), empty)
        answer = self.chat("thinks", **off)
        self.assertEqual(answer.json["usage"]["prompt_tokens"], self.count("thinks", empty))
        self.assertNotIn("x-quire-ignored", answer.headers)
        answer = self.ok("/v1/responses", {"model": "thinks", "input": "Hi", "max_output_tokens": 1, **off})
        self.assertEqual(answer.json["usage"]["input_tokens"], self.count("thinks", empty))
        answer = self.ok("/v1/messages/count_tokens", {"model": "thinks", "messages": [HI], **off})
        self.assertEqual(answer.json["input_tokens"], self.count("thinks", empty))
        self.assertEqual(self.prompt("thinks", chat_template_kwargs={"enable_thinking": True}), self.prompt("thinks"))
        shown = self.prompt("shows", chat_template_kwargs={"style": ["a", {"b": 1.5, "c": None}], "unknown": "x"})
        self.assertTrue(shown.startswith("['a', {'b': 1.5, 'c': None}] no effort\n"), shown)
        self.assertEqual(self.prompt("shows", chat_template_kwargs={}), self.prompt("shows"))

    def test_variables_that_the_server_gives_are_refused_by_name(self):
        for name in ("messages", "tools", "add_generation_prompt", "chat_template", "bos_token", "image_token"):
            answer = self.post("/v1/chat/completions",
                               {"model": "thinks", "messages": [HI], "chat_template_kwargs": {name: "x"}})
            self.assertEqual((answer.status, answer.json["error"]["param"]), (400, "chat_template_kwargs"))
            self.assertIn(f'"{name}"', answer.json["error"]["message"])
        for value in ("x", [1], {"a": "x" * 70000}):
            answer = self.post("/v1/chat/completions",
                               {"model": "thinks", "messages": [HI], "chat_template_kwargs": value})
            self.assertEqual((answer.status, answer.json["error"]["param"]), (400, "chat_template_kwargs"))

    def test_an_effort_is_a_variable_and_none_of_it_asks_the_model_not_to_think(self):
        def count(path, text, **members):
            answer = self.ok(path, {**members, "chat_template_kwargs": members.get("chat_template_kwargs")})
            usage = answer.json.get("usage", answer.json)
            self.assertEqual(usage.get("prompt_tokens", usage.get("input_tokens")), self.count(members["model"], text))

        start = "no style high\n<user>Hi<|end|>\n<assistant>"
        empty = "<user>Hi<|end|>\n<assistant><think>\n\n</think>\n\n"
        chat = {"messages": [HI], "max_tokens": 1}
        responses = {"input": "Hi", "max_output_tokens": 1}
        count("/v1/chat/completions", start, model="shows", reasoning_effort="high", **chat)
        count("/v1/responses", start, model="shows", reasoning={"effort": "high", "summary": "auto"}, **responses)
        count("/v1/messages/count_tokens", start, model="shows", messages=[HI], output_config={"effort": "high"})
        count("/v1/chat/completions", empty, model="thinks", reasoning_effort="none", **chat)
        count("/v1/responses", empty, model="thinks", reasoning={"effort": "none"}, **responses)
        count("/v1/messages/count_tokens", empty, model="thinks", messages=[HI], thinking={"type": "disabled"})
        turns = "<user>Hi<|end|>\n<assistant>"
        count("/v1/messages/count_tokens", turns + "<think>", model="may_think", messages=[HI], thinking={"type": "adaptive"})
        count("/v1/messages/count_tokens", turns + "</think>", model="may_think", messages=[HI])
        # The words of the template count first.
        count("/v1/chat/completions", turns, model="thinks", reasoning_effort="none",
              chat_template_kwargs={"enable_thinking": True}, **chat)


if __name__ == "__main__":
    harness.main()
