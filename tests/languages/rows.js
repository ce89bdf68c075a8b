// The same calls as in rows.cpp, in JavaScript; the order and the arguments are the same.
import {
  Child, Context, Drawer, Embeds, Exchange, Grammar, KvPages, Model, Queue, http, lowLevel, messages, runtime, session, sleep,
  store, draftsFrom,
} from "quire";
import raw from "quire/raw";

const none = 12345678; // A handle of nothing.
const tooMany = 100000;
const tooLarge = "a".repeat(1048577);
let isServed = false; // There is no session: the lines go to the queue "served".

// How values are written: see rows.h.
const bitsOf = (number) => String(new BigUint64Array(Float64Array.of(number).buffer)[0]);
const quoted = (text) => `"${text.replaceAll("\n", " ")}"`;
const listed = (list) => `[${[...list].map(String).join(" ")}]`;
const texts = (list) => `[${list.map(quoted).join(" ")}]`;
const floats = (list) => `[${[...list].map(bitsOf).join(" ")}]`;
const countersOf = (each) =>
  listed([each.seqLen, each.committedPageCount, each.workingPageCount, each.workingPageTokenCount]);
const distributionOf = ({ tokens, probabilities }) => `${listed(tokens)} ${floats(probabilities)}`;
const answerOf = (answer) => `${listed(answer.tokens)} ${quoted(answer.text)} ${bitsOf(answer.logProbability)}`;
function hashOf(list) {
  let hash = 2166136261;
  for (const each of new Uint8Array(list.buffer, list.byteOffset, list.byteLength)) {
    hash = Math.imul(hash ^ each, 16777619) >>> 0;
  }
  return `${list.length} #${hash}`;
}
const utf8 = new TextDecoder();
const ok = () => "ok";

function line(text) {
  if (isServed) messages.push("served", `${text}\n`);
  else session.send(`${text}\n`);
}
// Notes what `call` gives, or what it throws.
async function row(name, call, show = ok) {
  let said;
  try {
    said = ` = ${show(await call())}`;
  } catch (error) {
    said = ` ! ${error.code}: ${error.message}`;
  }
  line(name + said);
}
// The same of a raw call that gives a future.
const future = (name, call, show = ok) => row(name, () => raw.result(call()), show);

async function models(model) {
  const buffer = new Uint8Array(64);
  await row("models.available-models", () => Model.available(), texts);
  await row("models.get-model", () => Model.open());
  await row("models.get-model", () => Model.open("none"));
  await row("models.available-traits", () => model.traits, texts);
  await row("models.available-traits", () => raw.models.availableTraits(none, buffer));
  await row("adapter.available-adapters", () => model.adapters(), texts);
  await row("adapter.available-adapters", () => raw.adapter.availableAdapters(none, buffer));
  await row("models.trait-version", () => model.traitVersion("forward"), String);
  await row("models.trait-version", () => model.traitVersion("none"));
  await row("models.model-info", () => [model.pageSize, model.contextLength, model.vocabularySize, model.embeddingWidth], listed);
  await row("models.model-info", () => raw.models.modelInfo(none, new Uint32Array(16)));
  await row("models.model-name", () => model.name, quoted);
  await row("models.model-name", () => raw.models.modelName(none, buffer));
}

async function tokens(model) {
  await row("tokenize.tokenize", () => model.tokenize("Once upon a time"), listed);
  await row("tokenize.tokenize", () => model.tokenize(tooLarge));
  await row("tokenize.detokenize", () => model.detokenize([5, 6, 7, 80]), quoted);
  await row("tokenize.detokenize", () => model.detokenize([99999]));
  await row("tokenize.get-vocabs", () => model.vocabulary(), (all) =>
    quoted(`${all.length} ${hashOf(Uint8Array.from(all.flatMap((each) => [...each])))}`));
  await future("tokenize.get-vocabs", () => raw.tokenize.getVocabs(none, 0, 1));
  await row("tokenize.get-token-kinds", () => model.tokenKinds(0, 8), listed);
  await row("tokenize.get-token-kinds", () => model.tokenKinds(tooMany, 8));
  const turns = [{ role: "user", content: 'Hi "you"\n' }];
  await row("tokenize.apply-chat-template", () => model.applyChatTemplate(turns), quoted);
  await future("tokenize.apply-chat-template", () => raw.tokenize.applyChatTemplate(model.handle, "{"));
  await row("tokenize.tokenize-chat", () => model.tokenizeChat(turns), listed);
  await future("tokenize.tokenize-chat", () => raw.tokenize.tokenizeChat(model.handle, "{"));
}

