// Tests of the globals that a script finds without an import.
import { session } from "quire";
import { equal, fails, holds } from "./check.ts";

const urls = {
  "HTTP://user:pw@Example.com:80/a/./b/../c?x=1&y=a b#f g": "http://user:pw@example.com/a/c?x=1&y=a%20b#f%20g",
  "https://example.com": "https://example.com/",
  "https://example.com:8443/%7Ea": "https://example.com:8443/%7Ea",
  "http://[2001:DB8:0:0:1:0:0:1]/": "http://[2001:db8::1:0:0:1]/",
  "http://0x7f.1/": "http://127.0.0.1/",
  "data:text/plain,hello": "data:text/plain,hello",
  "https:\\\\a\\b": "https://a/b",
};
const relative = { "../d": "http://h/a/d", "?q": "http://h/a/b/c?q", "#f": "http://h/a/b/c?x#f", "//other/x": "http://other/x", "/r": "http://h/r", "": "http://h/a/b/c?x" };

function locations() {
  for (const [given, wanted] of Object.entries(urls)) equal(new URL(given).href, wanted, given);
  for (const [given, wanted] of Object.entries(relative)) equal(new URL(given, "http://h/a/b/c?x#y").href, wanted, given);
  for (const bad of ["", "x", "http://", "http://a b/", "http://h:99999/", "http://[1::2::3]/", "http://1.2.3.4.5/", "http://xn--ü/"]) {
    equal(URL.canParse(bad), false, bad);
  }
  const url = new URL("http://h/?a=1&b=2&a=3");
  equal(url.searchParams.getAll("a"), ["1", "3"]);
  url.searchParams.append("c", "ü &");
  url.searchParams.delete("b");
  equal(url.search, "?a=1&a=3&c=%C3%BC+%26");
  url.pathname = "/x y";
  url.port = "8080";
  url.hash = "z";
  equal(String(url), "http://h:8080/x%20y?a=1&a=3&c=%C3%BC+%26#z");
  equal(JSON.stringify({ url }), `{"url":"${url.href}"}`);
  equal([...new URLSearchParams({ q: "a=b&c" })], [["q", "a=b&c"]]);
}

async function bytes() {
  const text = "aü€😀";
  equal(new TextDecoder().decode(new TextEncoder().encode(text)), text);
  const decoder = new TextDecoder();
  const all = new TextEncoder().encode(text);
  let joined = "";
  for (const byte of all) joined += decoder.decode(new Uint8Array([byte]), { stream: true });
  equal(joined + decoder.decode(), text);
  equal(new TextDecoder().decode(new Uint8Array([0xff, 65])), "\ufffdA");
  await fails(() => new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([0xff])), "TypeError");
  await fails(() => new TextDecoder("utf-7"), "RangeError");
  equal(atob(btoa("abc")), "abc");
  equal(crypto.getRandomValues(new Uint8Array(16)).length, 16);
  holds(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()), "a UUID has its form");
  await fails(() => crypto.getRandomValues(new Uint8Array(70000)), "QuotaExceededError");
}

async function clones() {
  const value = { date: new Date(5), map: new Map([["k", new Set([1])]]), list: [1, , 3], bytes: new Uint8Array([1, 2]), error: new RangeError("x") };
  value.self = value;
  const copy = structuredClone(value);
  holds(copy !== value && copy.self === copy, "cycles are kept");
  equal([copy.date.getTime(), [...copy.map.get("k")], copy.list.length, [...copy.bytes], copy.error.name], [5, [1], 3, [1, 2], "RangeError"]);
  await fails(() => structuredClone(() => 1), "DataCloneError");
}

async function times() {
  const order = [];
  const begin = performance.now();
  setTimeout(() => order.push("late"), 20);
  setTimeout((word) => order.push(word), 1, "early");
  clearTimeout(setTimeout(() => order.push("never"), 2));
  queueMicrotask(() => order.push("at once"));
  let count = 0;
  const interval = setInterval(() => (++count === 3 ? clearInterval(interval) : undefined), 2);
  await new Promise((resolve) => setTimeout(resolve, 40));
  equal(order, ["at once", "early", "late"]);
  equal(count, 3);
  holds(performance.now() - begin >= 40 && performance.now() < 60_000, "times count from the launch");
  holds(Math.abs(Date.now() - performance.timeOrigin - performance.now()) < 1000, "the time of day goes with it");
  await fails(() => setTimeout("code", 1), "TypeError: setTimeout: argument 1 must be a function");
}

async function signals() {
  const { signal } = new AbortController();
  equal(signal.aborted, false);
  const controller = new AbortController();
  const seen = [];
  controller.signal.addEventListener("abort", () => seen.push(1), { once: true });
  controller.signal.onabort = () => seen.push(2);
  controller.abort("why");
  controller.abort("again");
  equal([seen, controller.signal.reason], [[1, 2], "why"]);
  equal(AbortSignal.any([signal, controller.signal]).aborted, true);
  await fails(() => AbortSignal.abort().throwIfAborted(), "AbortError");
  const timeout = AbortSignal.timeout(5);
  await new Promise((resolve) => timeout.addEventListener("abort", resolve));
  equal(timeout.reason.name, "TimeoutError");
  await fails(() => new AbortSignal(), "TypeError");
  await fails(() => fetch("http://127.0.0.1:1/", { signal: AbortSignal.abort() }), "AbortError");
  await fails(() => fetch("http://127.0.0.1:1/"), "permission-denied");
  await fails(() => fetch("nothing"), "Invalid URL");
}

function lines() {
  console.log("%s is %d, %j", "x", 5, { a: 1 }, [1, "two", { three: 3 }]);
  console.log({ deep: { deeper: { deepest: { most: { more: {} } } } } }, new Map([[1, "a"]]), null, undefined, 5n);
  console.group("group");
  console.warn("within");
  console.groupEnd();
  const circle = {};
  circle.circle = circle;
  console.log(circle);
}

export default async function program() {
  for (const part of [locations, bytes, clones, times, signals, lines]) {
    await part();
    session.send(`${part.name}\n`);
  }
}
