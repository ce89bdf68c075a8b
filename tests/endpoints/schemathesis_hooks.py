"""Hooks of schemathesis: its requests name the model and a response that the server has, and ask for short answers.

What a request says of these is valid before and after, so a request that must be refused stays one. Without them nearly
every request would be refused for its model, and the rest would write until the context is full.
"""
import os
import re

import schemathesis

MODEL = os.environ["QUIRE_TEST_MODEL"]
RESPONSE = os.environ["QUIRE_TEST_RESPONSE"]
MOST = {"max_tokens": 8, "max_completion_tokens": 8, "max_output_tokens": 8, "n": 2, "best_of": 2}
LARGEST = {"n": 128, "best_of": 128}


@schemathesis.hook
def map_body(context, body):
    if not isinstance(body, dict):
        return body
    if isinstance(body.get("model"), str) and body["model"]:
        body["model"] = MODEL
    if isinstance(body.get("previous_response_id"), str):
        body["previous_response_id"] = RESPONSE
    for member, most in MOST.items():
        value = body.get(member)
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if is_whole and most < value <= LARGEST.get(member, (1 << 53) - 1):
            body[member] = most
    asks_for_answer = "model" in body and ("messages" in body or "prompt" in body)
    if asks_for_answer and "tokenize" not in context.operation.path and "template" not in context.operation.path:
        body.setdefault("max_tokens", 8)
        if body["max_tokens"] is None and context.operation.path != "/v1/messages":
            body["max_tokens"] = 8
    if "model" in body and "input" in body and body.get("max_output_tokens") is None:
        body["max_output_tokens"] = 8
    return body


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    is_kept = context.operation.method.lower() != "delete"  # No request deletes the one that all others name.
    if is_kept and path_parameters and re.fullmatch("resp_[0-9a-z]+", str(path_parameters.get("id"))):
        path_parameters["id"] = RESPONSE
    return path_parameters
