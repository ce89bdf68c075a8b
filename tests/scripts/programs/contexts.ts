// Each call of the classes Context, Generator, Model, Grammar and Tools, rightly and wrongly.
import { Context, Generator, Grammar, Model, PromptDrafts, Tools, draftsFrom, session } from "quire";
import { equal, fails, holds } from "./check.ts";

const wrong = (value: unknown) => value as any;

async function models() {
  const model = Model.open();
  holds(Model.available().includes(model.name), "the model is among those that are there");
  equal(Model.open(model.name).vocabularySize, model.vocabularySize);
  await fails(() => Model.open("nobody"), "QuireError: not-found", "nobody");
  await fails(() => Model.open(wrong(5)), "TypeError: Model.open: argument 1 must be a Model, or the name of one");
  await fails(() => new (wrong(Model))(), "new Model: the SDK makes objects of this class");
  holds(model.traits.includes("tokenize"), "the model has a tokenizer");
  holds(model.traitVersion("tokenize") >= 1, "traits have versions");
  await fails(() => model.traitVersion("wings"), "not-found");
  const tokens = await model.tokenize("one two");
  equal(await model.detokenize(tokens), "one two");
  equal(new TextDecoder().decode(await model.detokenizeBytes(tokens)), "one two");
  equal(await model.detokenize(Uint32Array.from(tokens)), "one two");
  await fails(() => model.tokenize(wrong({})), "Model.tokenize: argument 1 must be a string, not this object");
  await fails(() => model.tokenize("a", wrong({ beginOfTxt: true })), "there is no option beginOfTxt", "beginOfText");
  await fails(() => model.detokenize(wrong(["a"])), "must be an array of token ids");
  await fails(() => model.detokenize([-1]), "must be an array of token ids");
  await fails(() => model.detokenize([4294967295]), "QuireError: out-of-range");
  const vocabulary = await model.vocabulary();
  equal(vocabulary.length, model.vocabularySize);
  equal((await model.tokenKinds(0, 4)).length, 4);
  const messages = [{ role: "user", content: "Hello" }];
  const text = await model.applyChatTemplate(messages);
  holds(text.includes("Hello"), "the template writes what was said");
  equal(await model.tokenizeChat(messages), await model.tokenize(text, { parseSpecial: true }));
  await fails(() => model.applyChatTemplate([wrong({ role: "user" })]), "must be an array");
}

async function editing() {
  const context = await Context.create();
  equal(context.tokenCount, 0);
  await context.appendText("The quick brown fox jumps over the lazy dog and runs away from the hunter.");
  const { seqLen } = await context.flush();
  equal(seqLen, context.seqLen);
  equal(context.tokens.length, seqLen);
  holds(context.pageSize > 0 && context.pageCount >= context.committedPageCount, "pages are counted");
  const fork = await context.fork();
  equal(fork.tokens, context.tokens);
  fork.append([5, 6]);
  equal(fork.tokenCount, seqLen + 2);
  equal((await fork.rewind(3)).seqLen, 3);
  await fails(() => fork.rewind(1000), "QuireError: out-of-range");
  await fails(() => fork.rewind(wrong("3")), "Context.rewind: argument 1 must be a whole number from 0");
  await fork.splice(context, 3, 5);
  equal(fork.tokenCount, 5);
  await fork.flush();
  equal((await fork.truncate(1)).seqLen, 4);
  await fork.dropRange(0, 2);
  await fork.reserveWorkingPages(1);
  await fork.releaseWorkingPages(1);
  await fails(() => fork.commitWorkingPages(9), "QuireError");
  await fork.truncateWorkingPageTokens(0);
  fork.hint("keep", 5);
  await fails(() => fork.hint(wrong("maybe")), '"will-resume"');
  fork.allowBeyondContext(false);
  await fork.mark();
  const { tokens, probabilities } = await context.nextDistribution(4);
  equal([tokens.length, probabilities.length], [4, 4]);
  equal((await context.nextLogits()).length, context.model.vocabularySize);
  await fails(() => context.splice(wrong(context.model), 0, 1), "Context.splice: argument 1 must be Context");
  await fails(() => Context.prototype.fork.call(wrong({})), "Context.fork was called on this object");
  // Calls take effect in their order, awaited or not.
  const early = await Context.create();
  const queued = [early.appendText("one"), early.appendText(" two"), early.flush()];
  await fails(() => early.append([1]), "unavailable", "under way");
  await Promise.all(queued);
  equal(await early.model.detokenize(early.tokens), "one two");
}

