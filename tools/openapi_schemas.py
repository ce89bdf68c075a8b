"""JSON schemas of the members of the endpoints' requests, and of the endpoints' responses.

tools/generate_openapi.py puts them together with the texts of docs/reference/openai.md, anthropic.md and gemini.md.
"""

TEXT = {"type": "string"}
FLAG = {"type": "boolean"}
OBJECT = {"type": "object"}
LARGEST_WHOLE = (1 << 53) - 1  # kLargestWhole of inferlets/endpoints/members.h


def ref(name):
    return {"$ref": f"#/components/schemas/{name}"}


def whole(least, most):
    return {"type": "integer", "minimum": least, "maximum": most}


def number(least, most):
    return {"type": "number", "minimum": least, "maximum": most}


def only(*values):
    return {"enum": list(values)}


def array(items, least=0, most=None):
    return {"type": "array", "items": items, **({"minItems": least} if least else {}),
            **({"maxItems": most} if most is not None else {})}


def record(required, optional=None):
    """An object. In a request, `optional` members may also be null, and others may be there (opened)."""
    properties = {**required, **{name: nullable(each) for name, each in (optional or {}).items()}}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def opened(schema):
    """The schema of a request: the server leaves out members that it does not know."""
    if isinstance(schema, list):
        return [opened(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: opened(each) for name, each in schema.items()
            if not (name == "additionalProperties" and each is False)}


def with_flags(schema, more):
    """The object of a response with members that are there only if the operator asks for them."""
    return {**schema, "properties": {**schema["properties"], **more}}


def nullable(schema):
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def any_of(*schemas):
    return {"anyOf": list(schemas)}


SOME_TEXT = {"type": "string", "minLength": 1}
MODEL = {**SOME_TEXT, "examples": ["smollm2-135m-instruct"]}
TOKEN = whole(0, (1 << 32) - 1)
SEED = whole(-(1 << 63) + 513, (1 << 63) - 513)  # What rounds to a double within read_seed().
STOP = any_of(SOME_TEXT, array(SOME_TEXT, most=16))
TOOL_NAME = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}
LONG_TOOL_NAME = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$"}
# A service that this server lacks: it is left out.
OTHER_TOOL = {"type": "object", "required": ["type"], "properties": {"type": {**SOME_TEXT, "not": {
    "enum": ["function", "custom", "namespace"]}}}}
JSON_SCHEMA = {"type": "object", "description": "A JSON schema (docs/guide/grammars.md says what is enforced)."}

# ---- requests ----------------------------------------------------------------------------------------------------------

DRAWING = {  # Of all endpoints of OpenAI.
    "stream": FLAG,
    "seed": SEED,
    "temperature": number(0, 2),
    "top_p": number(0, 1),
    "stop": STOP,
    "logit_bias": {"type": "object", "propertyNames": {"pattern": "^[0-9]{1,9}$"}, "maxProperties": 1024,
                   "additionalProperties": number(-100, 100)},
    "presence_penalty": number(-2, 2),
    "frequency_penalty": number(-2, 2),
    "top_k": whole(0, (1 << 31) - 1),
    "min_p": number(0, 1),
    "repetition_penalty": number(0.01, 100),
    "ignore_eos": FLAG,
}

CHOICES = {  # Of the endpoints that give several answers.
    "stream_options": record({}, {"include_usage": FLAG, "include_obfuscation": FLAG}),
    "n": whole(1, 128),
    "return_progress": FLAG,
}
KEEPING = {
    "prompt_cache_key": TEXT,
    "prompt_cache_retention": TEXT,
    "prompt_cache_options": record({}, {"ttl": TEXT}),
}
ACCEPTED = {
    "user": TEXT,
    "safety_identifier": TEXT,
    "metadata": OBJECT,
    "store": FLAG,
    "service_tier": TEXT,
}
CACHE_CONTROL = record({"type": only("ephemeral")}, {"ttl": only("5m", "1h")})
ANSWER_SCHEMA = {"schema": JSON_SCHEMA}, {"name": TEXT, "description": TEXT, "strict": FLAG}
FUNCTION_CHOICE = record({"type": only("function"), "name": SOME_TEXT}, {"namespace": TEXT})