async function constraints(model) {
  await row("constraint.compile-grammar", () => Grammar.jsonSchema(model, "{}"));
  await row("constraint.compile-grammar", () => Grammar.jsonSchema(model, "{"));
  const year = await Grammar.regex(model, "[0-9]{4}");
  await row("constraint.fits", () => year.fits("2026"), String);
  await row("constraint.fits", () => year.fits(tooLarge));
  const context = await Context.create(model);
  context.constrain(year);
  const matcher = year.matcher();
  await row("constraint.create-matcher", () => matcher);
  await row("constraint.create-matcher", () => raw.constraint.createMatcher(none));
  await row("constraint.fork-matcher", () => matcher.fork());
  await row("constraint.fork-matcher", () => raw.constraint.forkMatcher(none));
  await row("constraint.token-mask", () => matcher.tokenMask(), (mask) => quoted(hashOf(Uint32Array.from(mask))));
  await future("constraint.token-mask", () => raw.constraint.tokenMask(none));
  for (const text of ["20", "x"]) {
    const given = await model.tokenize(text);
    await row("constraint.accept-tokens", () => matcher.accept(given), String);
  }
  await row("constraint.roll-back", () => matcher.rollBack(1));
  await row("constraint.roll-back", () => matcher.rollBack(9));
  await row("constraint.forced-tokens", () => matcher.forced(4), listed);
  await future("constraint.forced-tokens", () => raw.constraint.forcedTokens(none, 4));
}

async function queues(model) {
  const queue = Queue.create(model);
  await row("queue.create-queue", () => queue);
  await row("queue.create-queue", () => raw.queue.createQueue(model.handle, 9));
  await row("queue.set-queue-priority", () => queue.setPriority("high"));
  await row("queue.set-queue-priority", () => raw.queue.setQueuePriority(queue.handle, 9));
  await row("queue.synchronize", () => queue.synchronize());
  await future("queue.synchronize", () => raw.queue.synchronize(none));
  await row("queue.destroy-queue", () => raw.queue.destroyQueue(raw.queue.createQueue(model.handle, 0)));
  await row("queue.destroy-queue", () => raw.queue.destroyQueue(none));
}

const drawnOf = ({ token, probability, top }) =>
  [token, bitsOf(probability), ...top.flatMap((each) => [each.token, bitsOf(each.probability)])].join(" ");
const drawsOf = ({ tokens }) => listed(tokens.map(drawnOf));
const usesOf = ({ uses }) => listed(uses.flatMap(({ index, written }) => [index, written]));

async function outputs(queue, out) {
  const chosen = [1, 2];
  const both = [out, out];
  const hash = (numbers) => quoted(hashOf(numbers));
  await row("output.get-next-dist", () => lowLevel.getNextDist(queue, out, 3), distributionOf);
  await row("output.get-next-dist", () => lowLevel.getNextDist(queue, none, 3));
  await row("output.get-next-dists", () => lowLevel.getNextDists(queue, both, 2), (all) => listed(all.map(distributionOf)));
  await row("output.get-next-dists", () => lowLevel.getNextDists(queue, [none], 2));
  await row("output.get-logits", () => lowLevel.getLogits(queue, out), hash);
  await row("output.get-logits", () => lowLevel.getLogits(queue, none));
  await row("output.get-logprobs", () => lowLevel.getLogprobs(queue, out, chosen), floats);
  await row("output.get-logprobs", () => lowLevel.getLogprobs(queue, none, chosen));
  await row("output.get-logprobs-of", () => lowLevel.getLogprobsOf(queue, both, chosen), floats);
  await row("output.get-logprobs-of", () => lowLevel.getLogprobsOf(queue, both, []));
  await row("output.get-entropy", () => lowLevel.getEntropy(queue, out), bitsOf);
  await row("output.get-entropy", () => lowLevel.getEntropy(queue, none));
  await row("output.get-embedding", () => lowLevel.getEmbedding(queue, out), hash);
  await row("output.get-embedding", () => lowLevel.getEmbedding(queue, none));
}

