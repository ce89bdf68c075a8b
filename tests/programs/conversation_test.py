#!/usr/bin/env python3
"""A conversation that is saved goes on after SIGKILL of its server as if there had been no break."""
import json
import pathlib
import tempfile
import unittest

import harness

beside = harness.beside
SYSTEM = ("You guide visitors through the museum of clocks. You answer in one sentence, you never guess, and you say so "
          "if you do not know the answer. The oldest clock of the town stands in the second room.")
TURNS = ("Where is the oldest clock?", "How old is it, and who was its maker?", "May I touch it?")
KILL_COUNT = 5


def lines_of(text):
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


class ConversationTest(unittest.TestCase):

    def setUp(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.model = harness.tiny_chat_model(folder)
        self.store = folder / "store"

    def server(self, store=None):
        return beside.Server(harness.BUILD, (), harness.PAGE_COUNT, model=self.model, store=store)

    def kill(self, server):
        server.process.kill()
        server.process.wait(60)
        server.process.stdout.close()
        server.log.close()

    def talk(self, server, *arguments):
        code, out, err = server.run(harness.guest("conversation"), ("--system", SYSTEM, *arguments))
        self.assertEqual(code, 0, err[-2000:])
        return lines_of(out)

    @staticmethod
    def say(turns):
        return [word for each in turns for word in ("--say", each)]

    def computed(self, server):
        figures = harness.subprocess.run(
            [harness.BUILD / "quire", "status", "--server", server.url, "--json"], check=True, timeout=60,
            stdout=harness.subprocess.PIPE, env=beside.environment())
        return json.loads(figures.stdout)["computed_token_count"]

    def test_the_next_prompt_after_sigkill_has_the_same_bytes_and_every_page_is_found(self):
        with self.server() as server:
            whole = self.talk(server, *self.say(TURNS))
        server = self.server(self.store)
        first = self.talk(server, "--name", "ann", *self.say(TURNS[:2]))
        self.kill(server)
        self.assertEqual([each["prompt"] for each in first], [each["prompt"] for each in whole[:2]])
        with self.server(self.store) as server:
            (last,) = self.talk(server, "--name", "ann", *self.say(TURNS[2:]))
            computed = self.computed(server)
        for member in ("prompt", "answer", "messages", "tokens"):
            self.assertEqual(last[member], whole[2][member])
        # All whole pages are found, and the part of one after them. What came after the break is computed, and the last
        # token of the prompt once more, because the first draw asks for what follows it after prefill().
        self.assertEqual(last["opened_tokens"], len(first[-1]["tokens"]))
        self.assertNotEqual(last["opened_tokens"] % 16, 0)
        self.assertEqual(computed, len(last["tokens"]) - last["opened_tokens"] + 1)

    def test_it_is_opened_again_and_again_and_is_the_same(self):
        with self.server() as server:
            whole = self.talk(server, *self.say(TURNS))
        turns = []
        for turn in TURNS:
            server = self.server(self.store)
            turns += self.talk(server, "--name", "ann", "--say", turn)
            self.kill(server)
        for broken, unbroken in zip(turns, whole, strict=True):
            for member in ("prompt", "answer", "messages", "tokens"):
                self.assertEqual(broken[member], unbroken[member])

    def test_it_is_exported_with_its_turns_and_goes_on_in_another_store(self):
        with self.server() as server:
            whole = self.talk(server, *self.say(TURNS))
        with self.server(self.store) as server:
            self.talk(server, "--name", "ann", *self.say(TURNS[:2]))
        self.assertGreater(json.loads(self.kv("show", "ann", "--json"))["note_bytes"], len(SYSTEM))
        file, other = self.store.parent / "ann.kv", self.store.parent / "other"
        self.kv("export", "ann", file)
        self.kv("delete", "ann")
        self.kv("import", file, "--as", "anna", store=other)
        for store, name, answers in ((self.store, "ann", whole[:1]), (other, "anna", whole[2:])):
            with self.server(store) as server:
                (last,) = self.talk(server, "--name", name, "--say", TURNS[0 if store == self.store else 2])
            self.assertEqual(last["prompt"], answers[0]["prompt"])
            self.assertEqual(last["messages"], answers[0]["messages"])

    def kv(self, *arguments, store=None):
        command = [harness.BUILD / "quire", "kv", *arguments, "--store", store or self.store]
        return harness.subprocess.run(command, check=True, timeout=60, stdout=harness.subprocess.PIPE,
                                      env=beside.environment()).stdout

    def test_another_name_is_another_conversation(self):
        with self.server(self.store) as server:
            self.talk(server, "--name", "ann", "--say", TURNS[0])
            (other,) = self.talk(server, "--name", "bob", "--say", TURNS[1])
        self.assertEqual(other["opened_tokens"], 0)
        self.assertEqual([each["content"] for each in other["messages"]][:2], [SYSTEM, TURNS[1]])

    def test_turns_and_pages_are_of_one_save_whenever_the_server_is_killed(self):
        for number in range(KILL_COUNT):
            name = f"visitor {number}"
            server = self.server(self.store)
            talk = server.start(harness.guest("conversation"),
                                ("--system", SYSTEM, "--name", name, "--max-tokens", 3, "--rounds", 15, *self.say(TURNS)))
            shown = [json.loads(talk.stdout.readline()) for _ in range(1 + number)][-1]  # It is saved.
            self.kill(server)
            beside.end_of(talk)
            with self.server(self.store) as server:
                (kept,) = self.talk(server, "--name", name, "--look")
                computed = self.computed(server)
            # The kept conversation is the one shown last, or a later save, and its turns and tokens belong together.
            self.assertEqual(kept["messages"][:len(shown["messages"])], shown["messages"])
            self.assertEqual(kept["tokens"][:len(shown["tokens"])], shown["tokens"])
            self.assertEqual(kept["messages"][-1]["role"], "assistant")
            self.assertEqual(kept["opened_tokens"], len(kept["tokens"]))
            self.assertEqual(computed, 0)


if __name__ == "__main__":
    harness.main()
