"""Conversations on a model whose layers have states, with a template that writes earlier answers without their thoughts.
The next prompt then differs from what the server has computed right after the user's last message."""
import harness

PAGE_SIZE = 16
BEGIN_COUNT = harness.programs.BEGIN_COUNT_OF_HYBRID
ANSWER = "<think>\nSome thoughts, which the next prompt leaves out.</think>Yes."


def user(text):
    return {"role": "user", "content": text}


class StatesTest(harness.EndpointTest):
    page_count = 1024

    @classmethod
    def models(cls, folder):
        return [harness.programs.hybrid_chat_model(folder)]

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