async function exported(queue, pages) {
  const [first, second] = pages;
  await row("allocate.copy-kvpage", () => lowLevel.copyKvpage(queue, first, second, { count: 4 }));
  await row("allocate.copy-kvpage", () => lowLevel.copyKvpage(queue, first, second, { count: 17 }));
  await row("allocate.export-kvpage", () => lowLevel.exportKvpage(queue, [first], "pages"));
  await row("allocate.export-kvpage", () => lowLevel.exportKvpage(queue, [first], "a/b"));
  const imported = await lowLevel.importKvpage(queue, "pages", 1);
  await row("allocate.import-kvpage", () => imported, usesOf);
  imported.pages.release();
  await row("allocate.import-kvpage", () => lowLevel.importKvpage(queue, "none", 1));
  await row("allocate.list-exports", () => lowLevel.listExports(), (all) => texts(all.map((each) => `${each.name} ${each.tokenCount}`)));
  await row("allocate.unexport-kvpage", () => lowLevel.unexportKvpage("pages"));
  await row("allocate.unexport-kvpage", () => lowLevel.unexportKvpage("pages"));
}

async function passes(model, queue) {
  const pages = KvPages.allocate(queue, 2);
  await row("allocate.alloc-kvpage", () => pages.count, String);
  await row("allocate.alloc-kvpage", () => KvPages.allocate(queue, tooMany));
  const embeds = Embeds.allocate(queue, 5);
  await row("allocate.alloc-emb", () => embeds.count, String);
  await row("allocate.alloc-emb", () => Embeds.allocate(queue, tooMany));
  const inputEmbeds = embeds.handles.slice(0, 4);
  const outputEmbeds = embeds.handles.slice(4);
  const outputPages = pages.handles.slice(0, 1);
  await row("input.embed-txt", () => lowLevel.embedTxt(queue, inputEmbeds, [5, 6, 7, 8], [0, 1, 2, 3]));
  await row("input.embed-txt", () => lowLevel.embedTxt(queue, inputEmbeds, [5, 6, 7, 99999], [0, 1, 2, 3]));
  await row("forward.forward", () => lowLevel.forward(queue, { inputEmbeds, outputPages, outputEmbeds }));
  await row("forward.forward", () => lowLevel.forward(queue, { inputEmbeds: [none], outputPages, outputEmbeds }));
  for (const name of ["first", "other"]) {
    await future("adapter.forward-with-adapter", () => raw.adapter.forwardWithAdapter(queue.handle, name, [], inputEmbeds, outputPages, [], "", 0));
  }
  await row("forward.mask-kvpage", () => lowLevel.maskKvpage(queue, outputPages[0], new Uint8Array(16).fill(1)));
  await row("forward.mask-kvpage", () => lowLevel.maskKvpage(queue, outputPages[0], new Uint8Array(3).fill(1)));
  await outputs(queue, outputEmbeds[0]);
  await row("draw.draw-tokens", () => lowLevel.drawTokens(model, queue, outputEmbeds, greedyDrawer()), drawsOf);
  await future("draw.draw-tokens", () => raw.draw.drawTokens(queue.handle, [none], none, [], [], [], 0));
  await exported(queue, pages.handles);
  await row("allocate.dealloc-kvpage", () => pages.release());
  await row("allocate.dealloc-kvpage", () => raw.allocate.deallocKvpage(queue.handle, [none]));
  await row("allocate.dealloc-emb", () => embeds.release());
  await row("allocate.dealloc-emb", () => raw.allocate.deallocEmb(queue.handle, [none]));
}

async function computing(context) {
  await row("context.create", () => raw.context.create(none));
  await row("context.append", () => context.append([5, 6, 7]));
  await row("context.append", () => context.append([99999]));
  await row("context.flush", () => context.flush(), countersOf);
  await future("context.flush", () => raw.context.flush(none));
  context.append([8]);
  await row("context.forward", () => context.forward(1), ({ counters }) => countersOf(counters));
  await future("context.forward", () => raw.context.forward(context.handle, [none]));
  await row("context.forward as next_distribution", () => context.nextDistribution(3), distributionOf);
  await row("output.get-logits as next_logits", () => context.nextLogits(), (logits) => quoted(hashOf(logits)));
  await row("output.get-logprobs-of as score", () => context.score(" one"), ({ logProbability }) => bitsOf(logProbability));
}

