#!/usr/bin/env python3
"""agent_codeact: code runs in the program, its output costs its own tokens, and no code ends the program."""
import json
import re
import unittest

import harness
import reference

QUESTION = "What is six times seven?"
PROGRAM = harness.SOURCE / "inferlets" / "agent_codeact" / "agent_codeact.cpp"
# Errors of code, and the text that the model reads of each.
BAD_CODE = {
    "while (true) {}": "InternalError: interrupted",
    "/(a+)+$/.test('a'.repeat(40) + 'b')": "InternalError: interrupted",
    "let list = []; while (true) list.push('x'.repeat(1e6) + list.length);": "InternalError: out of memory",
    "function f() { return f() + 1; } f()": "RangeError: Maximum call stack size exceeded",
    "JSON.parse('['.repeat(100000))": "RangeError: Maximum call stack size exceeded",
    "console.log('a', 1); throw new Error('no')": "a 1 Error: no",
    "let 7": "SyntaxError",
    "new Date()": "ReferenceError",
    "Math.random()": "TypeError",
}


def examples():
    text = PROGRAM.read_text()
    text = text[text.index("kExamples ="):text.index(";\n\nstruct Options")]
    return "".join(json.loads(each) for each in re.findall(r'"(?:[^"\\]|\\.)*"', text))


class AgentCodeactTest(harness.ProgramTest):

    @classmethod
    def setUpClass(cls):
        if not (harness.BUILD / "inferlets" / "agent_codeact.wasm").exists():
            raise unittest.SkipTest("agent_codeact was not built: tools/build_quickjs.sh makes what it needs")
        super().setUpClass()

    def run_code(self, code, *arguments):
        return self.run_program("agent_codeact", "--max-tokens", 8, "--ignore-eos", "--code", code, *arguments, QUESTION)

    def test_what_code_prints_or_its_value_is_its_output(self):
        for code in ("6 * 7", "console.log(6 * 7)", "let n = 6; n * 7", "eval('6 * 7')", "print(42); 0"):
            self.assertIn("\nOutput: 42\n", self.run_code(code, "--tries", 1).out)

    def test_an_output_costs_its_own_tokens(self):
        ran = self.run_code("6 * 7", "--tries", 1, "--max-tokens", 1)
        texts = (examples() + f"Question: {QUESTION}\n```js\n6 * 7\n", "```\nOutput: 42\nAnswer:")
        self.assertEqual(ran.cost.computed + ran.cost.found, sum(len(reference.tokens_of(harness.BUILD, each)) for each in texts))

    def test_bad_code_is_an_error_that_the_model_reads(self):
        for code, error in BAD_CODE.items():
            self.assertIn(f"\nError: {error}", self.run_code(code, "--tries", 1).out, code)

    def test_the_model_tries_again_and_may_use_the_same_names(self):
        ran = self.run_code("let sum = 1; sum()", "--tries", 3)
        self.assertEqual(len(re.findall("(?:Error|Output): ", ran.out.replace("SyntaxError:", "").replace("TypeError:", "").replace("ReferenceError:", ""))), 3)
        self.assertNotIn("redeclaration", ran.out)

    def test_equal_seeds_give_equal_bytes(self):
        arguments = ("--seed", 3, "--temperature", 1)
        self.assertEqual(self.run_code("let 7", *arguments).out, self.run_code("let 7", *arguments).out)


if __name__ == "__main__":
    harness.main()
