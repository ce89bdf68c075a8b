"""Tests of the cache under the endpoints for conversations. They keep conversations with a key, explain misses, repair
prompts, and give the same bytes whatever is in the cache."""
import concurrent.futures
import json

import harness

OPENAI = {"max_tokens": 4, "seed": 1, "temperature": 1}


def chat(name, messages, **members):
    return "/v1/chat/completions", {"model": name, "messages": messages, **OPENAI, **members}


def completion(name, messages, **members):
    text = "\n".join(message["content"] for message in messages)
    return "/v1/completions", {"model": name, "prompt": text, **OPENAI, **members}


def responses(name, messages, **members):
    return "/v1/responses", {"model": name, "input": messages, "max_output_tokens": 4, "seed": 1, "store": False,
                             **members}


def anthropic(name, messages, **members):
    system = [message["content"] for message in messages if message["role"] == "system"]
    rest = [message for message in messages if message["role"] != "system"]
    return "/v1/messages", {"model": name, "messages": rest, "max_tokens": 4, "seed": 1, "temperature": 1,
                            **({"system": system[0]} if system else {}), **members}


def user(text):
    return [{"role": "user", "content": text}]


def output_of(answer):
    """The text of an answer, whatever its protocol."""
    if "choices" in answer:
        choice = answer["choices"][0]
        return choice["message"]["content"] if "message" in choice else choice["text"]
    return "".join(part["text"] for item in answer.get("output", [answer]) for part in item["content"])


def cached(usage):
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details") or {}
    return details.get("cached_tokens", usage.get("cache_read_input_tokens"))


def words(seed, count=60):
    """A text that no other seed has, not even in its first page."""
    return f"{seed} " + " ".join(f"w{seed * 7919 + i}" for i in range(count))


class CacheTest(harness.EndpointTest):
    def answer(self, request):
        return self.ok(*request).json

    def usage(self, request):
        return self.answer(request)["usage"]


class SameBytesTest(CacheTest):
    """Each endpoint gives the same bytes after a miss, after a hit, and in a full server."""

    def test_the_same_seed_gives_the_same_bytes_with_a_hit_and_a_miss_in_an_empty_and_a_full_server(self):
        for number, form in enumerate((chat, completion, responses, anthropic)):
            with self.subTest(form.__name__):
                members = {"max_output_tokens": 24} if form is responses else {"max_tokens": 24}
                request = form(self.name, user(words(1000 + number)), **members)
                miss = self.answer(request)
                hit = self.answer(request)
                self.assertGreater(cached(hit["usage"]), cached(miss["usage"]) + 64)
                self.assertEqual(output_of(hit), output_of(miss))
                others = [form(self.name, user(words(2000 + i)), **{**members, "seed": i}) for i in range(24)]
                with concurrent.futures.ThreadPoolExecutor(16) as pool:
                    answers = list(pool.map(self.answer, [each for other in others for each in (other, request)]))
                self.assertEqual({output_of(each) for each in answers[1::2]}, {output_of(miss)})
                self.assertGreater(len({output_of(each) for each in answers[::2]}), 1)


