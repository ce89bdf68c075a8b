// Each call of session, runtime, store, messages and Child, rightly and wrongly; and the raw calls.
import { Child, runtime, session, sleep, store, messages, Context, type Options } from "quire";
import raw from "quire/raw";
import { equal, fails, holds } from "./check.ts";

export const options = { child: { type: "boolean", description: "Be a child" } } satisfies Options;
const wrong = (value: unknown) => value as any;

async function stores() {
  const version = await store.put("key", "value");
  equal((await store.get("key")).text, "value");
  await fails(() => store.put("key", "other", "none"), "already-exists");
  await store.put("key", new Uint8Array([1, 2]), { version });
  equal([...(await store.get("key")).bytes], [1, 2]);
  await store.putJson("json", { a: [1] });
  equal((await store.getJson("json")).json, { a: [1] });
  await fails(() => store.getJson("key"), "SyntaxError: the value of key");
  equal((await store.allKeys("")).map(({ name }) => name), ["json", "key"]);
  equal((await store.listKeys("", { count: 1 })).hasMore, true);
  await store.remove("key");
  await fails(() => store.get("key"), "not-found");
  await fails(() => store.put("key", wrong(5)), "store.put: argument 2 must be a string, a Uint8Array");
  await fails(() => store.put("key", "x", wrong({})), '{version} or "none"');
}

async function others() {
  const news = messages.subscribe("news");
  equal(messages.broadcast("news", "hello"), 1);
  equal(await news.receive(), "hello");
  messages.push("work", "a job");
  equal(await messages.pull("work"), "a job");
  const child = Child.launch({ arguments: ["--child"], sharePercent: 20 });
  child.send("ping");
  const heard: string[] = [];
  await child.forward((text) => void heard.push(text));
  equal(heard, ["pong to ping"]);
  const end = await child.wait();
  equal([end.kind, end.exitCode, end.result], ["finished", 0, '{"done":true}']);
  await fails(() => Child.launch({ program: "nobody" }), "not-found");
  await fails(() => Child.launch(wrong({ args: [] })), "there is no option args");
}

async function instance() {
  equal(runtime.arguments(), []);
  holds(/^\d+\.\d+/.test(runtime.version()), "the server has a version");
  holds(runtime.instanceId() > 0 && runtime.tenant() !== "" && runtime.limits().includes("memory_bytes_max"), "an instance has numbers");
  equal(runtime.random(8).length, 8);
  await fails(() => runtime.random(70000), "too-large");
  await fails(() => runtime.log(wrong("loud"), "x"), '"debug", "info"');
  await fails(() => runtime.misses(), "not-supported");
  const begin = runtime.now();
  await sleep(5);
  holds(runtime.now() - begin >= 5, "sleep takes its time");
  await fails(() => session.send(wrong(5)), "session.send: argument 1 must be a string");
}

async function calls() {
  const context = await Context.create();
  await context.appendText("Some text");
  const counters = await raw.result(raw.context.flush(context.handle));
  equal(new Uint32Array(counters.slice().buffer)[0], context.seqLen);
  const info = new Uint32Array(64);
  raw.models.modelInfo(context.model.handle, info);
  equal(info[2], context.model.vocabularySize);
  const queue = raw.queue.createQueue(context.model.handle, 1);
  const pages = new Int32Array(2);
  holds(raw.allocate.allocKvpage(queue, 2, pages) >= 0, "pages are there");
  holds(raw.allocate.deallocKvpage(queue, pages) >= 0, "pages go back");
  await fails(() => raw.allocate.allocKvpage(queue, 3, pages), "the typed array is too short");
  await fails(() => raw.allocate.allocKvpage(queue, 2, wrong([0, 0])), "a typed array that is written to");
  await fails(() => raw.context.seqLen(2 ** 31 - 1), "not-found");
  await fails(() => raw.context.seqLen(wrong("1")), "context.seqLen: argument 1 must be a whole number");
  const timer = raw.runtime.sleep(1_000_000);
  equal(raw.future.wait([timer], -1), 0);
  await fails(() => raw.result(wrong({})), "raw.result: argument 1 must be");
  holds(raw.future.drop(queue) >= 0, "the queue goes");
}

export default async function program({ child }: { child: boolean }) {
  if (child) {
    session.send(`pong to ${await session.receive()}`);
    return { done: true };
  }
  for (const part of [stores, others, instance, calls]) {
    await part();
    session.send(`${part.name}\n`);
  }
  return undefined;
}
