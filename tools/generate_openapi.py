#!/usr/bin/env python3
"""Writes docs/reference/openapi.json: the endpoints of `quire serve` as an OpenAPI 3.1 document.

    generate_openapi.py           writes it
    generate_openapi.py --check   fails if the checked-in file differs from what would be written

The texts of members come from the tables of docs/reference/openai.md, anthropic.md and gemini.md, and the schemas from
openapi_schemas.py. A member that only one of them has is an error. Members that an endpoint refuses are in no schema.
"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import openapi_schemas as schemas  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"
TARGET = FOLDER / "openapi.json"
CODE = re.compile(r"`([^`]*)`")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")

REFUSALS = {  # Of the server, at any path.
    400: "The request is malformed.",
    401: "The server has keys, and the request has none that it knows.",
    403: "The key lacks the right, the Host header is not this server, or the origin of the page is not allowed.",
    405: "The path takes other methods.",
    408: "The body came too slowly.",
    413: "The body is too large, as it was sent or once it is decoded.",
    415: "The body has another content coding than gzip, deflate or zstd, or two.",
    429: "The tenant of the caller has all instances or all memory that it may have.",
    431: "The head is too long.",
    503: "The server is full, or is shutting down.",
}
FORMED = (400, 401, 403, 408, 413, 415, 429, 503)  # They have the form of the interface at the path.
SECURITY = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A key of the server (docs/operate/access.md)."},
    "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key",
               "description": "The same key, as Anthropic's clients send it."},
    "googleApiKey": {"type": "apiKey", "in": "header", "name": "x-goog-api-key",
                     "description": "The same key, as Gemini's clients send it."},
}


def tables(document, heading):
    """{"honored": {member: (example, text)}, ...} of a section of a document."""
    section = (FOLDER / document).read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found, kind = {}, None
    for line in section.splitlines():
        if not line.startswith("|"):
            kind = None
            continue
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if kind is None:
            kind = cells[0]
            found[kind] = {}
        elif not cells[0].startswith("-"):
            member, example = CODE.search(cells[0]).group(1), json.loads(CODE.search(cells[1]).group(1))
            text = LINK.sub(r"\1", cells[2]) if len(cells) > 2 else ""
            found[kind][member] = (example, text.strip("| "))
    return found


def request_schema(name):
    document, heading, required, members = schemas.REQUESTS[name]
    rows = tables(document, heading)
    taken = {**rows["honored"], **rows["accepted"]}
    if set(taken) != set(members):
        raise SystemExit(f"{name}: {sorted(set(taken) ^ set(members))} is in {document} or in openapi_schemas.py alone")
    out = schemas.record({each: members[each] for each in required},
                         {each: members[each] for each in taken if each not in required})
    for member, (example, text) in taken.items():
        asks_nothing = "Asks nothing of the output." if member in rows["accepted"] else ""
        description = ". ".join(each for each in (text.rstrip("."), asks_nothing) if each)
        if description:
            out["properties"][member] = {**out["properties"][member], "description": description}
    out["properties"] = {each: out["properties"][each] for each in taken}  # In the order of the tables.
    return out


def json_content(name):
    return {"application/json": {"schema": schemas.ref(name)}}


def refusals(error, statuses):
    """`error`: the schema of the errors of the endpoint itself, if it has any."""
    out = {}
    for status, text in {**REFUSALS, **statuses}.items():
        both = error and (status in statuses or status in FORMED)
        schema = schemas.any_of(schemas.ref(error), schemas.ref("ServerError")) if both else schemas.ref("ServerError")
        out[str(status)] = {"description": text, "content": {"application/json": {"schema": schema}}}
    return dict(sorted(out.items()))


def operation(summary, tag, answer, error=None, request=None, statuses=None, streams=None):
    """`streams`: what the data of each server-sent event is, if the endpoint can stream."""
    out = {"summary": summary, "tags": [tag], "operationId": re.sub(r"\W+", "_", summary.lower()).strip("_")}
    if request:
        out["requestBody"] = {"required": True, "content": json_content(request)}
    responses = refusals(error, statuses or {})
    if answer:
        content = json_content(answer)
        if streams:
            content["text/event-stream"] = {"schema": {"description": f"Server-sent events. {streams}"}}
        responses = {"200": {"description": "The answer.", "content": content}, **responses}
    return {**out, "responses": responses}


NO_MODEL = {404: "The model is not there; the message names those that are."}
TIMEOUT = {504: "The program did not answer in time."}


CHUNKS = "The data of each is a {}; the last is [DONE]."


def openai_operation(summary, answer, request, streams=None):
    return operation(summary, "OpenAI", answer, "OpenAiError", request, {**NO_MODEL, **TIMEOUT}, streams)


def parameter(name, schema, text, default=None):
    return {"name": name, "in": "query", "schema": schema if default is None else {**schema, "default": default},
            "description": text}


def response_paths():
    """The paths of responses, with those of responses that are kept."""
    events = "The data of each has a type and a sequence_number."
    quota = {429: "The tenant has all instances or all memory, or keeps as many responses, as it may."}
    method = {405: "The path takes other methods."}  # The program says so, because it has all paths below.
    unknown = {404: "The server has no such response; it may have expired, or been deleted.", **method, **TIMEOUT}
    one = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^resp_[0-9a-z]+$"}}

    def kept(summary, answer, streams=None, query=None):
        out = operation(summary, "OpenAI", answer, "OpenAiError", None, unknown, streams)
        return {**out, "parameters": query} if query else out

    return {
        "/v1/responses": {"post": operation("Create a response", "OpenAI", "Response", "OpenAiError", "ResponseRequest",
                                            {**NO_MODEL, **TIMEOUT, **quota}, events)},
        "/v1/responses/input_tokens": {"post": operation(
            "Count the tokens of a response", "OpenAI", "InputTokenCount", "OpenAiError", "ResponseRequest",
            {**NO_MODEL, **method, **TIMEOUT})},
        "/v1/responses/{id}": {
            "parameters": [one],
            "get": kept("Retrieve a response", "Response", events, [
                parameter("stream", {"type": "boolean"}, "The events of a response in the background.", False),
                parameter("starting_after", schemas.whole(0, schemas.LARGEST_WHOLE),
                          "With stream: the events that come after the one of this number."),
                parameter("include_obfuscation", {"type": "boolean"}, "Accepted; it adds nothing.", False)]),
            "delete": kept("Delete a response", "DeletedResponse")},
        "/v1/responses/{id}/input_items": {"parameters": [one], "get": kept(
            "List the items that the model read", "InputItemList", None, [
                parameter("limit", schemas.whole(1, 100), "The maximum number of items.", 20),
                parameter("order", schemas.only("asc", "desc"), "desc begins with the last item.", "desc"),
                parameter("after", {"type": "string"}, "The id of an item: the list begins after it.")])},
        "/v1/responses/{id}/cancel": {"parameters": [one], "post": kept("Cancel a response", "Response")},
    }


def anthropic_operation(summary, answer, request, streams=None):
    overloaded = {529: "The server is full; retry-after says when to come again."}
    statuses = {**NO_MODEL, **TIMEOUT, **overloaded}
    return operation(summary, "Anthropic", answer, "AnthropicError", request, statuses, streams)


def gemini_operation(summary, answer, request=None, streams=None):
    # The program has all paths below, so it refuses other methods of HTTP itself.
    statuses = {**NO_MODEL, **TIMEOUT, 405: REFUSALS[405]}
    return operation(summary, "Gemini", answer, "GeminiError", request, statuses, streams)


def gemini_paths():
    model = {"name": "model", "in": "path", "required": True, "schema": schemas.MODEL}
    alt = {"name": "alt", "in": "query", "schema": schemas.only("json", "sse"),
           "description": "sse: server-sent events; json: an array of the chunks, element by element."}
    size = parameter("pageSize", schemas.whole(0, schemas.LARGEST_WHOLE), "The maximum number of models.", 50)
    token = parameter("pageToken", schemas.TEXT, "The nextPageToken of the page before.")
    out = {"/v1beta/models": {"get": {**gemini_operation("List the models for Gemini", "GeminiModelList"),
                                      "parameters": [size, token]}},
           "/v1beta/models/{model}": {"parameters": [model], "get": gemini_operation(
               "Retrieve a model for Gemini", "GeminiModel")}}
    for place, what in (("/v1beta/models", ""), ("/v1beta/tunedModels", " of a tuned model"), ("/v1/models", " by version 1")):
        base = place + "/{model}:"
        stream = gemini_operation("Stream content" + what, "GenerateContentResponse", "GenerateContentRequest",
                                  "The data of each is a GenerateContentChunk.")
        chunk = schemas.any_of(schemas.ref("GenerateContentChunk"), schemas.ref("GeminiError"))  # An error is the last.
        chunks = {"application/json": {"schema": schemas.array(chunk)}}
        stream["responses"]["200"]["content"].update(chunks)
        out[base + "generateContent"] = {"parameters": [model], "post": gemini_operation(
            "Generate content" + what, "GenerateContentResponse", "GenerateContentRequest")}
        out[base + "streamGenerateContent"] = {"parameters": [model], "post": {**stream, "parameters": [alt]}}
        out[base + "countTokens"] = {"parameters": [model], "post": gemini_operation(
            "Count the tokens of content" + what, "GeminiTokenCount", "GeminiCountRequest")}
    return out


def model_operation(summary, answer):
    # The errors have the form of the client.
    out = operation(summary, "Models", answer, None, None, NO_MODEL)
    errors = [schemas.ref(each) for each in ("OpenAiError", "AnthropicError", "ServerError")]
    for status, each in out["responses"].items():
        if status == "404" or int(status) in FORMED:
            each["content"]["application/json"]["schema"] = {"anyOf": errors}
    return out


def open_operation(summary):
    """Returns an operation that needs no key, since load balancers ask it."""
    out = {**operation(summary, "Server", "Health"), "security": []}
    del out["responses"]["401"], out["responses"]["503"]
    out["responses"]["503"] = {"description": "The server takes no work now.", "content": json_content("NotReady")}
    return out


def metrics_operation():
    out = operation("Report the metrics", "Server", None)
    page = {"description": "Text of Prometheus 0.0.4.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    return {**out, "responses": {"200": page, **out["responses"]}}


def paths():
    model = {"name": "model", "in": "path", "required": True, "schema": schemas.MODEL}
    return {
        "/v1/models": {"get": model_operation("List the models", "ModelList")},
        "/v1/models/{model}": {"parameters": [model], "get": model_operation("Retrieve a model", "Model")},
        "/v1/chat/completions": {"post": openai_operation("Answer a conversation", "ChatCompletion", "ChatRequest",
                                                           CHUNKS.format("ChatCompletionChunk"))},
        "/v1/completions": {"post": openai_operation("Continue a text", "Completion", "CompletionRequest",
                                                      CHUNKS.format("part of a Completion"))},
        **response_paths(),
        "/v1/embeddings": {"post": openai_operation("Refuse to embed", None, "EmbeddingsRequest")},
        "/v1/messages": {"post": anthropic_operation("Answer a message", "MessageAnswer", "MessagesRequest",
                                                      "The data of each has a type, which is also its event.")},
        "/v1/messages/count_tokens": {"post": anthropic_operation(
            "Count the tokens of a message", "TokenCount", "CountTokensRequest")},
        **gemini_paths(),
        "/tokenize": {"post": openai_operation("Turn a text into tokens", "Tokens", "TokenizeRequest")},
        "/detokenize": {"post": openai_operation("Turn tokens into a text", "Text", "DetokenizeRequest")},
        "/apply-template": {"post": openai_operation(
            "Write a conversation as the prompt", "Prompt", "ApplyTemplateRequest")},
        "/health": {"get": open_operation("Report whether the server is up")},
        "/health/live": {"get": open_operation("Report that the process runs and its engine turns")},
        "/health/ready": {"get": open_operation("Report whether the server takes work")},
        "/metrics": {"get": metrics_operation()},
        "/": {"get": operation("Describe the server", "Server", "Server")},
    }


def document():
    asked = {**{name: request_schema(name) for name in schemas.REQUESTS}, **schemas.FURTHER_REQUESTS, **schemas.PARTS}
    components = {**schemas.opened(asked), **schemas.RESPONSES}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Quire", "version": "1", "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
                 "summary": "The endpoints that quire serve has without a flag.",
                 "description": "Written by tools/generate_openapi.py from docs/reference/openai.md, anthropic.md and gemini.md. "
                                "A member that is not in its schema is left out and named in the header x-quire-ignored, or refused."},
        "servers": [{"url": "http://127.0.0.1:7847"}],
        "tags": [{"name": each} for each in ("OpenAI", "Anthropic", "Gemini", "Models", "Server")],
        "security": [{}, *({each: []} for each in SECURITY)],  # A server without keys asks for none.
        "paths": paths(),
        "components": {"schemas": components, "securitySchemes": SECURITY},
    }


def main():
    wanted = json.dumps(document(), indent=1, ensure_ascii=False) + "\n"
    if sys.argv[1:] == ["--check"]:
        if not TARGET.exists() or TARGET.read_text() != wanted:
            raise SystemExit(f"{TARGET.relative_to(ROOT)} is not what tools/generate_openapi.py writes: run it")
    else:
        TARGET.write_text(wanted)


if __name__ == "__main__":
    main()