async function editing(context) {
  const fork = await context.fork();
  await row("context.fork", () => fork.tokenCount, String);
  await future("context.fork", () => raw.context.fork(none));
  await row("context.truncate", () => fork.truncate(1), countersOf);
  await row("context.truncate", () => fork.truncate(99));
  await row("context.drop-range", () => fork.dropRange(0, 1), countersOf);
  await row("context.drop-range", () => fork.dropRange(0, 99));
  await row("context.rewind", () => fork.rewind(2), countersOf);
  await row("context.rewind", () => fork.rewind(99));
  await row("context.splice", () => fork.splice(context, 0, 2), countersOf);
  await row("context.splice", () => fork.splice(context, 0, 99));
  await row("context.hint", () => fork.hint("will-resume"));
  await row("context.hint", () => raw.context.hint(fork.handle, 99, 0));
  await row("context.allow-beyond-context", () => fork.allowBeyondContext());
  await row("context.allow-beyond-context", () => raw.context.allowBeyondContext(fork.handle, 7));
  await row("context.mark", () => fork.mark());
  await row("context.mark", () => raw.context.mark(none));
  await row("adapter.use-adapters", () => fork.use({ first: 0.5 }));
  await row("adapter.use-adapters", () => fork.use({ none: 1 }));
}

async function workingPages(model, queue) {
  const context = await Context.create(model);
  await row("context.create", () => context);
  await row("context.reserve-working-pages", () => context.reserveWorkingPages(2), countersOf);
  await row("context.reserve-working-pages", () => context.reserveWorkingPages(tooMany));
  const twenty = new Array(20).fill(5);
  context.append(twenty);
  await context.flush();
  await row("context.commit-working-pages", () => context.commitWorkingPages(0), countersOf);
  await row("context.commit-working-pages", () => context.commitWorkingPages(1));
  const shared = await context.pages();
  await row("context.pages", () => shared, usesOf);
  await future("context.pages", () => raw.context.pages(none, 0, 0, new Int32Array(0)));
  await row("context.from-pages", () => Context.fromPages(model, queue, shared.pages.handles, twenty), ({ tokenCount }) => String(tokenCount));
  await future("context.from-pages", () => raw.context.fromPages(queue.handle, [none], twenty.slice(0, 5)));
  await row("context.truncate-working-page-tokens", () => context.truncateWorkingPageTokens(1), countersOf);
  await row("context.truncate-working-page-tokens", () => context.truncateWorkingPageTokens(99));
  await row("context.release-working-pages", () => context.releaseWorkingPages(1), countersOf);
  await row("context.release-working-pages", () => context.releaseWorkingPages(99));
  const numbers = {
    "seq-len": "seqLen", "page-size": "pageSize", "committed-page-count": "committedPageCount", "working-page-count": "workingPageCount",
    "working-page-token-count": "workingPageTokenCount", "found-token-count": "foundTokenCount",
  };
  for (const [call, member] of Object.entries(numbers)) {
    await row(`context.${call}`, () => context[member], String);
    await row(`context.${call}`, () => raw.context[member](none));
  }
}

async function sharing(context) {
  const length = ({ tokenCount }) => String(tokenCount);
  await row("allocate.export-kvpage as share", () => context.share("shared"));
  await row("allocate.export-kvpage as share", () => context.share("a/b"));
  await row("allocate.import-kvpage as open_shared", () => Context.openShared("shared"), length);
  await row("allocate.import-kvpage as open_shared", () => Context.openShared("none"), length);
  await row("allocate.unexport-kvpage as unshare", () => Context.unshare("shared"));
  await row("allocate.unexport-kvpage as unshare", () => Context.unshare("shared"));
}

async function snapshots(context) {
  const length = ({ tokenCount }) => String(tokenCount);
  await future("context.save", () => raw.context.save(context.handle, "plain", 0, 0));
  await future("context.save", () => raw.context.save(context.handle, "a/b", 0, 0));
  await row("context.save-with-note", () => context.save("noted"));
  await row("context.save-with-note", () => context.save("noted"));
  await row("context.open", () => Context.open("noted"), length);
  await row("context.open", () => Context.open("none"), length);
  await row("context.note-of", () => raw.context.noteOf(context.handle, new Uint8Array(0)), String);
  await row("context.note-of", () => raw.context.noteOf(none, new Uint8Array(0)));
  await row("context.list", () => Context.list(), ({ snapshots }) => texts(snapshots.map((each) => `${each.name} ${each.tokenCount}`)));
  await row("context.take", () => Context.take("noted"), length);
  await row("context.take", () => Context.take("noted"), length);
  await row("context.delete", () => Context.delete("plain"));
  await row("context.delete", () => Context.delete("plain"));
}