# Document, heading of its section, the name of the request's schema, the members that must be there, and all of them.
REQUESTS = {
    "ChatRequest": ("openai.md", "Chat completions", ["model", "messages"], {
        **DRAWING, **CHOICES, **KEEPING,
        "model": MODEL,
        "messages": array(ref("ChatMessage"), 1),
        "max_tokens": whole(1, LARGEST_WHOLE),
        "max_completion_tokens": whole(1, LARGEST_WHOLE),
        "logprobs": FLAG,
        "top_logprobs": whole(0, 20),
        "tools": array(any_of(ref("ChatTool"), OTHER_TOOL)),
        "tool_choice": any_of(only("none", "auto", "required"), record(
            {"type": only("function"), "function": record({"name": TOOL_NAME})}), record(
            {"type": only("allowed_tools"), "allowed_tools": record(
                {"mode": only("auto", "required"), "tools": array(ref("ChatTool"), 1)})})),
        "parallel_tool_calls": FLAG,
        "response_format": any_of(
            record({"type": only("text", "json_object")}),
            record({"type": only("json_schema"), "json_schema": record(*ANSWER_SCHEMA)})),
        "modalities": array(only("text")),
        **ACCEPTED,
        "prediction": record({"type": only("content"), "content": any_of(
            TEXT, array(record({"type": only("text"), "text": TEXT})))}),
        "reasoning_effort": TEXT,
        "chat_template_kwargs": OBJECT,
        "verbosity": TEXT,
    }),
    "CompletionRequest": ("openai.md", "Completions", ["model", "prompt"], {
        **DRAWING, **CHOICES, **KEEPING,
        "model": MODEL,
        "prompt": any_of(SOME_TEXT, array(SOME_TEXT, 1, 128), array(TOKEN, 1), array(array(TOKEN, 1), 1, 128)),
        "max_tokens": whole(0, LARGEST_WHOLE),
        "best_of": whole(1, 128),
        "echo": FLAG,
        "logprobs": whole(0, 20),
        **ACCEPTED,
        "prediction": OBJECT,
    }),
    "ResponseRequest": ("openai.md", "Responses", ["model", "input"], {
        **DRAWING, **KEEPING,
        "model": MODEL,
        "input": any_of(TEXT, array(ref("InputItem"), 1)),
        "instructions": TEXT,
        "previous_response_id": TEXT,
        "background": FLAG,
        "store": FLAG,
        "metadata": {"type": "object", "maxProperties": 16, "propertyNames": {"maxLength": 64},
                     "additionalProperties": {**TEXT, "maxLength": 512}},
        "max_output_tokens": whole(1, LARGEST_WHOLE),
        "text": record({}, {"format": any_of(
            record({"type": only("text", "json_object")}),
            record({"type": only("json_schema"), **ANSWER_SCHEMA[0]}, ANSWER_SCHEMA[1])), "verbosity": TEXT}),
        "tools": array(any_of(ref("FunctionTool"), OTHER_TOOL, record(
            {"type": only("namespace"), "name": TOOL_NAME}, {"description": TEXT, "tools": array(ref("FunctionTool"))}))),
        "tool_choice": any_of(only("none", "auto", "required"), FUNCTION_CHOICE, record(
            {"type": only("allowed_tools"), "mode": only("auto", "required"), "tools": array(FUNCTION_CHOICE, 1)})),
        "parallel_tool_calls": FLAG,
        "include": array(TEXT),
        "top_logprobs": whole(0, 20),
        "truncation": only("disabled", "auto"),
        "service_tier": TEXT,
        "user": TEXT,
        "safety_identifier": TEXT,
        "max_tool_calls": whole(0, LARGEST_WHOLE),
        "background_options": OBJECT,
        "stream_options": OBJECT,
        "reasoning": record({}, {"effort": TEXT}),
        "chat_template_kwargs": OBJECT,
    }),
    "MessagesRequest": ("anthropic.md", "Messages", ["model", "messages", "max_tokens"], {
        "model": MODEL,
        "messages": array(ref("Message"), 1),
        "system": any_of(TEXT, array(ref("TextBlock"))),
        "max_tokens": whole(0, LARGEST_WHOLE),
        "stream": FLAG,
        "stop_sequences": array(SOME_TEXT, most=16),
        "temperature": number(0, 1),
        "top_p": number(0, 1),
        "top_k": whole(0, (1 << 31) - 1),
        "seed": SEED,
        "tools": array(any_of(ref("Tool"), OTHER_TOOL)),
        "tool_choice": record({"type": only("auto", "any", "none", "tool")},
                              {"name": TEXT, "disable_parallel_tool_use": FLAG}),
        "output_config": record({}, {"format": record({"type": only("json_schema"), "schema": JSON_SCHEMA}), "effort": TEXT}),
        "thinking": record({"type": SOME_TEXT}, {"budget_tokens": whole(1, LARGEST_WHOLE), "display": TEXT}),
        "service_tier": TEXT,
        "speed": TEXT,
        "metadata": OBJECT,
        "cache_control": CACHE_CONTROL,
        "chat_template_kwargs": OBJECT,
    }),
}

