"""Hooks of schemathesis: its requests name the model that the server has, and ask for short answers.

What a request says of these is valid before and after, so a request that must be refused stays one. Without them nearly
every request would be refused for its model, and the rest would write until the context is full.
"""
import os

import schemathesis

MODEL = os.environ["QUIRE_TEST_MODEL"]
MOST = {"max_tokens": 8, "max_completion_tokens": 8, "n": 2, "best_of": 2}
LARGEST = {"n": 128, "best_of": 128}


@schemathesis.hook
def map_body(context, body):
    if not isinstance(body, dict):
        return body
    if isinstance(body.get("model"), str) and body["model"]:
        body["model"] = MODEL
    for member, most in MOST.items():
        value = body.get(member)
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if is_whole and most < value <= LARGEST.get(member, 1 << 53):
            body[member] = most
    asks_for_answer = "model" in body and ("messages" in body or "prompt" in body)
    if asks_for_answer and "tokenize" not in context.operation.path and "template" not in context.operation.path:
        body.setdefault("max_tokens", 8)
        if body["max_tokens"] is None and context.operation.path != "/v1/messages":
            body["max_tokens"] = 8
    return body
