"""/v1beta/models/NAME:generateContent, :streamGenerateContent and :countTokens, and the models at /v1beta/models."""
import http.client
import json
import pathlib
import time

import harness
from harness import ADD
from parrot import parrot

DECLARATION = {"name": "add", "description": "Adds one.", "parameters": {
    "type": "OBJECT", "properties": {"a": {"type": "INTEGER", "minimum": 0, "maximum": 99}}, "required": ["a"]}}
TOOLS = [{"functionDeclarations": [DECLARATION]}]
QUESTION = [{"role": "user", "parts": [{"text": "Hello there"}]}]


def mode(name, *allowed):
    return {"functionCallingConfig": {"mode": name, **({"allowedFunctionNames": allowed} if allowed else {})}}


def joined(chunks):
    """The chunks of a stream as one response: texts that follow each other are one part."""
    candidates = {}
    for chunk in chunks:
        for each in chunk.get("candidates", []):
            candidate = candidates.setdefault(each["index"], {"content": {"parts": [], "role": "model"},
                                                              "index": each["index"]})
            for part in each["content"]["parts"]:
                parts = candidate["content"]["parts"]
                if part.get("text") == "":
                    continue
                if "text" in part and parts and "text" in parts[-1] and parts[-1].get("thought") == part.get("thought"):
                    parts[-1]["text"] += part["text"]
                else:
                    parts.append(part)
            for name in ("finishReason", "finishMessage"):
                if name in each:
                    candidate[name] = each[name]
    return {"candidates": [candidates[index] for index in sorted(candidates)],
            **{name: value for name, value in chunks[-1].items() if name != "candidates"}}


class GeminiBase(harness.EndpointTest):
    def request(self, contents=QUESTION, config=None, **members):
        return {"contents": contents, "generationConfig": {"maxOutputTokens": 8, "seed": 1, **(config or {})},
                **members}

    def path(self, method, model=None, query=""):
        return f"/v1beta/models/{model or self.name}:{method}{query}"

    def whole(self, body, model=None):
        return self.ok(self.path("generateContent", model), body).json

    def same(self, body, model=None):
        """The response, which is the same whole, as events and as an array."""
        whole = self.whole(body, model)
        events = self.ok(self.path("streamGenerateContent", model, "?alt=sse"), body)
        array = self.ok(self.path("streamGenerateContent", model), body)
        self.assertEqual(events.headers["content-type"], "text/event-stream")
        self.assertEqual(array.headers["content-type"], "application/json")
        for chunks in ([chunk for _, chunk in events.events], array.json):
            self.assertEqual(len({chunk["responseId"] for chunk in chunks}), 1)
            last = chunks[-1]
            self.assertTrue(all("usageMetadata" not in chunk for chunk in chunks[:-1]))
            self.assertTrue(all("finishReason" in each for each in last["candidates"]))
            streamed = joined(chunks)
            self.assertEqual(streamed["candidates"], whole["candidates"])
            for name in ("candidatesTokenCount", "promptTokenCount", "totalTokenCount"):
                self.assertEqual(streamed["usageMetadata"][name], whole["usageMetadata"][name], name)
        return whole

    def parts(self, response):
        candidate, = response["candidates"]
        return candidate["content"]["parts"]

    def refused(self, body, status=400, method="generateContent"):
        answer = self.post(self.path(method), body)
        self.assertEqual(answer.status, status, (body, answer.body[:500]))
        error = answer.json["error"]
        self.assertEqual((set(error), error["code"], error["details"]),
                         ({"code", "message", "status", "details"}, status, []))
        if status == 400:
            self.assertEqual(error["status"], "INVALID_ARGUMENT")
        return error["message"]


