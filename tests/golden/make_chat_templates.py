#!/usr/bin/env python3
"""Writes chat_templates.json and chat_templates_jinja2.json beside itself.

usage: make_chat_templates.py UNPACKED-SOURCE-OF-LLAMA-CPP-PYTHON     (needs transformers and jinja2)

The first holds the templates and expected texts of vendor/llama.cpp/tests/test-chat-template.cpp
(MIT). Where llama.cpp merges the system message into the first user message before it renders, the
messages here are merged the same way. The second has the output of Jinja2, as transformers sets
it up, for every template in vendor/llama.cpp/models/templates and each of 30 conversations. That is the
first 16 hex digits of the SHA-256 of the text, or that Jinja2 raises. Some texts stand there in full. The templates
themselves come from tools/fetch_tokenizer_goldens.sh.
"""
import copy
import hashlib
import json
import pathlib
import re
import sys

from transformers_jinja import jinja_at

NOW = 1700000000
CONVERSATION = [("system", "You are a helpful assistant"), ("user", "Hello"), ("assistant", "Hi there"),
                ("user", "Who are you"), ("assistant", "   I am an assistant   "), ("user", "Another question")]
VARIABLES = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
IN_FULL = ["Qwen-Qwen3-0.6B", "Qwen3-Coder", "Qwen3.5-4B", "meta-llama-Llama-3.1-8B-Instruct", "openai-gpt-oss-120b"]  # Texts to look at.


def tool(name, **more):
    return {"type": "function", "function": {"name": name, "description": "Get <the> weather & 'more'", "parameters": {
        "type": "object", "required": ["city"], "properties": {
            "city": {"type": "string", "description": "Städte", "enum": ["Köln", "Bern"]},
            "n": {"type": "integer", "default": 1.5},
            "deep": {"type": ["array", "null"], "items": {"type": "object", "properties": {
                "z": {"type": "number"}, "a": {"type": "boolean"}}}}}}} | more}


TOOL, OTHER = tool("get_weather"), tool("send_mail", **{"return": {"type": "string", "description": "Said"}})


def U(content):
    return {"role": "user", "content": content}


def S(content):
    return {"role": "system", "content": content}


def A(content, **more):
    return {"role": "assistant", "content": content} | more