class KeptTest(CacheTest):
    """In a pool that holds a few conversations."""
    page_count = 96
    FLOOD = 32
    WORDS = 12  # Few enough that all that this class keeps is within half of the pool.

    def kept_and_unkept(self, form, seed, **members):
        """Tokens that the cache has of a conversation with `members` after many more came; of one without it has none."""
        kept = form(self.name, user(words(seed, self.WORDS)), **members)
        unkept = form(self.name, user(words(seed + 1, self.WORDS)))
        self.usage(kept), self.usage(unkept)
        for i in range(self.FLOOD):
            self.usage(form(self.name, user(words(seed + 10 + i, self.WORDS))))
        # First the one that is not kept: the other's answer takes pages too.
        self.assertEqual(cached(self.usage(unkept)), 0)
        return cached(self.usage(kept))

    def test_a_conversation_with_a_prompt_cache_key_is_found_where_one_without_is_not(self):
        every = ({"prompt_cache_key": "k"}, {"prompt_cache_retention": "24h"}, {"prompt_cache_options": {"ttl": "30m"}})
        for i, form in enumerate((chat, responses, completion)):
            for j, members in enumerate(every):
                found = self.kept_and_unkept(form, 1000 + 100 * (3 * i + j), **members)
                self.assertGreater(found, 32, members)

    def test_cache_control_of_anthropic_does_the_same(self):
        block = {"type": "text", "text": "Be short.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
        found = self.kept_and_unkept(anthropic, 9000, system=[block])
        self.assertGreater(found, 32)

    def test_keys_without_number_take_no_more_than_a_share_of_the_pool(self):
        first = chat(self.name, user(words(20_000, self.WORDS)), prompt_cache_key="0")
        self.usage(first)
        for i in range(1, self.FLOOD):  # As many as the pool would not hold.
            self.usage(chat(self.name, user(words(20_000 + i, self.WORDS)), prompt_cache_key=str(i)))
        for i in range(4):  # A conversation without a key has room all the same.
            request = chat(self.name, user(words(30_000 + i, self.WORDS)))
            self.usage(request)
            self.assertGreater(cached(self.usage(request)), 32)


class ExplainedTest(CacheTest):
    flags = ("--explain-misses", "--tenant", "0=weight:1", "--tenant", "7=weight:1")

    def test_the_usage_of_each_endpoint_says_why_tokens_were_not_found(self):
        for number, form in enumerate((chat, completion, responses, anthropic)):
            with self.subTest(form.__name__):
                text = words(5000 + number)
                first = self.usage(form(self.name, user(text)))["cache_misses"]
                self.assertEqual({miss["reason"] for miss in first} - {"never-seen", "differs"}, set())
                self.assertEqual(sum(miss["tokens"] for miss in first) > 64, True)
                changed = text.replace(f"w{(5000 + number) * 7919 + 30}", "other")
                miss, *_ = self.usage(form(self.name, user(changed)))["cache_misses"]
                self.assertEqual(miss["reason"], "differs")
                self.assertNotEqual(miss["wanted"], miss["cached"])
                self.assertGreaterEqual(miss["differs_at"], miss["position"])
                again = self.usage(form(self.name, user(text)))
                self.assertEqual([miss for miss in again["cache_misses"] if miss["position"] + miss["tokens"]
                                  < cached(again)], [])

    def test_a_stream_has_them_too(self):
        path, body = chat(self.name, user(words(6000)), stream=True, stream_options={"include_usage": True})
        events = [data for _, data in self.ok(path, body).events]
        self.assertGreater(events[-2]["usage"]["cache_misses"][0]["tokens"], 0)

    def test_another_tenants_pages_are_no_reason(self):
        text = words(7000)
        self.run_program("text_completion", "--prompt", text, "--max-tokens", 1, flags=("--tenant", "7"))
        reasons = {miss["reason"] for miss in self.usage(completion(self.name, user(text)))["cache_misses"]}
        self.assertLessEqual(reasons, {"never-seen", "differs"})


class EvictedTest(CacheTest):
    flags = ("--explain-misses",)
    page_count = 96

    def test_what_was_evicted_says_so(self):
        request = chat(self.name, user(words(1)))
        self.usage(request)
        for i in range(10):
            self.usage(chat(self.name, user(words(10 + i))))
        miss, *_ = self.usage(request)["cache_misses"]
        self.assertEqual(miss["reason"], "evicted")
        self.assertGreaterEqual(miss["gone_ms"], 0)


class SilentTest(CacheTest):
    def test_without_the_flags_the_usage_has_no_more_than_the_interface(self):
        usage = self.usage(chat(self.name, user(words(1))))
        self.assertEqual(set(usage), {"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details"})


class Agent:
    """A coding agent: a system prompt with the time near its top, and each answer and result in the next request."""
    RULES = "".join(f"Rule {name}: " + "keep what the user wrote as it is, and change one thing at a time.\n"
                    for name in ("one", "two", "three", "four"))

    def __init__(self, test, form):
        self.test, self.form = test, form
        self.turns = user("Where is the cart added up?")

    def system(self, minute):
        return f"You are a coding agent.\nThe time is 10:{minute:02}.\n{self.RULES}Steps: 1. read 2. write 3. test\n"

    def turn(self, minute):
        """The share of the prompt that was found, and the usage."""
        messages = [{"role": "system", "content": self.system(minute)}, *self.turns]
        answer = self.test.answer(self.form(self.test.name, messages))
        self.turns += [{"role": "assistant", "content": output_of(answer)}, *user(f"Go on with file {minute}.")]
        usage = answer["usage"]
        found = cached(usage)
        count = usage.get("prompt_tokens") or usage["input_tokens"] + ("cache_read_input_tokens" in usage) * found
        return found / count, usage


class RepairedTest(CacheTest):
    has_store = True
    flags = ("--prompt-repair",)

    def test_from_the_third_turn_on_the_cache_finds_what_follows_the_changing_line(self):
        for form in (chat, responses, anthropic):
            with self.subTest(form.__name__):
                self.check_repair(form)

    def check_repair(self, form):
        agent = Agent(self, form)
        turns = [agent.turn(minute) for minute in range(10, 16)]
        rates = [rate for rate, _ in turns]
        self.assertTrue(all(rate > 0.75 for rate in rates[3:]), rates)
        moved = [usage.get("prompt_repair_moved_lines", 0) for _, usage in turns]
        self.assertEqual(moved[-3:], [1, 1, 1])

    def test_a_line_that_does_not_change_stays_and_a_prompt_without_numbers_is_left_alone(self):
        for _ in range(3):
            usage = self.usage(chat(self.name, [{"role": "system", "content": "Use 4 spaces.\nBe short."},
                                                *user("Hi")]))
            self.assertNotIn("prompt_repair_moved_lines", usage)

    def test_a_response_that_goes_on_with_another_finds_all_of_it(self):
        agent = Agent(self, responses)
        members = {"store": True, "max_output_tokens": 4}
        previous = None
        for minute in range(20, 25):
            path, body = responses(self.name, user(f"Go on with file {minute}."), instructions=agent.system(minute),
                                   previous_response_id=previous, **members)
            answer = self.ok(path, body).json
            previous = answer["id"]
        usage = answer["usage"]
        self.assertGreater(cached(usage) / usage["input_tokens"], 0.75, usage)


class NotRepairedTest(CacheTest):
    def test_without_the_flag_the_changing_line_keeps_the_rest_from_being_found(self):
        for form, first in ((chat, 30), (anthropic, 40)):
            agent = Agent(self, form)
            rates = [agent.turn(minute)[0] for minute in range(first, first + 6)]
            self.assertTrue(all(rate < 0.2 for rate in rates), rates)


if __name__ == "__main__":
    harness.main()