REQUESTS["GenerateContentRequest"] = ("gemini.md", "Content", ["contents"], {
    "contents": array(ref("Content"), 1),
    "systemInstruction": ref("SystemContent"),
    "tools": array(record({}, {"functionDeclarations": array(ref("FunctionDeclaration"))})),
    "toolConfig": record({}, {"functionCallingConfig": record(
        {}, {"mode": only("AUTO", "ANY", "NONE", "VALIDATED"), "allowedFunctionNames": array(SOME_TEXT)})}),
    "generationConfig": ref("GenerationConfig"),
    "chat_template_kwargs": OBJECT,
    "model": TEXT,
    "safetySettings": array({}),
    "labels": OBJECT,
    "serviceTier": TEXT,
    "store": FLAG,
})
REQUESTS["GenerationConfig"] = ("gemini.md", "Generation config", [], {
    "maxOutputTokens": whole(1, LARGEST_WHOLE),
    "temperature": number(0, 2),
    "topP": number(0, 1),
    "topK": whole(0, LARGEST_WHOLE),
    "seed": SEED,
    "stopSequences": array(SOME_TEXT, most=16),
    "candidateCount": whole(1, 8),
    "presencePenalty": number(-2, 2),
    "frequencyPenalty": number(-2, 2),
    "responseMimeType": only("text/plain", "application/json", "text/x.enum"),
    "responseSchema": OBJECT,
    "responseJsonSchema": JSON_SCHEMA,
    "responseLogprobs": FLAG,
    "logprobs": whole(0, 20),
    "thinkingConfig": record({}, {"includeThoughts": FLAG, "thinkingBudget": whole(-1, LARGEST_WHOLE),
                                  "thinkingLevel": only("MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH")}),
    "responseModalities": array(only("TEXT")),
    "mediaResolution": TEXT,
})

# Requests without a table: the members that must be there, and those that may be.
MESSAGES = REQUESTS["MessagesRequest"][3]
CHAT = REQUESTS["ChatRequest"][3]
FURTHER_REQUESTS = {
    "CountTokensRequest": record(
        {name: MESSAGES[name] for name in ("model", "messages")},
        {name: MESSAGES[name] for name in ("system", "tools", "tool_choice", "output_config", "thinking",
                                           "cache_control", "speed", "chat_template_kwargs")}),
    "GeminiCountRequest": any_of(ref("GenerateContentRequest"),
                                 record({"generateContentRequest": ref("GenerateContentRequest")})),
    "EmbeddingsRequest": record({"model": MODEL}),
    "TokenizeRequest": record({}, {"content": TEXT, "prompt": TEXT, "model": MODEL, "add_special": FLAG,
                                   "add_special_tokens": FLAG, "parse_special": FLAG}),
    "DetokenizeRequest": record({"tokens": array(TOKEN)}, {"model": MODEL}),
    "ApplyTemplateRequest": record(
        {"messages": CHAT["messages"]},
        {"model": MODEL, "tools": CHAT["tools"], "tool_choice": CHAT["tool_choice"],
         "parallel_tool_calls": FLAG, "add_generation_prompt": FLAG, "chat_template_kwargs": OBJECT}),
}