class GeminiTest(GeminiBase):
    def test_an_answer_is_the_same_whole_as_events_and_as_an_array(self):
        response = self.same(self.request())
        self.assertEqual(response["modelVersion"], self.name)
        candidate, = response["candidates"]
        self.assertEqual((candidate["finishReason"], candidate["index"], candidate["content"]["role"]),
                         ("MAX_TOKENS", 0, "model"))
        usage = response["usageMetadata"]
        self.assertEqual(usage["candidatesTokenCount"], 8)
        self.assertEqual(usage["totalTokenCount"], usage["promptTokenCount"] + 8)

    def test_each_candidate_of_several_has_its_index(self):
        response = self.same(self.request(config={"candidateCount": 3}))
        self.assertEqual([each["index"] for each in response["candidates"]], [0, 1, 2])
        self.assertEqual(response["usageMetadata"]["candidatesTokenCount"], 24)

    def test_members_are_taken_in_camel_case_and_in_snake_case(self):
        camel = {"systemInstruction": {"parts": [{"text": "Be short."}]}, "contents": QUESTION, "tools": TOOLS,
                 "generationConfig": {"maxOutputTokens": 8, "seed": 1, "topK": 5, "stopSequences": ["zz"]}}
        snake = {"system_instruction": {"parts": [{"text": "Be short."}]}, "contents": QUESTION,
                 "tools": [{"function_declarations": [DECLARATION]}],
                 "generation_config": {"max_output_tokens": 8, "seed": 1, "top_k": 5.0, "stop_sequences": ["zz"]}}
        one, other = self.same(camel), self.same(snake)
        self.assertEqual(one["candidates"], other["candidates"])
        self.assertEqual(one["usageMetadata"]["promptTokenCount"], other["usageMetadata"]["promptTokenCount"])
        message = self.refused({**self.request(), "generation_config": {}})
        self.assertTrue(message.startswith("generation_config: is there twice, also as \"generationConfig\""), message)
        message = self.refused(self.request(config={"topP": 0.5, "top_p": 0.5}))
        self.assertTrue(message.startswith("generationConfig.top_p: is there twice"), message)

    def test_a_stop_sequence_ends_the_answer(self):
        response = self.same(self.request(config={"stopSequences": ["e", "a", "o", "i"], "maxOutputTokens": 400}))
        self.assertEqual(response["candidates"][0]["finishReason"], "STOP")
        self.assertFalse(set("eaoi") & set("".join(part["text"] for part in self.parts(response))))

    def test_a_limit_beyond_the_context_ends_with_it(self):
        response = self.whole(self.request(config={"maxOutputTokens": 10 * self.context_length(), "temperature": 0}))
        usage = response["usageMetadata"]
        self.assertLessEqual(usage["totalTokenCount"], self.context_length())

    def test_tokens_of_the_prompt_are_counted_and_found(self):
        contents = [{"role": "user", "parts": [{"text": "A prompt that no other test has. " * 12}]}]
        count = self.ok(self.path("countTokens"), {"contents": contents}).json
        inner = {"generateContentRequest": {"model": "models/" + self.name, "contents": contents}}
        self.assertEqual(self.ok(self.path("countTokens"), inner).json, count)
        first, second = (self.whole(self.request(contents))["usageMetadata"] for _ in range(2))
        self.assertEqual((first["promptTokenCount"], second["promptTokenCount"]), (count["totalTokens"],) * 2)
        self.assertNotIn("cachedContentTokenCount", first)
        self.assertGreater(second["cachedContentTokenCount"], 0)
        both = {"contents": contents, **inner}
        self.assertTrue(self.refused(both, method="countTokens").startswith("contents: is there beside"))

    def test_a_second_turn_finds_the_first(self):
        contents = [{"role": "user", "parts": [{"text": "A story that no other test tells. " * 12}]}]
        first = self.whole(self.request(contents, config={"temperature": 0}))
        # A chat of google-genai keeps the content of each chunk of a stream.
        chunks = [{"role": "model", "parts": [{"text": letter}]} for letter in self.parts(first)[0]["text"]]
        more = [*contents, *chunks, {"role": "user", "parts": [{"text": "And then?"}]}]
        usage = self.whole(self.request(more))["usageMetadata"]
        self.assertGreater(usage["cachedContentTokenCount"], 0.8 * first["usageMetadata"]["promptTokenCount"])

    def test_chunks_of_the_model_are_one_turn_and_parts_of_the_user_are_lines(self):
        count = lambda *contents: self.ok(self.path("countTokens"), {"contents": contents}).json["totalTokens"]
        model = lambda *texts: {"role": "model", "parts": [{"text": text} for text in texts]}
        user = lambda *texts: {"role": "user", "parts": [{"text": text} for text in texts]}
        self.assertEqual(count(user("Hi"), model("The be"), model("st"), model(""), user("x")),
                         count(user("Hi"), model("The ", "best"), user("x")))
        self.assertEqual(count(user("a"), user("b")), count(user("a", "b")))
        self.assertEqual(count(user("a\nb")), count({"parts": [{"text": "a"}, {"text": "b"}]}))

    def test_an_answer_goes_on_with_a_last_content_of_the_model(self):
        count = lambda contents: self.ok(self.path("countTokens"), {"contents": contents}).json["totalTokens"]
        more = self.ok("/tokenize", {"content": "The best"}).json["count"]
        turns = [*QUESTION, {"role": "model", "parts": [{"text": "The best"}]}]
        self.assertEqual(count(turns), count(QUESTION) + more)

    # ---- the form of an answer ----------------------------------------------------------------------

    def test_an_answer_fits_its_schema_of_either_kind(self):
        schema = {"type": "OBJECT", "nullable": False, "property_ordering": ["b", "a"], "required": ["a", "b"],
                  "properties": {"a": {"type": "ARRAY", "items": {"type": "INTEGER", "format": "int32"},
                                       "minItems": "1", "max_items": 2},
                                 "b": {"type": "string", "format": "enum", "enum": ["x", "y"]}}}
        for member, given in (("responseSchema", schema), ("responseJsonSchema", ADD["parameters"]),
                              ("_responseJsonSchema", ADD["parameters"]), ("response_schema", schema)):
            config = {"responseMimeType": "application/json", member: given, "maxOutputTokens": 200}
            part, = self.parts(self.same(self.request(config=config)))
            answer = json.loads(part["text"])
            if "chema" in member and given is schema:
                self.assertEqual(list(answer), ["b", "a"])
                self.assertIn(answer["b"], "xy")
                self.assertIn(len(answer["a"]), (1, 2))
            else:
                self.assertIn(answer["a"], range(100))

    def test_an_enum_comes_without_quotes(self):
        config = {"responseMimeType": "text/x.enum", "responseSchema": {"type": "STRING", "enum": ["red one", "blue"]}}
        part, = self.parts(self.same(self.request(config=config)))
        self.assertIn(part["text"], ["red one", "blue"])

    def test_nullable_allows_null_alone_beside_the_type(self):
        schema = {"type": "OBJECT", "properties": {"a": {"type": "BOOLEAN", "nullable": True}}, "required": ["a"]}
        config = {"responseMimeType": "application/json", "responseSchema": schema, "maxOutputTokens": 40}
        answers = {json.loads(self.parts(self.whole(self.request(config={**config, "seed": seed, "temperature": 2})))
                              [0]["text"])["a"] for seed in range(12)}
        self.assertLessEqual(answers, {True, False, None})

    def test_json_without_a_schema_is_an_object_or_an_array(self):
        for seed in range(3):
            config = {"responseMimeType": "application/json", "maxOutputTokens": 300, "seed": seed}
            response = self.whole(self.request(config=config))
            text = self.parts(response)[0]["text"]
            self.assertIn(text[0], "{[")
            if response["candidates"][0]["finishReason"] == "STOP":
                self.assertIsInstance(json.loads(text), (dict, list))

    def test_log_probabilities_come_for_each_token(self):
        response = self.whole(self.request(config={"responseLogprobs": True, "logprobs": 2}))
        candidate, = response["candidates"]
        result = candidate["logprobsResult"]
        self.assertEqual(len(result["chosenCandidates"]), 8)
        self.assertEqual([len(each["candidates"]) for each in result["topCandidates"]], [2] * 8)
        self.assertEqual(set(result["chosenCandidates"][0]), {"token", "tokenId", "logProbability"})
        self.assertLess(candidate["avgLogprobs"], 0)
        self.assertEqual("".join(each["token"] for each in result["chosenCandidates"]),
                         candidate["content"]["parts"][0]["text"])

    # ---- functions ------------------------------------------------------------------------------------

    def test_a_demanded_call_is_one_part_whose_arguments_fit(self):
        for config in (mode("ANY"), mode("any", "add"), {"function_calling_config": {"mode": "ANY"}}):
            response = self.same(self.request(tools=TOOLS, toolConfig=config, config={"maxOutputTokens": 60}))
            part, = self.parts(response)
            call = part["functionCall"]
            self.assertEqual((set(call), call["name"]), ({"id", "name", "args"}, "add"))
            self.assertIn(call["args"]["a"], range(100))
            self.assertEqual(response["candidates"][0]["finishReason"], "STOP")

    def test_a_call_that_the_limit_cuts_is_left_out(self):
        long = {"name": "add", "parameters": {"type": "OBJECT", "required": ["a"],
                                              "properties": {"a": {"type": "STRING", "minLength": 100}}}}
        response = self.same(self.request(tools=[{"functionDeclarations": [long]}], toolConfig=mode("ANY"),
                                          config={"maxOutputTokens": 3}))
        candidate, = response["candidates"]
        self.assertEqual((candidate["content"]["parts"], candidate["finishReason"]), ([], "MAX_TOKENS"))

    def test_a_json_schema_and_one_of_google_offer_the_same_function(self):
        google = {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["a"]}
        json_schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
                       "additionalProperties": False}
        counts = {self.whole(self.request(tools=[{"functionDeclarations": [{"name": "f", **given}]}]))
                  ["usageMetadata"]["promptTokenCount"]
                  for given in ({"parameters": google}, {"parametersJsonSchema": json_schema},
                                {"parameters_json_schema": json_schema})}
        self.assertEqual(len(counts), 1)

    def test_services_that_the_server_lacks_are_left_out_and_named(self):
        answer = self.ok(self.path("generateContent"), self.request(
            tools=[{"googleSearch": {}}, {"codeExecution": {}, **TOOLS[0]}, {"url_context": {}}], zzz=1,
            safetySettings=[{"category": "X", "threshold": "BLOCK_NONE"}], labels={"a": "b"}))
        self.assertEqual(answer.headers["x-quire-ignored"],
                         "tools[0].googleSearch, tools[1].codeExecution, tools[2].url_context, zzz")

    # ---- what is wrong --------------------------------------------------------------------------------

    def test_wrong_contents_are_refused_by_their_place(self):
        call = {"functionCall": {"name": "add", "args": {"a": 1}, "id": "c1"}}
        result = {"functionResponse": {"name": "add", "response": {"output": "2"}, "id": "c1"}}
        asked = {"role": "model", "parts": [call]}
        for contents, start in [
                (None, "contents: give at least one"), ([], "contents: give at least one"), ("x", "contents: must be an array"),
                (["x"], "contents[0]: must be an object"), ([{"role": "user"}], "contents[0].parts: give at least one"),
                ([{"parts": []}], "contents[0].parts: give"), ([{"parts": "x"}], "contents[0].parts: must be an array"),
                ([{"parts": ["x"]}], "contents[0].parts[0]: must be an object"),
                ([{"parts": [{}]}], "contents[0].parts[0]: give text"),
                ([{"parts": [{"text": 5}]}], "contents[0].parts[0].text: must be a string"),
                ([{"parts": [{"txet": "x"}]}], "contents[0].parts[0].txet: is not known; did you mean \"text\"?"),
                ([{"parts": [{"text": "x", "functionCall": {}}]}], "contents[0].parts[0]: has both text and functionCall"),
                ([*QUESTION, {"role": "assistant", "parts": [{"text": "x"}]}], 'contents[1].role: "assistant" is not one of'),
                ([{"role": 5, "parts": [{"text": "x"}]}], "contents[0].role: must be a string"),
                ([{"parts": [{"text": "a"}, {"inlineData": {"mimeType": "image/png", "data": ""}}]}],
                 "contents[0].parts[1].inlineData: is not supported"),
                ([{"parts": [{"inline_data": {}}]}], "contents[0].parts[0].inline_data: is not supported"),
                ([{"parts": [{"fileData": {"fileUri": "x"}}]}], "contents[0].parts[0].fileData: is not supported"),
                ([{"parts": [call]}], "contents[0].parts[0].functionCall: belongs to a content of the role model"),
                ([*QUESTION, {"role": "model", "parts": [result]}], "contents[1].parts[0].functionResponse: belongs to"),
                ([{"parts": [result]}], "contents[0].parts[0].functionResponse: answers no functionCall"),
                ([*QUESTION, asked, {"parts": [{"function_response": {**result["functionResponse"], "id": "c2"}}]}],
                 "contents[2].parts[0].function_response: answers no functionCall"),
                ([*QUESTION, asked, {"parts": [result, result]}], "contents[2].parts[1].functionResponse: answers no"),
                ([*QUESTION, asked, {"parts": [{"functionResponse": {"name": "add", "response": 5}}]}],
                 "contents[2].parts[0].functionResponse.response: must be an object"),
                ([*QUESTION, {"role": "model", "parts": [{"functionCall": {"args": {}}}]}],
                 "contents[1].parts[0].functionCall.name: give"),
                ([*QUESTION, {"role": "model", "parts": [{"functionCall": {"name": "x", "args": []}}]}],
                 "contents[1].parts[0].functionCall.args: must be an object"),
                ([*QUESTION, {"role": "model", "parts": [{"functionCall": "x"}]}],
                 "contents[1].parts[0].functionCall: must be an object")]:
            message = self.refused(self.request(contents))
            self.assertTrue(message.startswith(start), (contents, message))

    def test_wrong_values_are_refused_with_the_path_of_the_member(self):
        enum = {"responseMimeType": "text/x.enum"}
        as_json = {"responseMimeType": "application/json"}
        schema = lambda given: {**as_json, "responseSchema": given}
        for config, start in [
                ({"temperature": 2.1}, "temperature"), ({"temperature": "1"}, "temperature"), ({"topP": 2}, "topP"),
                ({"topK": -1}, "topK"), ({"topK": 1.5}, "topK"), ({"maxOutputTokens": 0}, "maxOutputTokens"),
                ({"stopSequences": [""]}, "stopSequences"), ({"candidateCount": 9}, "candidateCount"),
                ({"candidateCount": 0}, "candidateCount"), ({"seed": 1.5}, "seed"),
                ({"presencePenalty": 3}, "presencePenalty"), ({"responseMimeType": "text/html"}, "responseMimeType"),
                ({"responseSchema": {"type": "STRING"}}, "responseSchema: needs"), (enum, "responseMimeType: text/x.enum needs"),
                ({**as_json, "responseSchema": {}, "responseJsonSchema": {}}, "responseJsonSchema: is there beside"),
                (schema(5), "responseSchema: must be"), (schema({"type": "TEXT"}), "responseSchema.type: \"TEXT\" is not one of"),
                (schema({"type": "OBJECT", "properties": {"a": {"type": "ARRAY", "items": {"type": "int"}}}}),
                 "responseSchema.properties.a.items.type"),
                (schema({"anyOf": [{"type": "STRING"}, {"type": 5}]}), "responseSchema.anyOf[1].type"),
                (schema({"type": "STRING", "nullable": "yes"}), "responseSchema.nullable"),
                (schema({"type": "STRING", "maxLength": "many"}), "responseSchema.maxLength"),
                (schema({"type": "ARRAY", "uniqueItems": True}), "responseSchema"),
                ({"logprobs": 2}, "logprobs: needs"), ({"responseLogprobs": 1}, "responseLogprobs"),
                ({"thinkingConfig": {"thinkingBudget": -2}}, "thinkingConfig.thinkingBudget"),
                ({"thinkingConfig": {"thinkingLevel": "MUCH"}}, "thinkingConfig.thinkingLevel"),
                ({"thinkingConfig": {"thinking_level": "MUCH"}}, "thinkingConfig.thinking_level"),
                ({"thinkingConfig": 5}, "thinkingConfig"), ({"responseModalities": ["IMAGE"]}, "responseModalities[0]"),
                ({"speechConfig": {}}, "speechConfig"), ({"temprature": 1}, "temprature: is not known; did you mean")]:
            message = self.refused(self.request(config=config))
            self.assertTrue(message.startswith("generationConfig." + start), (config, message))

    def test_wrong_functions_are_refused_by_their_place(self):
        first = "tools[0].functionDeclarations[0]"
        offer = lambda **members: {"tools": [{"functionDeclarations": [members]}]}
        for members, start in [
                ({"tools": "x"}, "tools: must be an array"), ({"tools": [5]}, "tools[0]: must be an object"),
                ({"tools": [{"functionDeclarations": 5}]}, "tools[0].functionDeclarations: must be an array"),
                (offer(), first + ".name"), (offer(name="a b"), first + ".name: must have 1 to 128"),
                (offer(name="f", parameters=5), first + ".parameters: must be a schema"),
                (offer(name="f", parameters={"type": "OBJECT", "properties": {"a": {"type": "X"}}}),
                 first + ".parameters.properties.a.type"),
                (offer(name="f", parameters={}, parametersJsonSchema={}), first + ".parametersJsonSchema: is there beside"),
                ({"toolConfig": mode("ANY")}, "toolConfig.functionCallingConfig.mode: ANY needs"),
                ({"toolConfig": mode("SOME")}, 'toolConfig.functionCallingConfig.mode: "SOME" is not one of'),
                ({"tools": TOOLS, "toolConfig": mode("AUTO", "add")}, "toolConfig.functionCallingConfig.allowedFunctionNames: needs"),
                ({"tools": TOOLS, "toolConfig": mode("ANY", "sub")},
                 "toolConfig.functionCallingConfig.allowedFunctionNames[0]: \"sub\" is not one of"),
                ({"toolConfig": 5}, "toolConfig"), ({"systemInstruction": "x"}, "systemInstruction: must be an object"),
                ({"systemInstruction": {"parts": []}}, "systemInstruction.parts: give"),
                ({"systemInstruction": {"parts": [{"inlineData": {}}]}}, "systemInstruction.parts[0].inlineData"),
                ({"cachedContent": "cachedContents/x"}, "cachedContent: is not supported"),
                ({"cached_content": "cachedContents/x"}, "cached_content: is not supported"),
                ({"safetySettings": 5}, "safetySettings"), ({"messages": []}, "messages: is not supported"),
                ({"contnets": 1}, "contnets: is not known; did you mean")]:
            message = self.refused(self.request(**members))
            self.assertTrue(message.startswith(start), (members, message))

    def test_a_prompt_that_does_not_fit_is_refused_with_the_numbers(self):
        message = self.refused(self.request([{"parts": [{"text": "word " * 3000}]}]))
        self.assertTrue(message.startswith("contents: prompt is too long"), message)
        self.assertIn(str(self.context_length()), message)

    def test_the_query_is_read_and_what_it_may_not_have_is_refused(self):
        self.ok(self.path("generateContent", query="?alt=json&prettyPrint=false"), self.request())
        for method, query, name in (("generateContent", "?alt=sse", "alt"), ("streamGenerateContent", "?alt=proto", "alt"),
                                    ("generateContent", "?fields=candidates", "fields")):
            answer = self.post(self.path(method, query=query), self.request())
            self.assertEqual((answer.status, answer.json["error"]["message"].split(":")[0]), (400, name))

    def test_a_key_in_the_query_is_400_and_named_nowhere(self):
        for path in (self.path("generateContent"), self.path("streamGenerateContent"), "/v1beta/models", "/v1beta/x",
                     f"/v1/models/{self.name}:generateContent"):
            for name in ("key", "k%65y", "alt=sse&key", "access_token"):
                answer = self.post(f"{path}?{name}=s3cr3t", self.request())
                self.assertEqual((answer.status, answer.json["error"]["status"]), (400, "INVALID_ARGUMENT"))
                self.assertIn("x-goog-api-key", answer.json["error"]["message"])
                self.assertNotIn(b"s3cr3t", answer.body)
        self.assertNotIn(b"s3cr3t", self.ask_of("GET", "/metrics").body)

    # ---- models ---------------------------------------------------------------------------------------

    def test_models_are_named_in_the_path_with_and_without_their_collection(self):
        for place in (f"/v1beta/models/{self.name}", f"/v1beta/tunedModels/{self.name}", f"/v1/models/{self.name}",
                      f"/v1beta/models/models/{self.name}", f"/v1beta/models/models%2F{self.name}"):
            self.ok(place + ":generateContent", self.request())

    def test_a_model_or_a_method_that_is_not_there_is_404_with_those_that_are(self):
        answer = self.post(self.path("generateContent", "gemini-2.5-flash"), self.request())
        error = answer.json["error"]
        self.assertEqual((answer.status, error["status"]), (404, "NOT_FOUND"))
        self.assertTrue(error["message"].startswith("model: there is no model \"gemini-2.5-flash\""), error)
        self.assertIn(self.name, error["message"])
        for path in (self.path("embedContent"), f"/v1beta/tunedModels/{self.name}", "/v1beta/models/:x"):
            answer = self.post(path, {})
            self.assertEqual((answer.status, answer.json["error"]["status"]), (404, "NOT_FOUND"))
            self.assertIn("NAME:streamGenerateContent", answer.json["error"]["message"])
        for method, path in (("GET", self.path("generateContent").replace("models", "tunedModels")), ("POST", "/v1beta/models"),
                             ("POST", f"/v1beta/models/{self.name}"), ("POST", f"/v1/models/{self.name}"),
                             ("GET", self.path("countTokens")), ("GET", f"/v1/models/{self.name}:generateContent")):
            answer = self.ask_of(method, path, b"{}")
            self.assertEqual((answer.status, answer.json["error"]["status"]), (405, "UNIMPLEMENTED"))
        answer = self.ask_of("GET", "/v1beta/files")
        self.assertEqual((answer.status, answer.json["error"]["status"]), (404, "NOT_FOUND"))

    def test_models_are_listed_and_one_is_found(self):
        model, = self.ask_of("GET", "/v1beta/models?pageSize=50").json["models"]
        self.assertEqual((model["name"], model["displayName"]), ("models/" + self.name, self.name))
        self.assertEqual(model["inputTokenLimit"], self.context_length() - 1)
        self.assertIn("generateContent", model["supportedGenerationMethods"])
        self.assertEqual(self.ask_of("GET", f"/v1beta/models/{self.name}").json, model)
        for query in ("?pageSize=x", "?pageSize=-1", "?pageToken=x", "?pageToken=9", "?filter=x"):
            answer = self.ask_of("GET", "/v1beta/models" + query)
            self.assertEqual((answer.status, answer.json["error"]["status"]), (400, "INVALID_ARGUMENT"), query)
        self.assertEqual(self.ask_of("GET", "/v1beta/models/none").status, 404)
        google = {"x-goog-api-client": "google-genai-sdk/3.6.1"}
        self.assertEqual(self.ask_of("GET", "/v1/models", headers=google).json["models"], [model])
        self.assertEqual(self.ask_of("GET", f"/v1/models/{self.name}", headers=google).json, model)
        absent = self.ask_of("GET", "/v1/models/none", headers=google)
        self.assertEqual((absent.status, absent.json["error"]["status"]), (404, "NOT_FOUND"))
        self.assertEqual(self.ask_of("GET", "/v1/models").json["data"][0]["id"], self.name)


