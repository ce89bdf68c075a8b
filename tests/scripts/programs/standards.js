// Tests of the globals of scripts where their standards say more than platform.js asks.
import { session } from "quire";
import { equal, fails, holds } from "./check.ts";

function urls() {
  const url = new URL("http://h/a?b#c");
  Object.assign(url, { protocol: "https:", hostname: "x.y", port: "8080", username: "me", password: "p:w", pathname: "/q w" });
  equal(url.href, "https://me:p%3Aw@x.y:8080/q%20w?b#c");
  url.host = "n:9";
  url.protocol = "mailto:";  // From a special scheme to another kind: it stays.
  url.port = "99999";
  equal(url.href, "https://me:p%3Aw@n:9/q%20w?b#c");
  const parameters = url.searchParams;
  url.search = "?x=1";
  equal([...parameters], [["x", "1"]]);
  parameters.set("y", "2 3");
  equal(url.search, "?x=1&y=2+3");
  parameters.delete("x");
  parameters.delete("y");
  equal(url.href, "https://me:p%3Aw@n:9/q%20w#c");
  const written = {
    "HTTP://B\u00fccher.example/\u00fc?\u00fc='#\u00fc`": "http://xn--bcher-kva.example/%C3%BC?%C3%BC=%27#%C3%BC%60",
    "http://\uff11\uff12\uff17.1/": "http://127.0.0.1/", "http://[::ffff:1.2.3.4]/": "http://[::ffff:102:304]/",
    "file:///C|/a/../..": "file:///C:/", "blob:https://a.b/c": "blob:https://a.b/c", "web+x:/..//p": "web+x:/.//p",
    "http://u@s@h/": "http://u%40s@h/", "data:a b #c": "data:a%20b%20#c".replace("a%20b", "a b"), "http://h/\ud800": "http://h/%EF%BF%BD",
  };
  for (const [given, wanted] of Object.entries(written)) equal(new URL(given).href, wanted, given);
  for (const bad of ["http://a%00b/", "http://xn--a/", "http://1.2.3.400/", "http://h:x/", "http://\u00ad/", "//h"]) {
    equal([URL.canParse(bad), URL.parse(bad)], [false, null], bad);
  }
  equal([URL.canParse("x", "http://h/"), URL.parse("?q", "http://h/a").href], [true, "http://h/a?q"]);
  equal(new URL("blob:https://a.b/c").origin, "https://a.b");
}

async function encodings() {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  equal(decoder.decode(Uint8Array.of(0xe2, 0x82), { stream: true }), "");
  await fails(() => decoder.decode(), "TypeError");
  equal(decoder.decode(Uint8Array.of(0xe2, 0x82, 0xac)), "\u20ac");
  await fails(() => decoder.decode(Uint8Array.of(0x61, 0xff), { stream: true }), "TypeError");
  const mark = Uint8Array.of(0xef, 0xbb, 0xbf, 0x62);
  const streamed = new TextDecoder();
  equal(streamed.decode(mark.subarray(0, 2), { stream: true }) + streamed.decode(mark.subarray(2), { stream: true }) + streamed.decode(mark), "b\ufeffb");
  equal(new TextDecoder("utf-8", { ignoreBOM: true }).decode(mark), "\ufeffb");
  equal(new TextDecoder().decode(new DataView(mark.buffer, 3)), "b");
  equal([...new TextEncoder().encode("\ud83d\ude00\ude00")], [0xf0, 0x9f, 0x98, 0x80, 0xef, 0xbf, 0xbd]);
  equal(new TextEncoder().encodeInto("a\u20ac\u20ac", new Uint8Array(5)), { read: 2, written: 4 });
  equal(new TextDecoder("latin1").decode(Uint8Array.of(0x80, 0xe4)), "\u20ac\u00e4");
  equal(new TextDecoder("UTF-16").decode(Uint8Array.of(0xff, 0xfe, 0x3d, 0xd8, 0x00)), "\ufffd");
  await fails(() => new TextDecoder("utf-7"), "RangeError", "utf-16le");
  await fails(() => new TextDecoder().decode("text"), "TypeError");
}

async function clones() {
  const buffer = new ArrayBuffer(8);
  const views = structuredClone([new Uint8Array(buffer, 2, 4), new DataView(buffer)], { transfer: [buffer] });
  equal([buffer.byteLength, views[0].length, views[0].buffer === views[1].buffer], [0, 4, true]);
  await fails(() => structuredClone(buffer, { transfer: [buffer] }), "DataCloneError", "detached");
  const kept = new ArrayBuffer(4);
  await fails(() => structuredClone([kept, () => 1], { transfer: [kept] }), "DataCloneError");
  equal(kept.byteLength, 4);
  const error = Object.assign(new RangeError("r", { cause: { why: 1 } }), { extra: 1 });
  const copy = structuredClone(error);
  equal([copy instanceof RangeError, copy.message, copy.cause, copy.stack === error.stack], [true, "r", { why: 1 }, true]);
  const own = JSON.parse('{"__proto__":{"a":1}}');
  equal(Object.hasOwn(structuredClone(own), "__proto__"), true);
  equal([structuredClone(Object("text")) instanceof String, structuredClone(new DOMException("m", "AbortError")).code], [true, 20]);
  let chain = null;
  for (let at = 0; at < 5000; at += 1) chain = { chain };
  let depth = 0;
  for (let each = structuredClone(chain); each !== null; each = each.chain) depth += 1;
  equal(depth, 5000);
  const refused = [Symbol("s"), new WeakMap(), Promise.resolve(), new Proxy({}, {}), new URL("http://h/"), new AbortController().signal, [][Symbol.iterator]()];
  for (const each of refused) await fails(() => structuredClone({ each }), "DataCloneError");
}

