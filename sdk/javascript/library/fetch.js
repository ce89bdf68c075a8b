// fetch (Fetch Standard) over the calls of the host: requests go where the launch allows it. There is no
// cookie, no cache, and no form of data but text, JSON and bytes.
import native from "quire:native";
import { abortable } from "quire:library/abort.js";
import { Headers } from "quire:library/headers.js";
import { argumentCount, dictionary } from "quire:library/interfaces.js";
import { Request } from "quire:library/request.js";
import { Response, bodyOf, receivedResponse } from "quire:library/response.js";
import { URL } from "quire:library/url.js";

export { Headers, Response };

const { Exchange } = native;
const redirectCountMax = 20;
const redirects = [301, 302, 303, 307, 308];
const credentialHeaders = ["authorization", "cookie", "proxy-authorization"];

// Members that change nothing here, and what they may be: there is no cookie, no cache, no referrer and
// no page that asks.
const harmless = {
  cache: ["default", "no-cache", "no-store", "reload"], credentials: ["omit", "same-origin", "include"],
  duplex: ["half"], integrity: [""], keepalive: [false], mode: ["cors"], priority: ["auto", "high", "low"],
  referrer: ["", "about:client"], referrerPolicy: null, window: [null],
};
const known = ["body", "headers", "method", "redirect", "signal"];

function checkMembers(init) {
  for (const name of Object.keys(init)) {
    const value = init[name];
    if (known.includes(name) || value === undefined) continue;
    if (!Object.hasOwn(harmless, name)) {
      throw new TypeError(`fetch: there is no option ${name}; there are: ${known.join(", ")}`);
    }
    const allowed = harmless[name];
    if (allowed !== null && !allowed.includes(value)) {
      throw new TypeError(`fetch: ${name} ${JSON.stringify(value)} is not there; it may be ${allowed.map((each) => JSON.stringify(each)).join(", ")}`);
    }
  }
}

function methodOf(value) {
  const method = `${value}`;
  const upper = method.toUpperCase();
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(method)) throw new TypeError(`fetch: ${JSON.stringify(method)} is not a method`);
  if (["CONNECT", "TRACE", "TRACK"].includes(upper)) throw new TypeError(`fetch: the method ${method} is not allowed`);
  return ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"].includes(upper) ? upper : method;
}

function redirectOf(value, hasBody) {
  if (!["follow", "error", "manual"].includes(value)) {
    throw new TypeError(`fetch: redirect must be "follow", "error" or "manual", not ${JSON.stringify(value)}`);
  }
  if (value !== "follow" && !hasBody) {
    throw new TypeError(`fetch: redirect: "${value}" is not there for a request without a body: the server follows its redirects`);
  }
  return value;
}

// One request, and the head of its response.
async function exchanged({ method, url, headers, body }, signal) {
  const count = body === null ? 0 : body.length;
  const exchange = Exchange.open(method, url.href, [...headers], count);
  if (count > 0) {
    await abortable(signal, () => exchange.write(body));
    exchange.finish();
  }
  return { exchange, head: await abortable(signal, () => exchange.head()) };
}

// The request that a redirect asks for.
function redirected(request, head, location) {
  const url = new URL(location, request.url);
  if (request.url.protocol === "https:" && url.protocol !== "https:") {
    throw new TypeError(`fetch: a redirect leads from https to ${url.href}, which is not encrypted`);
  }
  const headers = new Headers(request.headers);
  if (url.origin !== request.url.origin) credentialHeaders.forEach((name) => headers.delete(name));
  const isPost = request.method === "POST" && (head.status === 301 || head.status === 302);
  if (!isPost && head.status !== 303) return { ...request, url, headers };
  for (const [name] of [...headers]) if (name.startsWith("content-")) headers.delete(name);
  return { method: request.method === "HEAD" ? "HEAD" : "GET", url, headers, body: null };
}

// The body of a Request; the type of content that goes with it is among its headers.
async function bodyOfRequest(asked) {
  const bytes = await asked.bytes();
  return [bytes.length === 0 ? null : bytes, null];
}

export async function fetch(input, init = undefined) {
  argumentCount(arguments, 1, "fetch");
  const options = dictionary(init, "fetch");
  checkMembers(options);
  const asked = input instanceof Request ? input : null;
  const signal = options.signal ?? asked?.signal;
  signal?.throwIfAborted();
  const url = new URL(asked === null ? input : asked.url);
  if (url.username !== "" || url.password !== "") throw new TypeError("fetch: a URL with a user name or a password is refused; use the header authorization");
  url.hash = "";
  const method = methodOf(options.method ?? asked?.method ?? "GET");
  const isOwnBody = asked === null || (options.body !== undefined && options.body !== null);
  const [body, type] = isOwnBody ? bodyOf(options.body, "fetch") : await bodyOfRequest(asked);
  if (body !== null && (method === "GET" || method === "HEAD")) throw new TypeError(`fetch: ${method} has no body`);
  const headers = new Headers(options.headers ?? (asked === null ? undefined : [...asked.headers]));
  if (type !== null && !headers.has("content-type")) headers.set("content-type", type);
  const redirect = redirectOf(options.redirect ?? "follow", body !== null && body.length > 0);

  let request = { method, url, headers, body };
  let { exchange, head } = await exchanged(request, signal);
  // The host follows the redirects of a request without a body itself.
  for (let count = 0; redirects.includes(head.status) && redirect !== "manual"; count += 1) {
    const location = head.headers.find(([name]) => name.toLowerCase() === "location")?.[1];
    if (location === undefined) break;
    if (redirect === "error") throw new TypeError(`fetch: the server redirects to ${location}, and redirect is "error"`);
    if (count === redirectCountMax) throw new TypeError(`fetch: more than ${redirectCountMax} redirects`);
    request = redirected(request, head, location);
    ({ exchange, head } = await exchanged(request, signal));
  }
  // The exchange goes with the end of the body: an instance may have few of them.
  const read = async () => {
    if (exchange === null) return new Uint8Array();
    const piece = await abortable(signal, () => exchange.read());
    if (piece.length === 0) exchange = null;
    return piece;
  };
  return receivedResponse(head, request.url.href, read);
}