async function generating() {
  const context = await Context.create();
  await context.appendText("Once upon a time");
  const start = context.tokenCount;
  const answer = await context.generate({ maxTokens: 6, ignoreStopTokens: true });
  equal([answer.tokens.length, answer.finishReason, answer.drawnCount], [6, "length", 6]);
  const again = async (options: object) => {
    await context.rewind(start);
    return context.generate({ maxTokens: 6, ignoreStopTokens: true, ...options });
  };
  equal(await again({}), answer);
  await context.rewind(start);
  const pieces = [];
  for await (const piece of context.generate({ maxTokens: 6, ignoreStopTokens: true, topLogprobs: 2 })) {
    equal(piece.top.length, 2);
    pieces.push(piece.token);
  }
  equal(pieces, answer.tokens);
  await context.rewind(start);
  for await (const _ of context.generate({ maxTokens: 6, ignoreStopTokens: true })) break;
  equal(context.tokenCount, start + 1);
  await context.rewind(start);
  let shown = "";
  const streamed = await context.generate({ maxTokens: 6, ignoreStopTokens: true }).stream((text) => (shown += text));
  equal([streamed.text, shown], [answer.text, answer.text]);
  // Hooks of the script, also those that wait.
  const told: number[] = [];
  const forced = (await again({
    logits: async (logits: Float32Array) => {
      await null;
      logits[7] = 1e9;
    },
    onToken: (token: number) => void told.push(token),
  })) as typeof answer;
  equal(forced.tokens, [7, 7, 7, 7, 7, 7]);
  equal(told, forced.tokens);
  const reshaped = (await again({
    reshape: (distribution: any) => {
      distribution.probabilities = distribution.probabilities.map((each: number, i: number) => (i === 1 ? 1 : 0));
    },
  })) as typeof answer;
  holds(reshaped.tokens[0] !== answer.tokens[0], "another token is the most probable");
  const drafted = await again({ draft: (given: Context) => answer.tokens.slice(given.tokenCount - start, given.tokenCount - start + 3) });
  equal(drafted, answer);
  const drafts = draftsFrom(context).predict(answer.tokens);
  for (let i = 0; i < 2; ++i) equal(await again({ draft: drafts }), answer);
  holds(drafts instanceof PromptDrafts, "drafts are of their class");
  await fails(() => draftsFrom(wrong({})), "TypeError: draftsFrom: argument 1 must be Context");
  await fails(() => again({ draft: wrong({}) }), "TypeError: the option draft must be");
  const thrown = new RangeError("not this one");
  await again({ onToken: () => { throw thrown; } }).then(
    () => { throw new Error("it went on"); },
    (error) => equal(error === thrown, true, "the exception is the same one"),
  );
  await fails(() => again({ draft: () => "x" }), "invalid-argument: draft must give an array of token ids");
  await fails(() => again({ temperature: -1 }), "invalid-argument", "temperature");
  await fails(() => again({ temperature: "hot" }), "TypeError: the option temperature must be a number");
  await fails(() => again({ maxToken: 1 }), "there is no option maxToken", "maxTokens");
  await fails(() => again({ grammar: {} }), "the option grammar must be Grammar");
  await fails(() => context.generate(wrong(5)), "Context.generate: argument 1 must be an object of options");
  const controller = new AbortController();
  await context.rewind(start);
  const aborted = context.generate({ maxTokens: 100000, ignoreStopTokens: true, signal: controller.signal }).collect();
  setTimeout(() => controller.abort(), 5);
  await fails(() => aborted, "AbortError");
  await context.rewind(start);
  const used = context.generate({ maxTokens: 1 });
  await used.collect();
  await fails(() => used.next(), "was collected or streamed");
  holds(used instanceof Generator, "generate gives a Generator");
}

