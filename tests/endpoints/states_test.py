"""Conversations on a model whose layers have states, with a template that writes earlier answers without their thoughts.
The next prompt then differs from what the server has computed right after the user's last message."""
import json
import shutil

import harness

MODEL = harness.beside.SOURCE / "tests" / "golden" / "recurrent" / "qwen35_4k4v"
BEGIN_OF_ANSWER = "<|assistant|><think>\n"
# An answer before the user's last message has no thoughts there.
TEMPLATE = ("{% set last = namespace(user=0) %}"
            "{% for message in messages %}{% if message.role == 'user' %}{% set last.user = loop.index0 %}{% endif %}{% endfor %}"
            "{% for message in messages %}<|{{ 'assistant' if message.role == 'assistant' else 'user' }}|>"
            "{% if message.role == 'assistant' and loop.index0 < last.user %}{{ message.content.split('</think>')[-1] }}"
            "{% else %}{{ message.content }}{% endif %}<|end|>{% endfor %}"
            "{% if add_generation_prompt %}" + BEGIN_OF_ANSWER + "{% endif %}")
BEGIN_COUNT = 1 + len(BEGIN_OF_ANSWER) - len("<|assistant|>")  # At most a token each byte, but one for the turn.
PAGE_SIZE = 16
ANSWER = "<think>\nSome thoughts, which the next prompt leaves out.</think>Yes."


def user(text):
    return {"role": "user", "content": text}


class StatesTest(harness.EndpointTest):
    page_count = 1024

    @classmethod
    def models(cls, folder):
        model = shutil.copytree(MODEL, f"{folder}/hybrid")
        settings = harness.pathlib.Path(model) / "tokenizer_config.json"
        settings.write_text(json.dumps({**json.loads(settings.read_text()), "chat_template": TEMPLATE}))
        return [model]

    def usage(self, messages):
        """The tokens of the prompt, and those that were found."""
        body = {"model": self.name, "messages": messages, "max_tokens": 24, "temperature": 0, "ignore_eos": True}
        usage = self.ok("/v1/chat/completions", body).json["usage"]
        return usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]

    def test_the_next_turn_begins_after_the_users_last_message(self):
        for extra in range(PAGE_SIZE):
            with self.subTest(extra):
                messages = [user(f"{extra} " + "x" * (90 + extra))]
                first_count, _ = self.usage(messages)
                answer = {"role": "assistant", "content": ANSWER}
                _, found = self.usage([*messages, answer, user("And now?")])
                self.assertGreater(found, first_count - BEGIN_COUNT - PAGE_SIZE)


if __name__ == "__main__":
    harness.main()