async function generating(context) {
  const options = { temperature: 0.8, seed: 7, maxTokens: 6, ignoreStopTokens: true };
  const length = context.tokenCount;
  const answer = await context.generate(options);
  await row("draw.generate", () => answer, answerOf);
  await row("draw.generate", () => context.generate({ ...options, temperature: -1 }));
  await context.rewind(length);
  const generator = context.generate(options);
  const { value: piece } = await generator.next();
  await row("draw.next-draws", () => piece, ({ token, text, probability }) => quoted(`${token} ${quoted(text)} ${bitsOf(probability)}`));
  await future("draw.next-draws", () => raw.draw.nextDraws(none, 1));
  await row("draw.stop-generation", () => generator.end());
  await future("draw.stop-generation", () => raw.draw.stopGeneration(none));
  await context.rewind(length);
  const draft = (given) => answer.tokens.slice(given.tokenCount - length);
  await row("draw.verify as draft", () => context.generate({ ...options, draft }), answerOf);
  await context.rewind(length);
  const drafts = draftsFrom(context).predict(answer.tokens);
  await row("draw.verify as drafts", () => context.generate({ ...options, draft: drafts }), answerOf);
  await context.rewind(length);
}

function greedyDrawer() {
  const drawer = Drawer.create({ temperature: 0 });
  drawer.reportTop(2);
  return drawer;
}

async function drawing(context) {
  const drawer = greedyDrawer();
  await row("draw.create-rule", () => drawer);
  await row("draw.create-rule", () => raw.draw.createRule(context.model.handle, new Uint8Array([1, 0, 0])));
  await row("draw.forward-draw", () => context.draw(drawer), drawnOf);
  await future("draw.forward-draw", () => raw.draw.forwardDraw(none, none, [], [], 0.5, 0, 0));
  await row("draw.verify", () => context.verify([3, 4], drawer), drawsOf);
  await future("draw.verify", () => raw.draw.verify(none, none, [], [], [], [], 0, 0));
}

async function contexts(model, queue) {
  const context = await Context.create(model);
  await computing(context);
  await editing(context);
  await workingPages(model, queue);
  await snapshots(context);
  await sharing(context);
  await generating(context);
  await drawing(context);
}

async function futures() {
  const nap = raw.runtime.sleep(1e6);
  await row("future.wait", () => raw.future.wait([nap], -1), String);
  const night = raw.runtime.sleep(60e9);
  await row("future.wait", () => raw.future.wait([night], 0));
  await row("future.poll", () => raw.future.poll([nap], new Uint8Array(1)), (count) => String(count === 1));
  await row("future.poll", () => raw.future.poll([none], new Uint8Array(1)));
  await row("future.take", () => raw.future.take(nap, new Uint8Array(0)));
  await row("future.take", () => raw.future.take(none, new Uint8Array(0)));
  const controller = new AbortController();
  const { signal } = controller;
  const answer = (await Context.create()).generate({ signal }).collect().catch(() => {});
  controller.abort();
  await answer;
  await row("future.drop", () => raw.future.drop(night));
  await row("future.drop", () => raw.future.drop(none));
}

async function messaging() {
  const news = messages.subscribe("news");
  await row("messaging.subscribe", () => news);
  await row("messaging.subscribe", () => messages.subscribe("a/b"));
  await row("messaging.broadcast", () => messages.broadcast("news", "first"), String);
  await row("messaging.broadcast", () => messages.broadcast("a/b", "first"), String);
  await row("messaging.next-message", () => news.receive(), quoted);
  await future("messaging.next-message", () => raw.messaging.nextMessage(none));
  await row("messaging.unsubscribe", () => raw.messaging.unsubscribe(raw.messaging.subscribe("news")));
  await row("messaging.unsubscribe", () => raw.messaging.unsubscribe(none));
  await row("messaging.push", () => messages.push("work", "one"));
  await row("messaging.push", () => messages.push("a/b", "one"));
  await row("messaging.pull", () => messages.pull("work"), quoted);
  await row("messaging.pull", () => messages.pull("a/b"));
}