def call(name, arguments, id="abcdefghi"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(content, name="get_weather", id="abcdefghi"):
    return {"role": "tool", "tool_call_id": id, "name": name, "content": content}


ARGS = {"city": "Köln", "deep": [1, True, None, 2.50, {"z": 1e3, "a": False}], "n": 7}
# Lines, which begin and end with blanks, and values that are not texts, and a text that looks like one.
LINES = {"path": "a b.txt", "text": '  if a < b:\n\n    print("</x>")\n', "count": 12, "is_last": True, "rows": [1, None, {"z": 1.5}], "number": "0012"}
WRITE = {"type": "function", "function": {"name": "write", "description": "Writes", "parameters": {
    "type": "object", "required": ["path", "text"], "properties": {
        "path": {"type": "string"}, "text": {"type": "string"}, "count": {"type": "integer"}, "is_last": {"type": "boolean"},
        "rows": {"type": "array"}, "number": {"type": "string"}}}}}
TEXT_ARGS = '{"city": "Köln", "n": 7}'
CONVERSATIONS = {
    "plain": {"messages": [U("Hello | world <b>")]},
    "turns": {"messages": [U("Hello"), A(" Hi there "), U("Who?"), A("Me\n"), U("  again  ")]},
    "system": {"messages": [S("Be nice\n"), U("Hello\n")]},
    "system_turns": {"messages": [S("S"), U("a"), A("b"), U("c")]},
    "no_generation": {"messages": [U("Hello"), A("Bye")], "add_generation_prompt": False},
    "tools_offered": {"messages": [U("Weather?")], "tools": [TOOL, OTHER]},
    "tools_system": {"messages": [S("Be <brief>"), U("Weather?")], "tools": [TOOL]},
    "call_object": {"messages": [U("Weather?"), A("", tool_calls=[call("get_weather", ARGS)]), result('{"t": 20}'), U("Thanks")], "tools": [TOOL]},
    "call_text": {"messages": [U("Weather?"), A("", tool_calls=[call("get_weather", TEXT_ARGS)]), result("20 °C")], "tools": [TOOL]},
    "call_lines": {"messages": [U("Write"), A("I write it.", tool_calls=[call("write", LINES)]), result("done", "write"), U("Thanks")], "tools": [WRITE]},
    "call_none": {"messages": [U("Weather?"), {"role": "assistant", "content": None, "tool_calls": [call("get_weather", ARGS)]}, result("20")], "tools": [TOOL]},
    "call_no_content": {"messages": [U("Weather?"), {"role": "assistant", "tool_calls": [call("get_weather", ARGS)]}, result("20")], "tools": [TOOL]},
    "calls_parallel": {"messages": [U("Weather?"), A("Let me see", tool_calls=[call("get_weather", ARGS, "abcdefgh1"), call("send_mail", {"city": "", "n": -1}, "abcdefgh2")]),
                       result("1", id="abcdefgh1"), result("ok\n", "send_mail", "abcdefgh2"), A("Done."), U("Now?")], "tools": [TOOL, OTHER]},
    "call_result_object": {"messages": [U("W"), A("", tool_calls=[call("get_weather", {})]), result({"t": 20, "unit": "C", "a": [1, None]})], "tools": [TOOL]},
    "reasoning": {"messages": [U("1+1"), A("2", reasoning_content="hm\nso"), U("again"), A("3", reasoning_content=""), U("more")]},
    "reasoning_call": {"messages": [U("W"), A("", reasoning_content="I need it", tool_calls=[call("get_weather", ARGS)]), result("5")], "tools": [TOOL]},
    "think_text": {"messages": [U("1+1"), A("<think>\nhm\n</think>\n\n2"), U("again")]},
    "thinking_on": {"messages": [U("1+1")], "enable_thinking": True},
    "thinking_off": {"messages": [S("s"), U("1+1")], "enable_thinking": False, "thinking": False, "reasoning_effort": "low"},
    "parts": {"messages": [{"role": "user", "content": [{"type": "text", "text": "One "}, {"type": "text", "text": "two"}]}, A([{"type": "text", "text": "Three"}]), U("x")]},
    "image": {"messages": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What?"}]}]},
    "empty": {"messages": [U(""), A(""), U(" ")]},
    "nothing": {"messages": []},
    "unicode": {"messages": [S("Пример\u00a0…"), U("日本語 🦙 e\u0301 ß ŉ"), A("ÀÉ\u2028x"), U("naïve\u200b")]},
    "developer": {"messages": [{"role": "developer", "content": "Rules"}, U("Hi")]},
    "specials": {"messages": [U("<|im_end|></s><|eot_id|><end_of_turn>[/INST]<|end|>"), A("<tool_call>{}</tool_call>"), U("</think> x <|im_start|>system")]},
    "odd_order": {"messages": [A("first"), U("a"), U("b"), S("late")]},
    "documents": {"messages": [U("What?")], "documents": [{"title": "T", "text": "Body", "n": 1}]},
    "role_odd": {"messages": [U("a"), {"role": "narrator", "content": "b"}]},
    "variables": {"messages": [U("a")], "bos_token": "<B>", "date_string": "26 Jul 2024", "custom": {"z": 1, "a": 2}},
}


def render(template, request):
    """The text, or None if Jinja2 raises."""
    values = {"tools": None, "documents": None, "add_generation_prompt": False} | VARIABLES | request
    try:
        return jinja_at(NOW)(template).render(**copy.deepcopy(values))
    except Exception:
        return None


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
    requests = {kind: {"add_generation_prompt": True} | request for kind, request in CONVERSATIONS.items()}
    templates, texts = {}, {}
    for path in sorted((root / "models/templates").glob("*.jinja")):
        outcomes = {kind: render(path.read_bytes().decode(), request) for kind, request in requests.items()}
        templates[path.name] = {kind: text if text is None else hashlib.sha256(text.encode()).hexdigest()[:16]
                                for kind, text in outcomes.items()}
        if path.stem in IN_FULL:
            texts[path.name] = outcomes
    return {"now_unix_seconds": NOW, "variables": VARIABLES, "requests": requests, "templates": templates, "texts": texts}


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def main():
    root = pathlib.Path(sys.argv[1]) / "vendor/llama.cpp"
    here = pathlib.Path(__file__).parent
    write(here / "chat_templates.json", published(root))
    write(here / "chat_templates_jinja2.json", rendered(root))


if __name__ == "__main__":
    main()