async function constraining() {
  const model = Model.open();
  const year = await Grammar.regex(model, "[0-9]{4}");
  equal(await year.fits("2026"), true);
  equal(await year.fits("26"), false);
  await fails(() => Grammar.regex(model, "("), "invalid-argument");
  await fails(() => Grammar.jsonSchema(model, wrong(5)), "a JSON schema");
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false };
  equal(await (await Grammar.jsonSchema(model, schema)).fits('{"n": 5}'), true);
  const context = await Context.create();
  await context.appendText("The year");
  const start = context.tokenCount;
  const answer = await context.generate({ grammar: year });
  holds(/^[0-9]{4}$/.test(answer.text), "the answer is a year");
  equal(answer.finishReason, "grammar");
  await context.rewind(start);
  holds(["yes", "no"].includes((await context.generate({ lark: 'start: "yes" | "no"' })).text), "the answer is one of two");
  await fails(() => context.generate({ regex: "a", grammar: year }), "a generation has one grammar");
  await context.rewind(start);
  context.constrain(year);
  holds(/^[0-9]{4}$/.test((await context.generate()).text), "the context is constrained");
  context.unconstrain();
  const { text, probabilities } = await context.choose([" one", " two", " three"]);
  holds([" one", " two", " three"].includes(text), "one is chosen");
  holds(Math.abs(probabilities.reduce((sum, each) => sum + each) - 1) < 1e-9, "probabilities add up to 1");
  holds((await context.score(" one")).logProbability < 0, "a score is the logarithm of a probability");
  await fails(() => context.choose([]), "invalid-argument");
  const branches = await context.sample(3, { temperature: 1, maxTokens: 3, ignoreStopTokens: true });
  equal(branches.length, 3);
  holds(branches.every(({ context, answer }) => context.tokenCount >= answer.tokens.length), "branches hold answers");
}

async function keeping() {
  const context = await Context.create();
  await context.appendText("To be kept");
  await context.save("mine");
  await fails(() => context.save("mine"), "already-exists");
  await context.save("mine", { overwrite: true });
  await fails(() => context.save("mine", wrong({ overwrites: true })), "there is no option overwrites");
  const opened = await Context.open("mine");
  equal(opened.tokenCount, context.tokenCount);
  equal((await Context.list()).snapshots.map(({ name }) => name), ["mine"]);
  await context.share("ours");
  equal((await Context.openShared("ours")).tokens, context.tokens);
  await Context.unshare("ours");
  await Context.take("mine");
  await fails(() => Context.open("mine"), "not-found");
  equal((await Context.openOrCreate("mine")).tokenCount, 0);
  await fails(() => Context.remove("mine"), "not-found");
}

async function talking() {
  const context = await Context.create();
  context.system("Be brief.");
  context.add("user", "Hello");
  await context.generate({ maxTokens: 4 });
  context.user("And now?");
  context.add({ role: "assistant", content: "Well", mood: "calm" });
  equal(context.messages.map(({ role }) => role), ["system", "user", "assistant", "user", "assistant"]);
  equal(context.messages.at(-1), { role: "assistant", content: "Well", mood: "calm" });
  await fails(() => context.user(wrong(undefined)), "Context.user: argument 1 must be a string, not undefined");
  const calls: unknown[] = [];
  const clock = { name: "clock", description: "The time", schema: { type: "object", properties: {} }, run: (given: unknown) => { calls.push(given); return { hour: 7 }; } };
  const chat = await Context.create();
  const tools = await Tools.offer(chat, [clock], { roundsMax: 1 });
  await tools.show(chat, "I look.", "clock", {}, "7");
  chat.user("How late is it?");
  const answer = await tools.answer(chat, { maxTokens: 8 }, () => {});
  equal(answer.runs, []);
  await fails(() => Tools.offer(chat, wrong([{ name: "a b", run() {} }])), "a name of letters");
  await fails(() => Tools.offer(chat, wrong([{ name: "a" }])), "must be an array");
}

export default async function program() {
  for (const part of [models, editing, generating, constraining, keeping, talking]) {
    await part();
    session.send(`${part.name}\n`);
  }
}
