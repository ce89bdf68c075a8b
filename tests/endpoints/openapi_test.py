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
validator = clients.find("openapi_spec_validator")


class OpenApiTest(harness.EndpointTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.document = json.loads(DOCUMENT.read_text())

    def test_the_document_is_what_the_tables_and_the_schemas_say(self):
        subprocess.run([sys.executable, SOURCE / "tools" / "generate_openapi.py", "--check"], check=True)

    def test_the_document_has_each_endpoint_of_the_server(self):
        there = {each.replace("/*", "/{model}") for each in self.ask_of("GET", "/").json["endpoints"]}
        written = {f"{method.upper()} {path}" for path, item in self.document["paths"].items()
                   for method in item if method != "parameters"}
        self.assertEqual(written - {"GET /", "GET /health"}, there)

    @clients.needs(validator, "openapi-spec-validator")
    def test_the_document_is_valid(self):
        validator.validate(self.document)

    @unittest.skipUnless(SCHEMATHESIS.exists(), "no schemathesis: tools/fetch_clients.sh installs it")
    def test_what_schemathesis_thinks_of_has_a_documented_answer(self):
        folder = pathlib.Path(self.enterContext(harness.programs.tempfile.TemporaryDirectory()))
        document = folder / "openapi.json"  # Its examples name the model that is there.
        document.write_text(DOCUMENT.read_text().replace("smollm2-135m-instruct", self.name))
        command = [SCHEMATHESIS, "run", document, "--url", self.url, "--checks", ",".join(CHECKS), "--no-color",
                   "--phases", "examples,coverage,fuzzing", "--seed", os.environ.get("QUIRE_TEST_SEED", "1"),
                   "--generation-database", "none", "--max-time", os.environ.get("QUIRE_TEST_SECONDS", str(MOST_SECONDS)),
                   "--max-examples", os.environ.get("QUIRE_TEST_EXAMPLES", "20"), "--continue-on-failure"]
        environment = {**harness.beside.environment(), "QUIRE_TEST_MODEL": self.name,
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
