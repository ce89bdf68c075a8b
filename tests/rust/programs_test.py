#!/usr/bin/env python3
"""Programs in Rust do what their C++ twins do: the same tokens for the same words, at the same cost."""
import json
import urllib.error
import urllib.request

import rust_harness
import harness

PROMPT = "{} upon a time there was a small engine that could not stop counting its own pages"
COMPLETIONS = [
    ("--max-tokens", 24), ("--max-tokens", 24, "--chat"), ("--max-tokens", 0),
    ("--max-tokens", 40, "--temperature", 0.8, "--seed", 5),
    ("--max-tokens", 40, "--temperature", 1.3, "--top-k", 50, "--seed", 6, "--chat", "--system", "Be \"brief\"."),
    ("--max-tokens", 40, "--temperature", 1, "--min-p", 0.001, "--seed", 7, "--ignore-eos"),
    ("--max-tokens", 60, "--temperature", 1, "--seed", 8, "--stop", "e", "--stop", "the "),
]


class TwinsTest(harness.ProgramTest):

    def compare(self, name, *words, succeeds=True):
        cpp = self.run_program(name, *words, succeeds=succeeds)
        rust = self.run_program(rust_harness.built(rust_harness.PROGRAMS / name), *words, succeeds=succeeds)
        self.assertEqual((rust.code, rust.out), (cpp.code, cpp.out))
        return cpp, rust

    def test_text_completion_gives_the_same_text(self):
        for number, options in enumerate(COMPLETIONS):
            with self.subTest(options=options):
                cpp, rust = self.compare("text_completion", *options, PROMPT.format(f"{number}:"))
                # The loop of the host has drawn on when a program finds its stop text: how far depends on the moment.
                if 0 not in options and "--stop" not in options:
                    self.assertEqual(rust.asked, cpp.asked)

    def test_tree_of_thought_follows_the_same_thoughts_side_by_side(self):
        words = ("--width", 4, "--keep", 2, "--depth", 2, "--max-tokens", 8, "--temperature", 1, "--ignore-eos")
        cpp, rust = self.compare("tree_of_thought", *words, "How can one cross a river?")
        self.assertEqual(rust.asked, cpp.asked)
        self.assertLessEqual(rust.cost.passes, cpp.cost.passes)  # It finds pages that the first run computed.
        self.assertLess(rust.cost.batches, cpp.cost.batches * 1.2 + 2)

    def test_agent_react_takes_the_same_steps(self):
        for seed in range(6):
            # If a random thought fills the context, both say so.
            self.compare("agent_react", "--temperature", 1, "--seed", seed, "What is 17*23?", succeeds=None)
        cpp, rust = self.compare("agent_react", "--max-tokens", 5, "What is 17*23?", succeeds=False)
        self.assertIn("no room for an answer", rust.err)

    def test_wrong_words_are_refused_as_in_cpp(self):
        for words in [("--max-tokens", "x"), ("--temperature", "-1"), ("--promt", "x"), ("--prompt",), ("--chat=1",), ()]:
            with self.subTest(words=words):
                cpp, rust = self.compare("text_completion", *words, succeeds=False)
                self.assertEqual(*(next(line for line in ran.err.splitlines() if line.startswith("error"))
                                   for ran in (cpp, rust)))

    def test_help_lists_the_same_options(self):
        for name in ("text_completion", "tree_of_thought", "agent_react"):
            listed = []
            for module in (harness.BUILD / "inferlets" / f"{name}.wasm", rust_harness.built(rust_harness.PROGRAMS / name)):
                end = rust_harness.quire("run", module, "--help")
                self.assertEqual(end.returncode, 0, end.stderr)
                listed.append(end.stdout.partition("\n")[2].replace("1e+06", "1000000"))
            self.assertEqual(listed[1], listed[0])


class EndpointTest(harness.ProgramTest):

    @classmethod
    def setUpClass(cls):
        module = rust_harness.built(rust_harness.PROGRAMS / "complete_http", "complete_http_in_rust")
        cpp = harness.BUILD / "inferlets" / "complete_http.wasm"
        cls.flags = ("--endpoint", f"POST /rust={module}", "--endpoint", f"POST /cpp={cpp}")
        super().setUpClass()

    def ask(self, path, body):
        url = self.server.url.replace("ws://", "http://") + path
        request = urllib.request.Request(url, body.encode(), {"x-request-id": "one"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.headers["content-type"], answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.headers["content-type"], refused.read().decode()

    def test_it_answers_as_its_cpp_twin(self):
        for body in [{"prompt": "Once upon", "max_tokens": 8}, {"prompt": "Once", "max_tokens": 8, "temperature": 1, "seed": 3},
                     {"prompt": "Once upon", "max_tokens": 8, "stream": True}]:
            rust, cpp = (self.ask(path, json.dumps(body)) for path in ("/rust", "/cpp"))
            self.assertEqual(rust, cpp)
            self.assertEqual(rust[0], 200)

    def test_what_it_refuses_it_refuses_by_name(self):
        for body, named in [("{", "the body: JSON"), ("[1]", "\"prompt\" is a text"), ('{"prompt": "x", "max_tokens": 0}', "\"max_tokens\" is from 1"),
                            ('{"prompt": "x", "temperature": -1}', "temperature"), ('{"prompt": "x", "seed": "y"}', "seed")]:
            status, kind, answer = self.ask("/rust", body)
            self.assertEqual((status, kind), (400, "application/json"), answer)
            error = json.loads(answer)["error"]
            self.assertIn(named, error["message"])
            self.assertEqual((error["code"], error["request_id"]), ("invalid-argument", "one"))


if __name__ == "__main__":
    rust_harness.main()