_CACHED = {"cache_control": CACHE_CONTROL}
_ITEM = {"id": TEXT, "status": {}}


def _parts(*types):
    """A text, or parts of these types."""
    return any_of(TEXT, array(any_of(*(record({"type": only(each), "refusal" if each == "refusal" else "text": TEXT}) for each in types))))


_PART = {"thought": FLAG, "thoughtSignature": TEXT, "partMetadata": OBJECT}
PARTS = {
    "ChatMessage": {"type": "object", "required": ["role"], "properties": {
        "role": only("system", "developer", "user", "assistant", "tool"),
        "content": any_of(TEXT, array(ref("ChatPart")), {"type": "null"}),
        "tool_calls": nullable(array(ref("EarlierCall"))),
        "tool_call_id": nullable(TEXT), "name": nullable(TEXT), "reasoning_content": nullable(TEXT),
        "refusal": {}, "annotations": {}},
        "description": "content may be absent or null beside tool_calls alone."},
    "ChatPart": any_of(record({"type": only("text"), "text": TEXT}),
                       record({"type": only("refusal"), "refusal": TEXT})),
    "EarlierCall": record({"function": record({"name": SOME_TEXT, "arguments": {
        **TEXT, "contentMediaType": "application/json"}})},
        {"id": TEXT, "type": only("function")}),
    "ChatTool": record({"type": only("function"), "function": record(
        {"name": TOOL_NAME}, {"description": TEXT, "parameters": JSON_SCHEMA, "strict": FLAG})}),
    "InputItem": any_of(
        record({"role": only("user", "assistant", "system", "developer"),
                "content": _parts("input_text", "output_text", "text", "refusal")},
               {"type": only("message"), "phase": {}, **_ITEM}),
        record({"type": only("function_call"), "call_id": SOME_TEXT, "name": SOME_TEXT},
               {"arguments": {**TEXT, "contentMediaType": "application/json"}, "namespace": TEXT, **_ITEM}),
        record({"type": only("item_reference"), "id": SOME_TEXT}),
        record({"type": only("function_call_output"), "call_id": SOME_TEXT, "output": _parts("input_text", "text")},
               _ITEM),
        record({"type": only("reasoning")}, {"content": _parts("reasoning_text", "text"), "summary": {},
                                             "encrypted_content": {}, **_ITEM})),
    "FunctionTool": record({"type": only("function"), "name": LONG_TOOL_NAME},
                           {"description": TEXT, "parameters": JSON_SCHEMA, "strict": FLAG, "defer_loading": {}}),
    "TextBlock": record({"type": only("text"), "text": TEXT}, {"citations": {}, **_CACHED}),
    "Message": record({"role": only("user", "assistant", "system"),
                       "content": any_of(TEXT, array(ref("ContentBlock")))}),
    "ContentBlock": any_of(
        ref("TextBlock"),
        record({"type": only("tool_use"), "id": TEXT, "name": SOME_TEXT, "input": OBJECT}, _CACHED),
        record({"type": only("tool_result"), "tool_use_id": TEXT},
               {"content": any_of(TEXT, array(ref("TextBlock"))), "is_error": FLAG, **_CACHED}),
        record({"type": only("thinking", "redacted_thinking")})),
    "Tool": record({"name": LONG_TOOL_NAME, "input_schema": JSON_SCHEMA},
                   {"type": only("custom"), "description": TEXT, "strict": FLAG, "defer_loading": {},
                    "eager_input_streaming": {}, **_CACHED}),
    "Content": record({"parts": array(ref("Part"), 1)}, {"role": only("user", "model", "function")}),
    "SystemContent": record({"parts": array(record({"text": TEXT}), 1)}, {"role": TEXT}),
    "Part": any_of(
        record({"text": TEXT}, _PART),
        record({"functionCall": record({"name": SOME_TEXT}, {"id": TEXT, "args": OBJECT})}, _PART),
        record({"functionResponse": record({"name": SOME_TEXT, "response": OBJECT}, {"id": TEXT})}, _PART)),
    "FunctionDeclaration": record({"name": {"type": "string", "pattern": "^[a-zA-Z0-9_.:-]{1,128}$"}},
                                  {"description": TEXT, "parameters": OBJECT, "parametersJsonSchema": JSON_SCHEMA,
                                   "response": {}, "responseJsonSchema": {}, "behavior": {}}),
}

