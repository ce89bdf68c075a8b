// fetch and http against the server of the test, whose address is the first word.
import { Exchange, http, session } from "quire";
import { equal, fails, holds } from "./check.ts";

export default async function program({ words: [at] }) {
  const page = await fetch(`${at}/json?x=ü`, { headers: { "X-Given": "yes" } });
  equal([page.status, page.ok, page.headers.get("Content-Type")], [200, true, "application/json"]);
  equal(await page.json(), { method: "GET", path: "/json?x=%C3%BC", given: "yes", body: "" });
  await fails(() => page.text(), "read already");
  const posted = await fetch(new URL("/json", at), { method: "post", body: "hé" });
  equal(await posted.json(), { method: "POST", path: "/json", given: null, body: "hé" });
  const form = await fetch(`${at}/json`, { method: "PUT", body: new URLSearchParams({ a: "b c" }) });
  equal((await form.json()).body, "a=b+c");
  const missing = await fetch(`${at}/none`);
  equal([missing.status, missing.ok, await missing.text()], [404, false, "nothing here"]);
  let bytes = 0;
  let pieces = 0;
  for await (const piece of (await fetch(`${at}/large`)).body) {
    bytes += piece.length;
    pieces += 1;
  }
  holds(bytes === 3_000_000 && pieces > 1, "a large body comes in pieces");
  const large = "x".repeat(1_000_000);
  equal((await (await fetch(`${at}/json`, { method: "POST", body: large })).json()).body.length, large.length);
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 30);
  const begin = performance.now();
  await fails(() => fetch(`${at}/slow`, { signal: controller.signal }), "AbortError");
  await fails(() => fetch(`${at}/slow`, { signal: AbortSignal.timeout(30) }), "TimeoutError");
  holds(performance.now() - begin < 3000, "it did not wait");
  equal((await http.get(`${at}/json`)).status, 200);
  equal(JSON.parse((await http.post(`${at}/json`, "b")).body).body, "b");
  equal(http.encodeUrl("a b/ü"), "a%20b%2F%C3%BC");
  await fails(() => fetch(`${at}/json`, { body: "x" }), "GET has no body");
  await fails(() => fetch(`${at}/json`, { headers: { "a b": "c" } }), "TypeError", "is not the name of a header");
  // A redirect of a request with a body comes to the script.
  const moved = { method: "POST", body: "b" };
  equal((await fetch(`${at}/moved`, { ...moved, redirect: "manual" })).headers.get("location"), "/json");
  await fails(() => fetch(`${at}/moved`, { ...moved, redirect: "error" }), "TypeError", "redirects to /json");
  equal((await (await fetch(`${at}/moved`, moved)).json()).method, "GET");
  equal((await (await fetch(`${at}/moved?307`, moved)).json()).body, "b");
  await fails(() => fetch(`${at}/json`, { method: "POST", body: {} }), "body must be a string");
  await fails(() => fetch("http://127.0.0.1:1/"), "permission-denied");
  const exchange = Exchange.open("GET", `${at}/json`, [], 0);
  await fails(() => exchange.finish(), "without a body");
  equal((await exchange.head()).status, 200);
  await fails(() => Exchange.open("GET", at, [], "x"), "Exchange.open: argument 4");
  const several = await Promise.all([1, 2, 3, 4].map((each) => fetch(`${at}/json?${each}`).then((one) => one.json())));
  equal(several.map(({ path }) => path), [1, 2, 3, 4].map((each) => `/json?${each}`));
  session.send("requests\n");
}
