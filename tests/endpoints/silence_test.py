"""Tests that no client waits in silence: the status comes before the prompt is computed, and pings come while there is
nothing to send. Clients that leave, that read nothing and that repeat a request are here too."""
import concurrent.futures
import http.client
import json
import pathlib
import socket
import subprocess
import time

import harness
from parrot import parrot

INTERVAL = 0.2
SILENCE_MAX = 6 * INTERVAL  # Of a machine that does other things too.
PROMPT = 3000  # Tokens, which take seconds.
SMALL_POOL = 256 * 16  # Tokens.
WORDS = [f"w{number} " for number in range(400)]
HELD = ['{"a": "', *(f"h{number} " for number in range(400)), '"}']
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
NO_ARGUMENTS = {"type": "object", "properties": {}}


def text(seed, count=PROMPT):
    """`count` tokens of the parrot that no other seed has, not even in the first page."""
    return f"{seed:08} ".ljust(count, "x")


def chat(model, prompt, **members):
    return "/v1/chat/completions", {"model": model, "messages": [{"role": "user", "content": prompt}],
                                    "temperature": 0, "seed": 1, **members}


def completion(model, prompt, **members):
    # As the parrot's template writes it.
    return "/v1/completions", {"model": model, "prompt": f"{prompt}<|im_start|>assistant\n<|turn0|>", "temperature": 0,
                               "seed": 1, "max_tokens": 2000, **members}


def responses(model, prompt, **members):
    return "/v1/responses", {"model": model, "input": prompt, "temperature": 0, "seed": 1, "store": False, **members}


def messages(model, prompt, **members):
    return "/v1/messages", {"model": model, "messages": [{"role": "user", "content": prompt}], "max_tokens": 2000,
                            "temperature": 0, "seed": 1, **members}


FORMS = (chat, completion, responses, messages)


class Stream:
    """A response as it comes: the moments of its head and of each line, counted from the request."""

    def __init__(self, address, path, body, stream={"stream": True}):
        self.connection = http.client.HTTPConnection(address, timeout=harness.TIMEOUT_SECONDS)
        self.begun = time.monotonic()
        self.connection.request("POST", path, json.dumps({**body, **stream}), {"content-type": "application/json"})
        self.response = self.connection.getresponse()
        self.head_seconds = time.monotonic() - self.begun
        self.lines = []

    def read_until(self, is_last):
        while line := self.response.readline():
            self.lines.append((time.monotonic() - self.begun, line.decode().rstrip("\n")))
            if is_last(self.lines[-1][1]):
                break
        return self

    def read(self):
        self.read_until(lambda line: False)
        self.connection.close()
        return self

    def close(self):
        self.response.close()
        self.connection.close()

    @staticmethod
    def is_ping(line):
        return line in (": ping", "event: ping")

    @property
    def longest_silence(self):
        moments = [0, self.head_seconds, *(moment for moment, _ in self.lines)]
        return max(late - early for early, late in zip(moments, moments[1:]))

    @property
    def pings(self):
        return [moment for moment, line in self.lines if self.is_ping(line)]

    @property
    def data(self):
        """The JSON of the events that are not pings."""
        found = [line[len("data: "):] for _, line in self.lines if line.startswith("data: ")]
        return [json.loads(each) for each in found if each not in ("[DONE]", '{"type": "ping"}')]

    @property
    def text(self):
        parts = []
        for event in self.data:
            for choice in event.get("choices", []):
                parts.append(choice.get("text") or choice.get("delta", {}).get("content") or "")
            if event.get("type") == "response.output_text.delta":
                parts.append(event["delta"])
            if event.get("type") == "content_block_delta":
                parts.append(event["delta"].get("text", ""))
        return "".join(parts)

    @property
    def error(self):
        last = self.data[-1]
        return last["response"]["error"] if last.get("type") == "response.failed" else last["error"]


class ParrotTest(harness.EndpointTest):
    @classmethod
    def models(cls, folder):
        folder = pathlib.Path(folder)
        return [parrot(folder / name, [said], context=32768, layers=12)
                for name, said in (("slow", ["Yes", " it is"]), ("talker", WORDS), ("holder", HELD))]

    def stream(self, form, *arguments, **members):
        return Stream(self.address, *form(*arguments, **members))