async function tasks() {
  const order = [];
  const done = new Promise((resolve) => setTimeout(resolve, 30));
  setTimeout(() => order.push("late"), 2);
  setTimeout(() => {
    order.push(1);
    Promise.resolve().then(() => Promise.resolve()).then(() => order.push("micro"));
    clearTimeout(second);
  }, 1);
  const second = setTimeout(() => order.push("never"), 1);
  setTimeout((...words) => order.push(...words), 1, 3, 4);
  const begin = performance.now();
  while (performance.now() - begin < 8);
  await done;
  equal(order, [1, "micro", 3, 4, "late"]);
  let count = 0;
  await new Promise((resolve) => {
    const interval = setInterval(() => {
      count += 1;
      if (count === 3) clearInterval(interval);
      if (count === 3) setTimeout(resolve, 5);
    });
  });
  equal(count, 3);
}

async function events() {
  const seen = [];
  const target = new EventTarget();
  const controller = new AbortController();
  const listener = { handleEvent: (event) => seen.push(event.type, event.eventPhase) };
  target.addEventListener("a", listener, { signal: controller.signal });
  target.addEventListener("a", () => seen.push("capture"), { capture: true, once: true });
  target.addEventListener("a", (event) => event.preventDefault(), { passive: true });
  equal(target.dispatchEvent(new CustomEvent("a", { cancelable: true, detail: 5 })), true);
  controller.abort();
  target.dispatchEvent(new Event("a"));
  equal(seen.splice(0), ["capture", "a", 2]);
  target.addEventListener("b", (event) => event.stopImmediatePropagation());
  target.addEventListener("b", () => seen.push("never"));
  target.dispatchEvent(new Event("b"));
  await fails(() => target.dispatchEvent({ type: "b" }), "TypeError");
  // An exception is reported, and the other listeners are called.
  const caught = (event) => {
    seen.push(event.error.message);
    event.preventDefault();
  };
  addEventListener("error", caught);
  target.addEventListener("c", () => {
    throw new Error("in a listener");
  });
  target.addEventListener("c", () => seen.push("after"));
  target.dispatchEvent(new Event("c"));
  queueMicrotask(() => {
    throw new Error("in a microtask");
  });
  await null;
  removeEventListener("error", caught);
  equal(seen.splice(0), ["in a listener", "after", "in a microtask"]);
  const rejected = new Promise((resolve) => addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    resolve(event.reason);
  }, { once: true }));
  Promise.reject(7);
  equal(await rejected, 7);
  const first = new AbortController();
  const any = AbortSignal.any([first.signal, AbortSignal.any([first.signal])]);
  any.onabort = (event) => seen.push(event.target === any, event.isTrusted);
  first.signal.addEventListener("abort", () => seen.push(any.aborted));
  first.abort(null);
  equal([seen, any.reason], [[true, true, true], null]);
}

async function requests() {
  await fails(() => fetch("http://h/", { redirects: "manual" }), "TypeError", "there is no option redirects; there are: body, headers");
  await fails(() => fetch("http://h/", { redirect: "manual" }), "TypeError", 'redirect: "manual"');
  await fails(() => fetch("http://h/", { redirect: "never" }), "TypeError", '"follow", "error" or "manual"');
  await fails(() => fetch("http://h/", { method: "TRACE" }), "TypeError", "TRACE");
  const headers = new Headers([["B", " 1 "], ["a", "2"], ["b", "3"], ["Set-Cookie", "x"], ["set-cookie", "y"]]);
  equal([...headers], [["a", "2"], ["b", "1, 3"], ["set-cookie", "x"], ["set-cookie", "y"]]);
  for (const bad of [["a b", "c"], ["a", "b\nc"], ["a", "\u20ac"]]) await fails(() => headers.append(...bad), "TypeError");
  const response = Response.json({ a: 1 }, { status: 201 });
  equal([response.status, response.headers.get("content-type"), await response.json()], [201, "application/json", { a: 1 }]);
}

export default async function program() {
  for (const part of [urls, encodings, clones, tasks, events, requests]) {
    await part();
    session.send(`${part.name}\n`);
  }
}
