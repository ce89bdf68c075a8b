"""GET /metrics: the page is what Prometheus reads, it counts what was done, and docs/operate/README.md lists it."""
import json
import math
import pathlib
import re
import sys
import time

import harness

VENV = pathlib.Path.home() / ".cache" / "quire-clients" / "venv"
sys.path += [str(each) for each in VENV.glob(f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages")]

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "operate" / "README.md"
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"')


def unescaped(text):
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text)


class Page:
    """Strict: every line of the text format must be as it should be, in the order in which it should be."""

    def __init__(self, text):
        assert text.endswith("\n"), "the last line ends"
        self.families = {}  # Name to (type, help).
        self.samples = {}   # (Name, labels) to value.
        self.family = None
        for line in text.splitlines():
            (self.comment if line.startswith("#") else self.sample)(line)
        for name, (kind, _) in self.families.items():
            if kind == "histogram":
                self.check_histogram(name)

    def comment(self, line):
        mark, word, name, rest = line.split(" ", 3)
        assert mark == "#" and NAME.fullmatch(name), line
        if word == "HELP":
            assert name not in self.families, f"{name} is there twice"
            self.families[name] = (None, unescaped(rest))
            self.family = name
            return
        assert word == "TYPE" and name == self.family and self.families[name][0] is None, line
        assert rest in ("counter", "gauge", "histogram"), line
        assert (rest == "counter") == name.endswith("_total") or rest == "histogram", f"{name} is a {rest}"
        self.families[name] = (rest, self.families[name][1])

    def sample(self, line):
        found = re.fullmatch(r"([^{ ]+)(?:\{(.+)\})? (\S+)", line)
        assert found and NAME.fullmatch(found[1]), line
        labels, rest = {}, found[2] or ""
        while rest:
            label = LABEL.match(rest)
            assert label and label[1] not in labels, line
            labels[label[1]] = unescaped(label[2])
            rest = rest[label.end():]
            assert not rest or (rest.startswith(",") and len(rest) > 1), line
            rest = rest[1:]
        kind = self.families[self.family][0]
        suffix = found[1][len(self.family):]
        assert found[1].startswith(self.family), line
        assert suffix in (("_bucket", "_sum", "_count") if kind == "histogram" else ("",)), line
        assert ("le" in labels) == (suffix == "_bucket"), line
        key = (found[1], tuple(sorted(labels.items())))
        assert key not in self.samples, f"{line} is there twice"
        value = float(found[3])
        assert math.isfinite(value) and value >= 0, line
        self.samples[key] = value

    def check_histogram(self, name):
        buckets = [(float(labels[0][1]), value) for (each, labels), value in self.samples.items()
                   if each == name + "_bucket"]
        assert buckets == sorted(buckets) and buckets[-1][0] == math.inf, name
        assert [value for _, value in buckets] == sorted(value for _, value in buckets), name
        assert buckets[-1][1] == self.value(name + "_count"), name
        self.value(name + "_sum")

    def value(self, name, **labels):
        return self.samples[name, tuple(sorted(labels.items()))]

    def sum(self, name):
        return sum(value for (each, _), value in self.samples.items() if each == name)


class MetricsTest(harness.EndpointTest):
    def page(self):
        answer = self.ask_of("GET", "/metrics")
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
        self.text = answer.body.decode()
        return Page(self.text)

    def when(self, wanted):
        """The page as soon as `wanted` says so: an instance ends a moment after its response."""
        for _ in range(200):
            page = self.page()
            if wanted(page):
                return page
            time.sleep(0.02)
        self.fail("it never came:\n" + self.text)

    def test_the_page_counts_the_work_that_was_done(self):
        before = self.when(lambda page: page.value("quire_num_requests_running") == 0)
        grown = lambda page, name, **labels: page.value(name, **labels) - before.samples.get(
            (name, tuple(sorted(labels.items()))), 0)
        count, prompt_tokens, generated_tokens = 5, 0, 0
        for index in range(count):
            usage = self.ok("/v1/completions", {"model": self.name, "prompt": f"Request {index} of the test",
                                                "max_tokens": 7, "logit_bias": harness.only(300)}).json["usage"]
            prompt_tokens += usage["prompt_tokens"]
            generated_tokens += usage["completion_tokens"]
        self.assertEqual(generated_tokens, 7 * count)
        finished = dict(finished_reason="finished")
        page = self.when(lambda page: grown(page, "quire_request_success_total", **finished) == count)
        self.assertEqual(grown(page, "quire_generation_tokens_total"), generated_tokens)
        self.assertEqual(grown(page, "quire_prompt_tokens_total"), prompt_tokens)
        self.assertEqual(grown(page, "quire_prefix_cache_queries_total"), prompt_tokens)
        self.assertLessEqual(grown(page, "quire_prefix_cache_hits_total"), prompt_tokens)
        # Between 7 tokens are 6 times.
        self.assertEqual(grown(page, "quire_inter_token_latency_seconds_count"), generated_tokens - count)
        for name in ["time_to_first_token_seconds", "e2e_request_latency_seconds", "request_queue_time_seconds",
                     "http_time_to_first_byte_seconds", "http_request_duration_seconds"]:
            self.assertEqual(grown(page, f"quire_{name}_count"), count, name)
        self.assertEqual(grown(page, "quire_http_requests_total", endpoint="POST /v1/completions", outcome="ok"), count)
        self.assertEqual(grown(page, "quire_launches_total"), count)
        self.assertEqual(grown(page, "quire_tenant_launches_total", tenant="0"), count)
        self.assertEqual(page.value("quire_num_requests_running"), 0)
        self.assertEqual(page.value("quire_http_requests_open"), 0)
        self.assertEqual(page.sum("quire_kv_pages"), page.value("quire_kv_pages", state="held") +
                         page.value("quire_kv_pages", state="cold") + page.value("quire_kv_pages", state="free"))

    def test_a_prompt_of_one_token_is_a_prompt(self):
        before = self.page().value("quire_prompt_tokens_total")
        usage = self.ok("/v1/completions", {"model": self.name, "prompt": [300], "max_tokens": 3,
                                            "logit_bias": harness.only(300)}).json["usage"]
        self.assertEqual(usage["prompt_tokens"], 1)
        self.assertEqual(self.page().value("quire_prompt_tokens_total") - before, 1)

    def test_a_prompt_that_is_there_already_counts_as_found(self):
        body = {"model": self.name, "prompt": "The same prompt, long enough for pages. " * 8, "max_tokens": 2}
        self.ok("/v1/completions", body)
        before = self.page()
        usage = self.ok("/v1/completions", body).json["usage"]
        found = usage["prompt_tokens_details"]["cached_tokens"]
        self.assertGreater(found, 16)
        page = self.page()
        hits = lambda page: page.value("quire_prefix_cache_hits_total")
        self.assertEqual(hits(page) - hits(before), found)

    def test_a_request_that_the_endpoint_refuses_counts_as_the_clients_error(self):
        self.assertEqual(self.post("/v1/completions", {"prompt": 5}).status, 400)
        labels = dict(endpoint="POST /v1/completions", outcome="client_error")
        self.when(lambda page: ("quire_http_requests_total", tuple(sorted(labels.items()))) in page.samples)

    def test_the_client_of_prometheus_reads_the_page(self):
        try:
            from prometheus_client.parser import text_string_to_metric_families
        except ImportError:
            self.skipTest("prometheus-client is not installed")
        page = self.page()
        families = {}
        for family in text_string_to_metric_families(self.text):
            name = family.name + ("_total" if family.type == "counter" else "")
            families[name] = (family.type, family.documentation)
        self.assertEqual(families, page.families)

    def test_the_document_lists_each_metric_with_its_type_and_meaning(self):
        rows = re.findall(r"^\| `(quire_[a-z0-9_]+)` \| (\w+) \| (.*) \|$", DOCUMENT.read_text(), re.MULTILINE)
        self.assertEqual({name: (kind, meaning) for name, kind, meaning in rows}, self.page().families)
        self.assertEqual(len(rows), len(self.page().families))

    def test_only_a_get_reads_it_whatever_its_query(self):
        self.assertEqual(self.ask_of("POST", "/metrics").status, 405)
        self.assertEqual(self.ask_of("HEAD", "/metrics").body, b"")
        self.assertEqual(self.ask_of("GET", "/metrics?x").status, 200)
        connection = harness.http.client.HTTPConnection(self.address, timeout=harness.TIMEOUT_SECONDS)
        for _ in range(3):  # On one connection, between requests to endpoints.
            connection.request("GET", "/metrics")
            Page(connection.getresponse().read().decode())
            connection.request("POST", "/tokenize", json.dumps({"content": "x"}))
            self.assertEqual(connection.getresponse().read()[:1], b"{")
        connection.close()


if __name__ == "__main__":
    harness.main()