class SilenceTest(ParrotTest):
    flags = ("--ping-seconds", str(INTERVAL), "--threads", "1")

    def status(self):
        answer = subprocess.run([harness.programs.BUILD / "quire", "status", "--server", self.server.url, "--json"],
                                check=True, stdout=subprocess.PIPE, timeout=60, env=harness.beside.environment())
        return json.loads(answer.stdout)

    # ---- the prompt -------------------------------------------------------------------------------

    def test_the_status_and_pings_come_while_the_prompt_is_computed(self):
        for number, form in enumerate(FORMS):
            with self.subTest(form.__name__):
                stream = self.stream(form, "slow", text(number)).read()
                self.assertEqual((stream.response.status, stream.text), (200, "Yes it is"))
                self.assertLess(stream.head_seconds, SILENCE_MAX)
                self.assertLess(stream.longest_silence, SILENCE_MAX)
                self.assertGreater(len(stream.pings), 0)
                mark = "event: ping" if form is messages else ": ping"
                self.assertEqual({line for _, line in stream.lines if Stream.is_ping(line)}, {mark})

    def test_a_message_whose_prompt_takes_long_begins_with_a_text_to_which_nothing_is_added(self):
        stream = self.stream(messages, "slow", text(60, 3 * PROMPT)).read()
        events = stream.data
        self.assertEqual([each["type"] for each in events[:3]],
                         ["message_start", "content_block_start", "content_block_delta"])
        self.assertEqual(events[2]["delta"], {"type": "text_delta", "text": ""})
        began = next(moment for moment, line in stream.lines if "message_start" in line)
        self.assertGreater(began, 24 * INTERVAL)
        self.assertEqual(events[0]["message"]["usage"]["cache_read_input_tokens"], 0)
        self.assertEqual([each["type"] for each in events].count("message_start"), 1)
        self.assertEqual([each["type"] for each in events].count("content_block_start"), 1)
        self.assertEqual(stream.text, "Yes it is")
        # The usage of the end has the tokens that were found.
        usage = next(each["usage"] for each in events if each["type"] == "message_delta")
        self.assertEqual(usage["input_tokens"] + usage["cache_read_input_tokens"],
                         events[0]["message"]["usage"]["input_tokens"])

    def test_streams_of_gemini_have_empty_lines_for_pings(self):
        said = {"contents": [{"parts": [{"text": text(95)}]}], "generationConfig": {"temperature": 0, "seed": 1}}
        for number, query in enumerate(("?alt=sse", "")):
            with self.subTest(query):
                said["contents"][0]["parts"][0]["text"] = text(95 + number)
                stream = Stream(self.address, "/v1beta/models/slow:streamGenerateContent" + query, said, stream={}).read()
                self.assertLess(stream.head_seconds, SILENCE_MAX)
                self.assertLess(stream.longest_silence, SILENCE_MAX)
                lines = [line for _, line in stream.lines]
                self.assertEqual(lines[0], "", "before the prompt is computed")
                chunks = stream.data if query else json.loads("\n".join(lines))
                parts = [part.get("text", "") for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
                self.assertEqual("".join(parts), "Yes it is")

    def test_a_request_in_line_behind_others_is_not_silent(self):
        with concurrent.futures.ThreadPoolExecutor(len(FORMS)) as pool:
            prompts = [(form, text(10 + number)) for number, form in enumerate(FORMS)]
            streams = list(pool.map(lambda each: self.stream(each[0], "slow", each[1]).read(), prompts))
        for stream in streams:
            self.assertEqual(stream.text, "Yes it is")
            self.assertLess(stream.head_seconds, SILENCE_MAX)
            self.assertLess(stream.longest_silence, SILENCE_MAX)

    # ---- clients that leave, that do not read, and that come again -----------------------------------

    def wait_for_nothing(self):
        deadline = time.monotonic() + 5
        while self.status()["instance_count"] > 0 and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.status()

    def test_a_client_that_leaves_between_a_ping_and_the_first_token_frees_all_at_once(self):
        for number, form in enumerate(FORMS):
            with self.subTest(form.__name__):
                stream = self.stream(form, "slow", text(50 + number, 12_000))
                stream.read_until(Stream.is_ping)
                stream.close()
                left = time.monotonic()
                self.assertEqual(self.wait_for_nothing()["instance_count"], 0)
                self.assertLess(time.monotonic() - left, 3)
                self.assertEqual(self.stream(form, "slow", "Hi").read().text, "Yes it is")

    def test_a_client_that_reads_nothing_gets_all_of_it_later(self):
        path, body = chat("talker", text(60, 200))
        data = json.dumps({**body, "stream": True}).encode()
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            host, port = self.address.split(":")
            client.connect((host, int(port)))
            client.sendall(f"POST {path} HTTP/1.1\r\nhost: {self.address}\r\ncontent-type: application/json\r\n"
                           f"content-length: {len(data)}\r\n\r\n".encode() + data)
            time.sleep(10 * INTERVAL)
            with http.client.HTTPResponse(client) as response:
                response.begin()
                blocks = response.read().decode().split("\n\n")
        self.assertEqual(blocks[-2:], ["data: [DONE]", ""])
        self.assertTrue(all(each == ": ping" or each.startswith("data: ") for each in blocks[:-1]))

    def test_a_request_and_its_repetition_compute_the_prompt_once(self):
        path, body = chat("slow", text(70), stream_options={"include_usage": True})
        before = self.figures().computed
        first = Stream(self.address, path, body).read_until(Stream.is_ping)
        second = Stream(self.address, path, body).read()
        first.read()
        self.assertEqual((first.text, second.text), ("Yes it is", "Yes it is"))
        usages = [stream.data[-1]["usage"] for stream in (first, second)]
        total = usages[0]["prompt_tokens"]
        # One finds or waits for each slice that the other computes.
        computed = [total - usage["prompt_tokens_details"]["cached_tokens"] for usage in usages]
        self.assertLess(sum(computed), total + 48)
        self.assertLess(computed[1], total / 2)
        self.assertLess(self.figures().computed - before, total + 64)

    def test_what_a_client_that_left_had_computed_is_found(self):
        path, body = chat("slow", text(80, 8000), stream_options={"include_usage": True})
        first = Stream(self.address, path, body)
        second = Stream(self.address, path, body)
        for _ in range(5):
            first.read_until(Stream.is_ping)
        first.close()
        second.read()
        self.assertEqual(second.text, "Yes it is")
        again = Stream(self.address, path, body).read().data[-1]["usage"]
        self.assertLess(again["prompt_tokens"] - again["prompt_tokens_details"]["cached_tokens"], 48)
        self.assertGreater(second.data[-1]["usage"]["prompt_tokens_details"]["cached_tokens"], 256)

    # ---- progress ---------------------------------------------------------------------------------

    def test_return_progress_tells_how_much_of_the_prompt_is_there(self):
        for form in (chat, completion):
            with self.subTest(form.__name__):
                plain = self.stream(form, "slow", text(90)).read()
                prompt = text(91 if form is chat else 92)
                stream = self.stream(form, "slow", prompt, return_progress=True,
                                     stream_options={"include_usage": True}).read()
                self.assertEqual(stream.text, plain.text)
                chunks = [event for event in stream.data if "prompt_progress" in event]
                progress = [chunk["prompt_progress"] for chunk in chunks]
                total = stream.data[-1]["usage"]["prompt_tokens"]
                self.assertEqual({each["total"] for each in progress}, {total})
                counts = [each["processed"] for each in progress]
                self.assertEqual((counts, counts[-1]), (sorted(set(counts)), total))
                self.assertGreater(len(counts), 5)
                self.assertEqual([each["time_ms"] for each in progress], sorted(each["time_ms"] for each in progress))
                choice = chunks[0]["choices"][0]
                self.assertEqual(choice.get("delta", choice.get("text")),
                                 {"role": "assistant", "content": None} if form is chat else "")
                again = self.stream(form, "slow", prompt, return_progress=True).read()
                found = [event["prompt_progress"] for event in again.data if "prompt_progress" in event]
                self.assertGreater(found[-1]["cache"], total - 48)

    def test_return_progress_is_checked_and_leaves_other_answers_as_they_are(self):
        for form in FORMS:
            with self.subTest(form.__name__):
                path, body = form("slow", "Hi")
                refused = self.post(path, {**body, "return_progress": "yes"})
                self.assertEqual(refused.status, 400)
                self.assertIn("return_progress", refused.json["error"]["message"])
                whole = self.ok(path, {**body, "return_progress": True})
                self.assertNotIn(b"prompt_progress", whole.body)
        for form in (responses, messages):
            stream = self.stream(form, "slow", "Hi", return_progress=True).read()
            self.assertEqual(stream.text, "Yes it is")
            self.assertEqual(stream.response.headers["x-quire-ignored"], "return_progress")


class HeldTest(ParrotTest):
    flags = ("--ping-seconds", "0.02", "--threads", "1")

    def test_pings_come_while_an_answer_under_a_schema_is_held_back(self):
        tool = {"name": "act", "parameters": NO_ARGUMENTS}
        requests = [
            self.stream(chat, "holder", text(20, 2000), tools=[{"type": "function", "function": tool}], response_format={
                "type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}),
            self.stream(responses, "holder", text(21, 2000), tools=[{"type": "function", **tool}], text={"format": {
                "type": "json_schema", "name": "x", "schema": SCHEMA}}),
            self.stream(messages, "holder", text(22, 2000), tools=[{"name": "act", "input_schema": NO_ARGUMENTS}],
                        output_config={"format": {"type": "json_schema", "schema": SCHEMA}})]
        for stream in requests:
            stream.read()
            self.assertEqual(stream.text, "".join(HELD))
            # These events come after the prompt, except those of responses.
            begun = next(number for number, (_, line) in enumerate(stream.lines)
                         if '"role":"assistant"' in line or "response.in_progress" in line)
            self.assertGreater(len([line for _, line in stream.lines[begun:] if Stream.is_ping(line)]), 2)


class FullPoolTest(ParrotTest):
    flags = ("--ping-seconds", str(INTERVAL), "--threads", "1")
    page_count = SMALL_POOL // 16

    def test_an_error_that_a_limit_finds_at_once_has_a_status(self):
        for form in FORMS:
            with self.subTest(form.__name__):
                for count in (SMALL_POOL + 100, 40_000):  # More than the pool, and than the context.
                    path, body = form("slow", text(30, count))
                    whole = self.post(path, body)
                    answer = self.post(path, {**body, "stream": True})
                    self.assertGreaterEqual(answer.status, 400)
                    self.assertEqual(answer.status, whole.status)
                    self.assertEqual(answer.json["error"], whole.json["error"])

    def test_an_error_after_the_status_is_the_last_event_with_the_text_that_the_status_would_have(self):
        count = SMALL_POOL - 150  # The answer fills the pool.
        for number, form in enumerate(FORMS):
            with self.subTest(form.__name__):
                path, body = form("talker", text(40 + number, count))
                stream = Stream(self.address, path, body).read()
                self.assertEqual(stream.response.status, 200)
                self.assertIn("w1 ", stream.text)
                whole = self.post(path, body)
                self.assertGreaterEqual(whole.status, 400)
                said = whole.json["error"]
                self.assertEqual(stream.error["message"], said["message"])
                if form is responses:
                    self.assertEqual(stream.error["code"], said["code"] or said["type"])
                else:
                    self.assertEqual(stream.error, said)


class PaddedTest(ParrotTest):
    flags = ("--ping-seconds", str(INTERVAL), "--pad-json", "--threads", "1")
    page_count = SMALL_POOL // 16

    def test_a_whole_answer_that_takes_long_begins_with_white_space(self):
        for number, form in enumerate(FORMS):
            with self.subTest(form.__name__):
                answer = self.ok(*form("slow", text(number)))
                self.assertGreater(len(answer.body) - len(answer.body.lstrip(b" ")), 0)
                self.assertIn("Yes it is", json.dumps(answer.json))
                self.assertTrue(self.ok(*form("slow", "Hi")).body.startswith(b"{"))

    def test_an_error_after_white_space_is_the_body_and_one_at_once_has_a_status(self):
        for number, form in enumerate(FORMS):
            with self.subTest(form.__name__):
                answer = self.ok(*form("talker", text(10 + number, SMALL_POOL - 150)))
                self.assertTrue(answer.body.startswith(b" "))
                self.assertIn("message", answer.json["error"])
                self.assertEqual(self.post(*form("slow", text(20, 40_000))).status, 400)


if __name__ == "__main__":
    harness.main()
