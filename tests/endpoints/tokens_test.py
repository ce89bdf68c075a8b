"""POST /tokenize, /detokenize and /apply-template."""
import harness


class TokensTest(harness.EndpointTest):
    def test_text_becomes_tokens_and_comes_back(self):
        text = "Grüße, 世界! <|user|>"
        answer = self.ok("/tokenize", {"content": text}).json
        self.assertEqual(answer["count"], len(answer["tokens"]))
        self.assertEqual(answer["max_model_len"], self.context_length())
        back = self.ok("/detokenize", {"tokens": answer["tokens"], "model": self.name}).json
        self.assertEqual((back["content"], back["prompt"]), (text, text))
        self.assertEqual(self.ok("/tokenize", {"content": ""}).json["tokens"], [])
        self.assertEqual(self.ok("/detokenize", {"tokens": []}).json["content"], "")

    def test_special_tokens_are_parsed_unless_asked_otherwise(self):
        count = lambda **members: self.ok("/tokenize", {"content": "<|user|>", **members}).json["count"]
        self.assertEqual(count(), 1)
        self.assertGreater(count(parse_special=False), 1)

    def test_a_prompt_adds_the_special_tokens_that_the_model_wants_and_content_does_not(self):
        tokens = lambda **members: self.ok("/tokenize", members).json["tokens"]
        self.assertEqual(tokens(prompt="x", add_special_tokens=False), tokens(content="x"))
        self.assertEqual(tokens(content="x", add_special=True), tokens(prompt="x"))

    def test_the_template_writes_the_prompt_that_chat_computes(self):
        messages = [{"role": "user", "content": "Hello"}]
        answer = self.ok("/apply-template", {"messages": messages}).json
        self.assertEqual(answer["prompt"], "<user>Hello<|end|>\n<assistant>")
        open_ended = self.ok("/apply-template", {"messages": messages, "add_generation_prompt": False}).json
        self.assertEqual(open_ended["prompt"], "<user>Hello<|end|>\n")
        chat = self.ok("/v1/chat/completions", {"model": self.name, "messages": messages, "max_tokens": 1}).json
        count = self.ok("/tokenize", {"content": answer["prompt"]}).json["count"]
        self.assertEqual(chat["usage"]["prompt_tokens"], count)

    def test_wrong_values_are_refused_by_the_name_of_the_member(self):
        for path, body, param in [
                ("/tokenize", {}, "content"), ("/tokenize", {"content": "a", "prompt": "b"}, "content"),
                ("/tokenize", {"content": 5}, "content"), ("/tokenize", {"content": "a", "with_pieces": True}, "with_pieces"),
                ("/tokenize", {"content": "a", "model": 5}, "model"), ("/detokenize", {}, "tokens"),
                ("/detokenize", {"tokens": "x"}, "tokens"), ("/detokenize", {"tokens": [-1]}, "tokens"),
                ("/detokenize", {"tokens": [1024]}, "tokens"), ("/detokenize", {"tokens": ["1"]}, "tokens"),
                ("/apply-template", {}, "messages"), ("/apply-template", {"messages": [{}]}, "messages[0].role")]:
            answer = self.post(path, body)
            self.assertEqual((answer.status, answer.json["error"]["param"]), (400, param), (path, body))


if __name__ == "__main__":
    harness.main()