# ---- responses ---------------------------------------------------------------------------------------------------------

COUNT = {"type": "integer", "minimum": 0}
_NULL = {"type": "null"}
_MAYBE_TEXT = nullable(TEXT)


def response(members, optional=None):
    return record(members, optional)


_IDENTITY = {"id": TEXT, "created": COUNT, "model": TEXT, "system_fingerprint": TEXT}
_FINISH = only("stop", "length", "tool_calls")
_TOKEN = {"token": TEXT, "logprob": {"type": "number", "maximum": 0}, "bytes": array(whole(0, 255))}
_LOGPROBS = any_of(_NULL, record({"content": array(record(
    {**_TOKEN, "top_logprobs": array(record(_TOKEN), most=20)})), "refusal": _NULL}))
_CALL = record({"id": TEXT, "type": only("function"), "function": record({"name": TEXT, "arguments": TEXT})})
_TEXT_LOGPROBS = any_of(_NULL, record({
    "tokens": array(TEXT), "token_logprobs": array({"type": "number"}), "text_offset": array(COUNT),
    "top_logprobs": array({"type": "object", "additionalProperties": {"type": "number"}})}))
_CACHE_FIGURES = {  # docs/guide/endpoints.md, "The cache of prompts".
    "cache_misses": {"description": "With quire serve --explain-misses.", **array(with_flags(
        record({"position": COUNT, "tokens": COUNT, "reason": only(
            "never-seen", "differs", "evicted", "not-in-pool", "opaque", "in-flight", "off", "no-state", "unknown")}),
        {"gone_ms": COUNT, "differs_at": COUNT, "wanted": TEXT, "cached": TEXT}))},
    "prompt_repair_moved_lines": {"description": "With quire serve --prompt-repair.", "type": "integer", "minimum": 1},
}
_OUTPUT_STATUS = only("completed", "incomplete")
_LISTED = {"object": only("list"), "has_more": FLAG, "first_id": TEXT, "last_id": TEXT}
_CONTENT = {
    "candidates": array(record(
        {"content": record({"parts": array(OBJECT), "role": only("model")}), "index": COUNT},
        {"finishReason": TEXT, "finishMessage": TEXT, "avgLogprobs": {"type": "number"}, "logprobsResult": OBJECT}), 1),
    "modelVersion": TEXT, "responseId": TEXT}
_CONTENT_USAGE = {"type": "object", "required": ["promptTokenCount", "candidatesTokenCount", "totalTokenCount"],
                  "properties": {name: COUNT for name in (
                      "promptTokenCount", "cachedContentTokenCount", "candidatesTokenCount",
                      "thoughtsTokenCount", "totalTokenCount")}}

