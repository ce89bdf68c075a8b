"""docs/reference/openapi.json: it is current, valid, has each endpoint, and the server does what it says."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import clients
import harness

SOURCE = harness.programs.SOURCE
DOCUMENT = SOURCE / "docs" / "reference" / "openapi.json"
SCHEMATHESIS = clients.PYTHON / "bin" / "schemathesis"
# Each says that the response is what the document says. `positive_data_acceptance` is left out: JSON Schema cannot say
# that a prompt fits in the context, or that a schema is one which grammars enforce.
CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
          "negative_data_rejection", "unsupported_method", "allow_header_conformance")
MOST_SECONDS = 30
# An OPTIONS request does not reach the program that has all paths below a prefix, so the server answers with the
# methods that it takes at any of them. What each path takes is tested below.
CONFIGURATION = """
[checks]
enabled = false
""" + "".join(f"{each}.enabled = true\n" for each in CHECKS) + """
[[operations]]
include-path-regex = "^/v1/responses/.|^/v1(beta)?/.*odels/"
checks.allow_header_conformance.enabled = false
"""
OWN = {"GET /", "GET /health", "GET /health/live", "GET /health/ready", "GET /metrics"}  # Which no program answers.
validator = clients.find("openapi_spec_validator")


def matches(rule, operation):
    """Whether an endpoint of the server, which may end with /*, takes an operation of the document."""
    return operation.startswith(rule[:-1]) if rule.endswith("/*") else operation == rule


class OpenApiTest(harness.EndpointTest):
    has_store = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.document = json.loads(DOCUMENT.read_text())

    def test_the_document_is_what_the_tables_and_the_schemas_say(self):
        subprocess.run([sys.executable, SOURCE / "tools" / "generate_openapi.py", "--check"], check=True)

    def test_the_document_has_each_endpoint_of_the_server(self):
        rules = self.ask_of("GET", "/").json["endpoints"]
        written = {f"{method} {path}" for path in self.document["paths"] for method in self.methods_of(path)}
        self.assertEqual([rule for rule in rules if not any(matches(rule, each) for each in written)], [])
        self.assertEqual({each for each in written if not any(matches(rule, each) for rule in rules)}, OWN)

    def methods_of(self, path):
        return {method.upper() for method in self.document["paths"][path] if method != "parameters"}

    def test_each_path_takes_the_methods_that_are_written_and_no_others(self):
        for path in self.document["paths"]:
            there = path.replace("{id}", "resp_0").replace("{model}", self.name)
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
                answer = self.ask_of(method, there)
                is_written = method in self.methods_of(path)
                self.assertEqual(answer.status != 405, is_written, (method, path, answer.body))
                self.assertNotIn(b"othing", answer.body)  # "there is nothing at", "nothing is at"
                if method in ("GET", "POST", "DELETE") and not is_written:
                    self.assertLessEqual(self.methods_of(path), set(answer.headers["allow"].split(", ")), path)

    @clients.needs(validator, "openapi-spec-validator")
    def test_the_document_is_valid(self):
        validator.validate(self.document)

    @unittest.skipUnless(SCHEMATHESIS.exists(), "no schemathesis: tools/fetch_clients.sh installs it")
    def test_what_schemathesis_thinks_of_has_a_documented_answer(self):
        folder = pathlib.Path(self.enterContext(harness.programs.tempfile.TemporaryDirectory()))
        document = folder / "openapi.json"  # Its examples name the model that is there.
        document.write_text(DOCUMENT.read_text().replace("smollm2-135m-instruct", self.name))
        configuration = folder / "schemathesis.toml"
        configuration.write_text(CONFIGURATION)
        command = [SCHEMATHESIS, "--config-file", configuration, "run", document, "--url", self.url, "--no-color",
                   "--phases", "examples,coverage,fuzzing", "--continue-on-failure",
                   "--seed", os.environ.get("QUIRE_TEST_SEED", "1"), "--generation-database", "none",
                   "--max-time", os.environ.get("QUIRE_TEST_SECONDS", str(MOST_SECONDS)),
                   "--max-examples", os.environ.get("QUIRE_TEST_EXAMPLES", "20")]
        kept = self.ok("/v1/responses", {"model": self.name, "input": "Hi", "max_output_tokens": 4, "background": True})
        environment = {**harness.beside.environment(), "QUIRE_TEST_MODEL": self.name,
                       "QUIRE_TEST_RESPONSE": kept.json["id"],
                       "SCHEMATHESIS_HOOKS": "schemathesis_hooks",
                       "PYTHONPATH": str(SOURCE / "tests" / "endpoints")}
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
                             cwd=folder)
        self.assertEqual(ran.returncode, 0, ran.stdout[-20_000:])
        generated = re.search(r"([\d,]+) generated", ran.stdout)
        self.assertTrue(generated, ran.stdout)
        self.assertGreater(int(generated[1].replace(",", "")), 100, ran.stdout)


if __name__ == "__main__":
    harness.main()