async function requests(at) {
  const denied = "http://127.0.0.1:1/";
  const whole = ({ status, body }) => quoted(`${status} ${body}`);
  await row("net.http-get", () => http.get(`${at}/page`), whole);
  await row("net.http-get", () => http.get(denied), whole);
  await row("net.http-post", () => http.post(`${at}/echo`, "a body"), whole);
  await row("net.http-post", () => http.post(denied, "a body"), whole);
  if ((await (await fetch(`${at}/page`)).text()) !== "a page") throw new Error("fetch gave another page");
  const upload = Exchange.open("PUT", `${at}/echo`, [], 10);
  await row("net.http-request", () => upload);
  await row("net.http-request", () => Exchange.open("get", at, [], 0));
  await row("net.write-body", () => upload.write("hello"));
  await row("net.finish-body", () => upload.finish());
  await upload.write("world");
  await row("net.write-body", () => upload.write("more"));
  await row("net.finish-body", () => upload.finish());
  await row("net.response-head", () => upload.head(), ({ status }) => String(status));
  await future("net.response-head", () => raw.net.responseHead(none));
  let body = ".";
  for (let piece = "."; piece !== ""; body += piece) piece = utf8.decode(await upload.read());
  await row("net.read-body", () => body.slice(1), quoted);
  await future("net.read-body", () => raw.net.readBody(none));
}

async function sessions() {
  await row("session.receive", () => session.receive(), quoted);
  await row("session.receive", () => session.receive());
  await row("session.send", () => session.send(""));
  await row("session.send", () => session.send(tooLarge));
  await row("session.send-file", () => session.sendFile("out.txt", "text/plain", "hello"));
  await row("session.send-file", () => session.sendFile("out.txt", "", "hello"));
  const file = raw.session.sendFile("raw.txt", "text/plain", 5);
  await future("session.write-file", () => raw.session.writeFile(file, "hello"));
  await future("session.write-file", () => raw.session.writeFile(none, "hello"));
  const given = await session.receiveFile();
  await row("session.receive-file", () => [given.name, given.mediaType, String(given.fileBytes)], texts);
  await row("session.receive-file", () => session.receiveFile());
  let all = "";
  for (let part = "."; part !== ""; all += part) part = utf8.decode(await given.read());
  await row("session.read-file", () => all, quoted);
  await future("session.read-file", () => raw.session.readFile(none));
}

async function values() {
  await row("store.put", () => store.put("key", "value"));
  await row("store.put", () => store.put("", "value"));
  await row("store.get", () => store.get("key"), ({ text }) => quoted(text));
  await row("store.get", () => store.get("none"));
  await row("store.list-keys", () => store.listKeys("k"), ({ keys }) => texts(keys.map((each) => `${each.name} ${each.valueBytes}`)));
  await row("store.list-keys", () => store.listKeys(tooLarge));
  await row("store.delete", () => store.remove("key"));
  await row("store.delete", () => store.remove("key"));
}

const endKinds = ["finished", "trapped", "limit-exceeded", "killed", "not-started"];
const endOf = ({ kind, exitCode, result }) => quoted(`${endKinds.indexOf(kind)} ${exitCode} ${result}`);

async function children() {
  const child = Child.launch({ arguments: ["child"] });
  await row("runtime.launch", () => child);
  await row("runtime.launch", () => Child.launch({ program: "none" }));
  await row("runtime.send-child", () => child.send("hello"));
  await row("runtime.send-child", () => child.send(tooLarge));
  await row("runtime.receive-child", () => child.receive(), quoted);
  await row("runtime.receive-child", () => child.receive());
  await row("runtime.wait-child", () => child.wait(), endOf);
  await future("runtime.wait-child", () => raw.runtime.waitChild(none));
  const other = Child.launch({ arguments: ["child"] });
  await row("runtime.kill-child", () => other.kill());
  await row("runtime.kill-child", () => raw.runtime.killChild(none));
  await row("runtime.wait-child", () => other.wait(), endOf);
}

