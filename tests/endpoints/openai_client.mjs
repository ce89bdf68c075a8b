// The client openai for JavaScript. javascript_test.py runs this file: node openai_client.mjs NODE_MODULES URL MODEL
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import path from "node:path";
import test from "node:test";

const [modules, url, model] = process.argv.slice(2);
const OpenAI = createRequire(path.join(modules, "x.js"))("openai");
const client = new OpenAI({ baseURL: url + "/v1", apiKey: "none", maxRetries: 0 });
const chat = client.chat.completions;

const messages = [{ role: "user", content: "What is the capital of France?" }];
const members = { model, messages, temperature: 0, max_tokens: 24 };
const parameters = {
  type: "object",
  properties: { a: { type: "integer", minimum: 0, maximum: 99 }, b: { type: "integer", minimum: 0, maximum: 99 } },
  required: ["a", "b"],
  additionalProperties: false,
};
const tools = [{ type: "function", function: { name: "add", description: "Adds two numbers.", parameters } }];

// Fails with an error of the client whose class, parameter and code are these.
async function refused(request, kind, param, code) {
  await assert.rejects(request, (error) => {
    assert.ok(error instanceof kind, String(error));
    assert.deepEqual([error.param, error.code], [param, code]);
    assert.match(error.requestID, /^req_/);
    return true;
  });
}

test("models are listed and retrieved", async () => {
  const found = [];
  for await (const each of client.models.list()) found.push(each.id);
  assert.deepEqual(found, [model]);
  assert.equal((await client.models.retrieve(model)).id, model);
});

test("a stream is the answer, and so is what its helper puts together", async () => {
  const whole = await chat.create(members);
  let text = "", usage;
  const stream = await chat.create({ ...members, stream: true, stream_options: { include_usage: true } });
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? "";
    usage = chunk.usage ?? usage;
  }
  assert.equal(text, whole.choices[0].message.content);
  assert.equal(usage.completion_tokens, whole.usage.completion_tokens);
  assert.ok(usage.prompt_tokens_details.cached_tokens > 0);
  assert.equal(await chat.stream(members).finalContent(), text);
});

test("a stream that the client leaves does not end the connection's server", async () => {
  const stream = await chat.create({ ...members, max_tokens: 2000, stream: true, ignore_eos: true });
  for await (const chunk of stream) if (chunk.choices[0].delta.content) break;
  assert.ok((await chat.create(members)).id);
});

test("a tool of JavaScript runs, and the model gets its result", async () => {
  const added = [];
  const runner = chat.runTools({
    ...members,
    max_tokens: 60,
    tool_choice: "required",
    tools: [{ type: "function", function: { ...tools[0].function, parse: JSON.parse,
      function: ({ a, b }) => { added.push([a, b]); return String(a + b); } } }],
  }, { maxChatCompletions: 2 });
  await runner.done();
  const results = runner.messages.filter((each) => each.role === "tool").map((each) => each.content);
  assert.ok(added.length >= 1);
  assert.deepEqual(results, added.map(([a, b]) => String(a + b)));
});

test("a call of a stream is put together", async () => {
  const request = { ...members, max_tokens: 60, tools, tool_choice: "required" };
  const whole = await chat.create(request);
  const streamed = await chat.stream(request).finalMessage();
  const calls = (message) => message.tool_calls.map((each) => each.function.arguments);
  assert.deepEqual(calls(streamed), calls(whole.choices[0].message));
  assert.deepEqual(Object.keys(JSON.parse(calls(streamed)[0])), ["a", "b"]);
});

test("an answer fits its format, and is parsed", async () => {
  const response_format = { type: "json_schema", json_schema: { name: "sum", strict: true, schema: parameters } };
  const message = (await chat.create({ ...members, max_tokens: 60, response_format })).choices[0].message;
  assert.deepEqual(Object.keys(JSON.parse(message.content)), ["a", "b"]);
});

test("logprobs have alternatives", async () => {
  const whole = await chat.create({ ...members, max_tokens: 3, logprobs: true, top_logprobs: 2 });
  assert.deepEqual(whole.choices[0].logprobs.content.map((each) => each.top_logprobs.length), [2, 2, 2]);
});

test("completions continue a text, whole and streamed", async () => {
  const request = { model, prompt: "The capital of France is", temperature: 0, max_tokens: 8 };
  const whole = await client.completions.create(request);
  let text = "";
  for await (const chunk of await client.completions.create({ ...request, stream: true })) text += chunk.choices[0].text;
  assert.equal(text, whole.choices[0].text);
});

test("errors have their classes", async () => {
  await refused(chat.create({ ...members, model: "x" }), OpenAI.NotFoundError, "model", "model_not_found");
  await refused(chat.create({ ...members, temperature: 9 }), OpenAI.BadRequestError, "temperature", null);
  await refused(chat.create({ ...members, verbosity: "low", stream: true }), OpenAI.BadRequestError, "verbosity",
    "unsupported_parameter");
  const long = [{ role: "user", content: "word ".repeat(9000) }];
  await refused(chat.create({ ...members, messages: long }), OpenAI.BadRequestError, "messages",
    "context_length_exceeded");
});
