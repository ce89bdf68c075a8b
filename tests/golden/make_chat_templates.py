#!/usr/bin/env python3
"""Writes chat_templates.json and chat_templates_jinja2.json beside itself.

usage: make_chat_templates.py UNPACKED-SOURCE-OF-LLAMA-CPP-PYTHON

The first holds the templates and expected texts of vendor/llama.cpp/tests/test-chat-template.cpp
(MIT). Where llama.cpp merges the system message into the first user message before it renders, the
messages here are merged the same way. The second holds what Jinja2 itself, set up as transformers
sets it up, makes of vendor/llama.cpp/models/templates/NAME for four conversations; the templates
themselves come from tools/fetch_tokenizer_goldens.sh.
"""
import datetime
import json
import pathlib
import re
import sys

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = 1700000000
CONVERSATION = [("system", "You are a helpful assistant"), ("user", "Hello"), ("assistant", "Hi there"),
                ("user", "Who are you"), ("assistant", "   I am an assistant   "), ("user", "Another question")]
TEMPLATES = """HuggingFaceTB-SmolLM3-3B LFM2-8B-A1B Qwen-QwQ-32B Qwen-Qwen2.5-7B-Instruct Qwen-Qwen3-0.6B
Qwen3-Coder deepseek-ai-DeepSeek-R1-Distill-Llama-8B deepseek-ai-DeepSeek-V3.1 google-gemma-2-2b-it
ibm-granite-granite-3.3-2B-Instruct meta-llama-Llama-3.1-8B-Instruct meta-llama-Llama-3.2-3B-Instruct
meta-llama-Llama-3.3-70B-Instruct microsoft-Phi-3.5-mini-instruct
mistralai-Mistral-Nemo-Instruct-2407 NousResearch-Hermes-3-Llama-3.1-8B-tool_use Kimi-K2-Instruct
openai-gpt-oss-120b GLM-4.6 Reka-Edge""".split()
TOOL = {"type": "function", "function": {
    "name": "get_weather", "description": "Get <the> weather & 'more'",
    "parameters": {"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string", "description": "Städte"}, "n": {"type": "integer", "default": 1.5}}}}}
REQUESTS = {
    "plain": {"messages": [{"role": "user", "content": "Hello | world <b>"}, {"role": "assistant", "content": " Hi there "},
                           {"role": "user", "content": "Who?"}]},
    "system": {"messages": [{"role": "system", "content": "Be nice"}, {"role": "user", "content": "Hello\n"}]},
    "tools": {"messages": [
        {"role": "system", "content": "S"}, {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "abcdefghi", "type": "function", "function": {
            "name": "get_weather", "arguments": {"city": "Köln", "deep": [1, True, None]}}}]},
        {"role": "tool", "tool_call_id": "abcdefghi", "name": "get_weather", "content": "{\"t\": 20}"},
        {"role": "user", "content": "Thanks <|im_end|> x"}], "tools": [TOOL]},
    "think": {"messages": [{"role": "user", "content": "1+1"},
                           {"role": "assistant", "content": "<think>\nhm\n</think>\n\n2"}, {"role": "user", "content": "again"}]},
}


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = lambda form: datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).strftime(form)
    return made


def render(template, request, variables):
    values = {"tools": None, "documents": None, "add_generation_prompt": False}
    return environment().from_string(template).render(**(values | request | variables))


def unescape(text):
    simple = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "'": "'"}
    return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", lambda m: chr(int(m[1][1:], 16)) if m[1][0] == "u" else simple[m[1]], text)


def cases_of(source):
    body = source[source.index("std::vector<TestCase> test_cases {"):source.index("std::vector<char> formatted_chat(1024)")]
    gap = re.compile(r"\s*(//[^\n]*\n\s*)*")
    literal = re.compile(r'(?:U8C\()?(?:u8)?(R"([a-zA-Z_]*)\((.*?)\)\2"|"((?:[^"\\]|\\.)*)")\)?', re.S)
    cases = []
    for field in re.finditer(r"/\* \.(\w+)=? ?\*/", body):
        if field[1] == "name":
            cases.append({})
        at, text = field.end(), None
        while found := literal.match(body, gap.match(body, at).end()):
            text = (text or "") + (found[3] if found[3] is not None else unescape(found[4]))
            at = found.end()
        cases[-1][field[1]] = body[at:body.index("\n", at)].strip() if text is None else text
    return cases


def messages_of(case):
    turns = list(CONVERSATION)
    for role, content in re.findall(r'\{"(\w+)", "((?:[^"\\]|\\.)*)"\}', case.get("extra_conversation", "")):
        turns.append((role, unescape(content)))
    return [{"role": role, "content": content} for role, content in turns]


def merged(messages):
    first = {"role": "user", "content": messages[0]["content"] + "\n" + messages[1]["content"]}
    return [first] + messages[2:]


def published(root):
    written = []
    for case in cases_of((root / "tests/test-chat-template.cpp").read_text(encoding="utf-8")):
        if case.get("supported_with_jinja", "true").startswith("false"):
            continue
        expected = case.get("expected_output_jinja") or case["expected_output"]
        messages = messages_of(case)
        if "You are a helpful assistant\nHello" in expected:
            messages = merged(messages)
        written.append({"name": case["name"], "template": case["template_str"],
                        "variables": {"bos_token": case.get("bos_token", ""), "eos_token": case.get("eos_token", "")},
                        "request": {"messages": messages, "add_generation_prompt": True}, "expected": expected})
    return written


def rendered(root):
    variables = {"bos_token": "<s>", "eos_token": "</s>"}
    written = []
    for name in TEMPLATES:
        template = (root / f"models/templates/{name}.jinja").read_bytes().decode()
        for kind, request in REQUESTS.items():
            request = request | {"add_generation_prompt": True}
            try:
                outcome = {"expected": render(template, request, variables)}
            except jinja2.exceptions.TemplateError as error:
                outcome = {"error": str(error)}
            except TypeError:  # Iterates over None; ours, like llama.cpp's, takes it for an empty list.
                continue
            written.append({"name": f"{name}.jinja", "conversation": kind} | outcome)
    return {"now_unix_seconds": NOW, "variables": variables,
            "requests": {kind: request | {"add_generation_prompt": True} for kind, request in REQUESTS.items()},
            "cases": written}


def main():
    root = pathlib.Path(sys.argv[1]) / "vendor/llama.cpp"
    here = pathlib.Path(__file__).parent
    for name, value in (("chat_templates.json", published(root)), ("chat_templates_jinja2.json", rendered(root))):
        (here / name).write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