async function instance() {
  const words = runtime.arguments();
  await row("runtime.get-arg-count", () => words.length, String);
  await row("runtime.get-arg", () => words[0], quoted);
  await row("runtime.get-arg", () => raw.runtime.getArg(99, new Uint8Array(64)));
  await row("runtime.get-version", () => runtime.version(), quoted);
  await row("runtime.get-instance-id", () => runtime.instanceId() > 0, String);
  await row("runtime.get-tenant", () => runtime.tenant(), quoted);
  await row("runtime.limits", () => runtime.limits(), (text) => String(text.split("\n").length - 1));
  await row("runtime.misses", () => runtime.misses());
  await row("runtime.log", () => runtime.log("info", "a line"));
  await row("runtime.log", () => raw.runtime.log(9, "a line"));
  await row("runtime.set-result", () => runtime.setResult("done"));
  await row("runtime.set-result", () => runtime.setResult(tooLarge + tooLarge));
  await row("runtime.clock-now", () => runtime.now() > 0, String);
  await row("runtime.sleep", () => sleep(1));
  await future("runtime.sleep", () => raw.runtime.sleep(-1));
  await row("runtime.random", () => runtime.random(8));
  await row("runtime.random", () => runtime.random(65537));
  const message = new Uint8Array(256);
  const bytes = raw.runtime.lastError(message);
  await row("runtime.last-error", () => utf8.decode(message.subarray(0, bytes)), quoted);
}

async function absent(model, queue) {
  await row("adapter.available-adapters", () => raw.adapter.availableAdapters(model.handle, new Uint8Array(64)));
  await future("adapter.forward-with-adapter", () => raw.adapter.forwardWithAdapter(queue.handle, "name", [], [], [], [], "", 0));
  await row("input-image.num-embs-needed", () => raw.inputImage.numEmbsNeeded(model.handle, 8, 8));
  await future("input-image.embed-img", () => raw.inputImage.embedImg(queue.handle, [], "PNG", []));
  await row("serve.request-head", () => raw.serve.requestHead(new Uint8Array(64)));
  await future("serve.read-request", () => raw.serve.readRequest());
  await row("serve.respond", () => raw.serve.respond(200, "", 0));
  await future("serve.write-response", () => raw.serve.writeResponse("a"));
  await row("serve.finish-response", () => raw.serve.finishResponse());
}

// The request that the test sends when it reads "ready": its instance pushes five lines.
async function served() {
  line("ready");
  for (let i = 0; i < 5; ++i) session.send(await messages.pull("served"));
}

export async function serve(request, response) {
  isServed = true;
  await row("serve.request-head", () => `${request.method} ${request.target}`, quoted);
  let body = "";
  for (let part = "."; part !== ""; body += part) part = utf8.decode(await request.read());
  await row("serve.read-request", () => body, quoted);
  await row("serve.respond", () => response.begin(200, { "content-type": "text/plain" }));
  await row("serve.write-response", () => response.write("hello"));
  await row("serve.finish-response", () => response.finish());
}

// A server without a store, and without reasons for misses.
async function bare() {
  await row("context.list", () => Context.list());
  await row("runtime.misses", () => runtime.misses());
}

// Random numbers, for seed_test.py.
async function random(isChild) {
  const bytes = runtime.random(8);
  if (isChild) return session.send([...bytes].join(" "));
  session.send(`bytes ${[...bytes].join(" ")}\n`);
  session.send(`own ${Math.random()} ${crypto.randomUUID()}\n`);
  const context = await Context.create();
  await context.appendText("Once");
  const { tokens } = await context.generate({ temperature: 1, maxTokens: 8 });
  session.send(`tokens ${tokens.join(" ")}\n`);
  session.send(`child ${await Child.launch({ arguments: ["random child"] }).receive()}\n`);
}

async function child() {
  session.send(`heard ${await session.receive()}`);
  runtime.setResult("well");
}

export default async function program() {
  const [word, at] = runtime.arguments();
  if (word === "child") return child();
  if (word === "bare") return bare();
  if (word.startsWith("random")) return random(word !== "random");
  const model = Model.open();
  const queue = Queue.create(model);
  await instance();
  await models(model);
  await tokens(model);
  await constraints(model);
  await queues(model);
  await passes(model, queue);
  await contexts(model, queue);
  await futures();
  await messaging();
  await requests(at);
  await sessions();
  await values();
  await children();
  await absent(model, queue);
  await served();
}
