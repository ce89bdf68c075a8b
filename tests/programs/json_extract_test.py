#!/usr/bin/env python3
"""json_extract: every answer is an instance of the schema, whatever the model would rather write."""
import json
import re

import harness

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "count": {"type": "integer", "minimum": 0, "maximum": 999},
        "size": {"enum": ["small", "large", None]},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]{2,5}$"}, "maxItems": 3},
        "paid": {"type": "boolean"},
    },
    "required": ["name", "count", "size", "tags"],
    "additionalProperties": False,
}


class JsonExtractTest(harness.ProgramTest):

    def check(self, answer):
        self.assertLessEqual(set(answer), set(SCHEMA["properties"]))
        self.assertLessEqual(set(SCHEMA["required"]), set(answer))
        self.assertIsInstance(answer["name"], str)
        self.assertLessEqual(len(answer["name"]), 12)
        self.assertIs(type(answer["count"]), int)
        self.assertTrue(0 <= answer["count"] <= 999)
        self.assertIn(answer["size"], SCHEMA["properties"]["size"]["enum"])
        self.assertLessEqual(len(answer["tags"]), 3)
        for each in answer["tags"]:
            self.assertTrue(re.fullmatch("[a-z]{2,5}", each), each)
        self.assertIsInstance(answer.get("paid", False), bool)

    def test_answers_of_random_weights_obey_the_schema(self):
        answers = set()
        for seed in range(20):
            ran = self.run_program("json_extract", "--schema", json.dumps(SCHEMA), "--temperature", 1, "--seed", seed,
                                   "Two large boxes for Ada, paid.")
            self.check(ran.json())
            answers.add(ran.out)
        self.assertGreater(len(answers), 10)

    def test_an_answer_that_is_cut_is_an_error(self):
        ran = self.run_program("json_extract", "--schema", json.dumps(SCHEMA), "--max-tokens", 3, "Two boxes.",
                               succeeds=False)
        self.assertIn("the answer is not complete after 3 tokens", ran.err)
        self.assertEqual(ran.out, "")

    def test_a_schema_that_cannot_be_used_is_an_error_that_says_why(self):
        for schema, reason in (("{", "JSON"), ('{"type": "objekt"}', "objekt"), ('{"$ref": "http://x/y"}', "http://x/y")):
            ran = self.run_program("json_extract", "--schema", schema, "Two boxes.", succeeds=False)
            self.assertIn(reason, ran.err)


if __name__ == "__main__":
    harness.main()