def call_of(name, arguments):
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


class GeminiTurnsTest(GeminiBase):
    """A parrot thinks and calls in its first turn, and answers in its second."""

    @classmethod
    def models(cls, folder):
        folder = pathlib.Path(folder)
        thought = ["<think>\n", "Two", " numbers.", "\n</think>\n\n"]
        return [parrot(folder / "caller", [[*thought, "Adding. ", call_of("add", '{"a": 1}'), "\n", call_of("add", '{"a":2}')],
                                           ["It is", " three."]]),
                parrot(folder / "broken", [[call_of("add", '"many"')]])]

    THINKS = {"maxOutputTokens": 100, "temperature": 0, "thinkingConfig": {"includeThoughts": True}}

    def test_thoughts_text_and_calls_are_parts_and_the_second_turn_finds_the_first(self):
        first = self.same(self.request(config=self.THINKS, tools=TOOLS), "caller")
        parts = self.parts(first)
        self.assertEqual(parts[0], {"text": "Two numbers.", "thought": True})
        self.assertEqual(parts[1]["text"].strip(), "Adding.")
        self.assertEqual([part["functionCall"]["args"] for part in parts[2:]], [{"a": 1}, {"a": 2}])
        self.assertEqual(len({part["functionCall"]["id"] for part in parts[2:]}), 2)
        usage = first["usageMetadata"]
        self.assertGreater(usage["thoughtsTokenCount"], 0)
        self.assertEqual(usage["totalTokenCount"], usage["promptTokenCount"] + usage["thoughtsTokenCount"]
                         + usage["candidatesTokenCount"])
        result = lambda part, value: {"functionResponse": {"id": part["functionCall"]["id"], "name": "add",
                                                           "response": {"output": value}}}
        for signed in ({}, {"thoughtSignature": "c2lnbmVk"}):
            contents = [*QUESTION, {"role": "model", "parts": [{**part, **signed} for part in parts]},
                        {"role": "user", "parts": [result(part, "2") for part in parts[2:]]}]
            second = self.same(self.request(contents, self.THINKS, tools=TOOLS), "caller")
            self.assertEqual(self.parts(second), [{"text": "It is three."}])
        self.assertGreater(second["usageMetadata"]["cachedContentTokenCount"], 0.9 * usage["promptTokenCount"])

    def test_results_find_their_calls_by_name_if_there_are_no_ids(self):
        call = lambda number: {"role": "model", "parts": [{"functionCall": {"name": "add", "args": {"a": number}}}]}
        result = {"functionResponse": {"name": "add", "response": {"error": "no"}}}
        contents = [*QUESTION, call(1), call(2), {"role": "function", "parts": [result, result]}]
        self.assertEqual(self.parts(self.whole(self.request(contents, self.THINKS, tools=TOOLS), "caller")),
                         [{"text": "It is three."}])

    def test_thoughts_stay_out_unless_they_are_asked_for(self):
        for thinking in ({}, {"thinkingBudget": 100}, {"thinkingLevel": "LOW"}):
            parts = self.parts(self.same(self.request(config={**self.THINKS, "thinkingConfig": thinking}, tools=TOOLS), "caller"))
            self.assertEqual([set(part) for part in parts], [{"text"}, {"functionCall"}, {"functionCall"}])

    def test_arguments_that_are_not_an_object_are_a_malformed_call(self):
        response = self.same(self.request(config=self.THINKS, tools=TOOLS), "broken")
        candidate, = response["candidates"]
        self.assertEqual((candidate["content"]["parts"], candidate["finishReason"]), ([], "MALFORMED_FUNCTION_CALL"))
        self.assertIn("add", candidate["finishMessage"])

    def test_a_validated_call_fits_its_schema(self):
        response = self.same(self.request(config={**self.THINKS, "maxOutputTokens": 200}, tools=TOOLS,
                                          toolConfig=mode("VALIDATED")), "broken")
        part, = self.parts(response)
        self.assertIn(part["functionCall"]["args"]["a"], range(100))

    def test_the_head_of_a_stream_comes_before_its_prompt_is_computed(self):
        for query, text in (("?alt=sse", "A long prompt. "), ("", "Another prompt. ")):
            body = json.dumps(self.request([{"parts": [{"text": text * 450}]}], self.THINKS))
            connection = http.client.HTTPConnection(self.address, timeout=harness.TIMEOUT_SECONDS)
            self.addCleanup(connection.close)
            begin = time.monotonic()
            connection.request("POST", self.path("streamGenerateContent", "caller", query), body)
            response = connection.getresponse()
            self.assertEqual(response.status, 200)
            head = time.monotonic() - begin
            response.read(1)
            self.assertLess(head, 0.5 * (time.monotonic() - begin))

    def test_pages_of_the_list_follow_each_other(self):
        first = self.ask_of("GET", "/v1beta/models?pageSize=1").json
        second = self.ask_of("GET", "/v1beta/models?pageSize=1&pageToken=" + first["nextPageToken"]).json
        self.assertNotIn("nextPageToken", second)
        self.assertEqual({each["models"][0]["displayName"] for each in (first, second)}, {"caller", "broken"})


if __name__ == "__main__":
    harness.main()