RESPONSES = {
    "Usage": with_flags(response({
        "prompt_tokens": COUNT, "completion_tokens": COUNT, "total_tokens": COUNT,
        "prompt_tokens_details": record({"cached_tokens": COUNT})}), {
            "completion_tokens_details": {"description": "With a prediction.", **record({
                "accepted_prediction_tokens": COUNT, "rejected_prediction_tokens": COUNT})},
            **_CACHE_FIGURES}),
    "ResponseUsage": with_flags(response({
        "input_tokens": COUNT, "input_tokens_details": record({"cached_tokens": COUNT, "cache_write_tokens": COUNT}),
        "output_tokens": COUNT, "output_tokens_details": record({"reasoning_tokens": COUNT}),
        "total_tokens": COUNT}), _CACHE_FIGURES),
    "OutputItem": any_of(
        response({"id": TEXT, "type": only("message"), "role": only("assistant"), "status": _OUTPUT_STATUS,
                  "content": array(record({
                      "type": only("output_text"), "text": TEXT, "annotations": array({}, most=0),
                      "logprobs": array(record({**_TOKEN, "top_logprobs": array(record(_TOKEN), most=20)}))}))}),
        response({"id": TEXT, "type": only("reasoning"), "status": _OUTPUT_STATUS, "summary": array({}, most=0),
                  "content": array(record({"type": only("reasoning_text"), "text": TEXT}))}),
        response({"id": TEXT, "type": only("function_call"), "status": _OUTPUT_STATUS, "call_id": TEXT, "name": TEXT,
                  "arguments": TEXT}),
        response({"id": TEXT, "type": only("function_call"), "status": _OUTPUT_STATUS, "call_id": TEXT, "name": TEXT,
                  "namespace": TEXT, "arguments": TEXT})),
    "Response": response({
        "id": TEXT, "object": only("response"), "created_at": COUNT, "completed_at": nullable(COUNT), "model": TEXT,
        "status": only("queued", "in_progress", "completed", "incomplete", "failed", "cancelled"),
        "output": array(ref("OutputItem")), "usage": nullable(ref("ResponseUsage")),
        "error": nullable(record({"code": TEXT, "message": TEXT})),
        "incomplete_details": nullable(record({"reason": only("max_output_tokens")})), "store": FLAG,
        "metadata": {"type": "object", "additionalProperties": TEXT}, "instructions": _MAYBE_TEXT,
        "max_output_tokens": nullable(COUNT), "max_tool_calls": nullable(COUNT), "previous_response_id": _MAYBE_TEXT,
        "prompt_cache_key": _MAYBE_TEXT, "safety_identifier": _MAYBE_TEXT, "user": _MAYBE_TEXT,
        "temperature": number(0, 2), "top_p": number(0, 1), "top_logprobs": whole(0, 20), "tools": array(OBJECT),
        "tool_choice": any_of(TEXT, OBJECT), "text": record({"format": OBJECT}),
        "reasoning": record({"effort": _MAYBE_TEXT, "summary": _NULL}), "parallel_tool_calls": FLAG, "background": FLAG,
        "truncation": only("disabled"), "service_tier": only("default")}),
    "DeletedResponse": response({"id": TEXT, "object": only("response"), "deleted": only(True)}),
    "KeptItem": {
        "type": "object", "required": ["id", "type"], "properties": {
            "id": TEXT, "type": SOME_TEXT},
        "description": "An InputItem as the server keeps it, with an id."},
    "InputItemList": response({**_LISTED, "data": array(ref("KeptItem"), most=100)}),
    "InputTokenCount": response({"object": only("response.input_tokens"), "input_tokens": COUNT}),
    "ChatCompletion": response({**_IDENTITY, "object": only("chat.completion"), "usage": ref("Usage"), "choices": array(
        record({"index": COUNT, "finish_reason": _FINISH, "logprobs": _LOGPROBS, "message": {
            "type": "object", "required": ["role", "content", "refusal"], "additionalProperties": False, "properties": {
                "role": only("assistant"), "content": {"type": ["string", "null"]}, "refusal": _NULL,
                "reasoning_content": TEXT, "tool_calls": array(_CALL, 1)}}}), 1, 128)}),
    "ChatCompletionChunk": response({**_IDENTITY, "object": only("chat.completion.chunk"), "choices": array(
        record({"index": COUNT, "finish_reason": any_of(_FINISH, _NULL), "logprobs": _LOGPROBS, "delta": OBJECT}))},
        {"usage": ref("Usage"), "prompt_progress": record(
            {"total": COUNT, "cache": COUNT, "processed": COUNT, "time_ms": COUNT})}),
    "Completion": response({**_IDENTITY, "object": only("text_completion"), "usage": ref("Usage"), "choices": array(
        record({"index": COUNT, "text": TEXT, "finish_reason": only("stop", "length"), "logprobs": _TEXT_LOGPROBS}),
        1, 128)}),
    "MessageAnswer": response({
        "id": TEXT, "type": only("message"), "role": only("assistant"), "model": TEXT,
        "content": array(any_of(record({"type": only("text"), "text": TEXT}),
                                record({"type": only("thinking"), "thinking": TEXT, "signature": TEXT}),
                                record({"type": only("tool_use"), "id": TEXT, "name": TEXT, "input": OBJECT}))),
        "stop_reason": only("end_turn", "max_tokens", "stop_sequence", "tool_use", "model_context_window_exceeded"),
        "stop_sequence": _MAYBE_TEXT, "usage": with_flags(record(
            {"input_tokens": COUNT, "cache_creation_input_tokens": COUNT, "cache_read_input_tokens": COUNT,
             "output_tokens": COUNT}), _CACHE_FIGURES)}),
    "TokenCount": response({"input_tokens": COUNT}),
    "Model": response({"id": TEXT, "object": only("model"), "created": COUNT, "owned_by": TEXT, "type": only("model"),
                       "display_name": TEXT, "created_at": TEXT, "lifecycle": TEXT, "max_input_tokens": COUNT,
                       "max_model_len": COUNT}),
    "ModelList": response({"object": only("list"), "data": array(ref("Model"), 1), "has_more": only(False),
                           "first_id": TEXT, "last_id": TEXT}),
    "Tokens": response({"tokens": array(TOKEN), "count": COUNT, "max_model_len": COUNT}),
    "Text": response({"content": TEXT, "prompt": TEXT}),
    "Prompt": response({"prompt": TEXT}),
    "Health": response({"status": only("ok")}),
    "NotReady": response({"status": only("loading", "full", "shutting-down", "stalled"), "reason": TEXT}),
    "Server": response({"server": only("quire"), "version": TEXT, "websocket": TEXT, "subprotocol": TEXT,
                        "endpoints": array(TEXT)}),
    "OpenAiError": response({"error": record({"message": TEXT, "type": TEXT, "param": {"type": ["string", "null"]},
                                              "code": {"type": ["string", "null"]}})}),
    "AnthropicError": response({"type": only("error"), "error": record({"type": TEXT, "message": TEXT}),
                                "request_id": TEXT}),
    "GenerateContentResponse": response({**_CONTENT, "usageMetadata": _CONTENT_USAGE}),
    "GenerateContentChunk": response(_CONTENT, {"usageMetadata": {
        **_CONTENT_USAGE, "description": "The last chunk has it."}}),
    "GeminiTokenCount": response({"totalTokens": COUNT, "promptTokensDetails": array(OBJECT)}),
    "GeminiModel": response({"name": TEXT, "baseModelId": TEXT, "version": TEXT, "displayName": TEXT, "description": TEXT,
                             "inputTokenLimit": COUNT, "outputTokenLimit": COUNT,
                             "supportedGenerationMethods": array(TEXT), "temperature": COUNT, "maxTemperature": COUNT,
                             "topP": COUNT, "topK": COUNT}),
    "GeminiModelList": record({"models": array(ref("GeminiModel"))}, {"nextPageToken": TEXT}),
    "GeminiError": response({"error": record({"code": COUNT, "message": TEXT, "status": TEXT, "details": array({}, most=0)})}),
    "ServerError": {"description": "A refusal of the server itself, before a program has the request.",
                    **record({"error": {"type": "object", "required": ["code", "message"], "properties": {
                        "code": TEXT, "message": TEXT, "retry_after_ms": COUNT, "request_id": TEXT}}})},
}
