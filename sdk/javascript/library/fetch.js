// fetch, Headers and Response over quire::http: requests go where the launch allows it. There is no
// Request, no cookie, no cache, and no form of data but text, JSON and bytes.
import native from "quire:native";
import { abortable } from "quire:library/abort.js";
import { TextDecoder, TextEncoder } from "quire:library/encoding.js";
import { URL, URLSearchParams } from "quire:library/url.js";

const { Exchange } = native;

export class Headers {
  #pairs = [];
  constructor(init = []) {
    const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
    for (const [name, value] of pairs) this.append(name, value);
  }
  append(name, value) {
    this.#pairs.push([String(name).toLowerCase(), String(value).trim()]);
  }
  set(name, value) {
    this.delete(name);
    this.append(name, value);
  }
  delete(name) {
    this.#pairs = this.#pairs.filter(([each]) => each !== String(name).toLowerCase());
  }
  get(name) {
    const found = this.#pairs.filter(([each]) => each === String(name).toLowerCase());
    return found.length === 0 ? null : found.map(([, value]) => value).join(", ");
  }
  getSetCookie() {
    return this.#pairs.filter(([each]) => each === "set-cookie").map(([, value]) => value);
  }
  has(name) {
    return this.get(name) !== null;
  }
  forEach(work, self) {
    for (const [name, value] of this) work.call(self, value, name, this);
  }
  *[Symbol.iterator]() {
    const names = [...new Set(this.#pairs.map(([name]) => name))].sort();
    for (const name of names) yield [name, this.get(name)];
  }
  entries() {
    return this[Symbol.iterator]();
  }
  *keys() {
    for (const [name] of this) yield name;
  }
  *values() {
    for (const [, value] of this) yield value;
  }
}

// The body of a response as it comes: an asynchronous iterator of Uint8Arrays.
class Body {
  #read;
  constructor(read) {
    this.#read = read;
  }
  getReader() {
    return {
      read: async () => {
        const value = await this.#read();
        return value.length === 0 ? { value: undefined, done: true } : { value, done: false };
      },
      releaseLock() {},
    };
  }
  async *[Symbol.asyncIterator]() {
    for (;;) {
      const piece = await this.#read();
      if (piece.length === 0) return;
      yield piece;
    }
  }
}

const ours = Symbol("made by the SDK");

export class Response {
  #body;
  #used = false;
  constructor(key, head, url, read) {
    if (key !== ours) throw new TypeError("new Response: fetch() gives responses");
    this.status = head.status;
    this.statusText = "";
    this.ok = head.status >= 200 && head.status < 300;
    this.headers = new Headers(head.headers);
    this.url = url;
    this.#body = new Body(read);
  }
  get bodyUsed() {
    return this.#used;
  }
  get body() {
    this.#used = true;
    return this.#body;
  }
  async bytes() {
    if (this.#used) throw new TypeError("the body of the response was read already");
    this.#used = true;
    const pieces = [];
    let count = 0;
    for await (const piece of this.#body) {
      pieces.push(piece);
      count += piece.length;
    }
    const all = new Uint8Array(count);
    let at = 0;
    for (const piece of pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  }
  async arrayBuffer() {
    return (await this.bytes()).buffer;
  }
  async text() {
    return new TextDecoder().decode(await this.bytes());
  }
  async json() {
    return JSON.parse(await this.text());
  }
}

function bodyOf(body) {
  if (body === undefined || body === null) return [new Uint8Array(), null];
  if (typeof body === "string") return [new TextEncoder().encode(body), "text/plain;charset=UTF-8"];
  if (body instanceof URLSearchParams) {
    return [new TextEncoder().encode(body.toString()), "application/x-www-form-urlencoded;charset=UTF-8"];
  }
  if (body instanceof ArrayBuffer) return [new Uint8Array(body), null];
  if (ArrayBuffer.isView(body)) {
    return [new Uint8Array(body.buffer, body.byteOffset, body.byteLength), null];
  }
  throw new TypeError("fetch: body must be a string, bytes or URLSearchParams");
}

export async function fetch(input, init = {}) {
  const { signal } = init;
  signal?.throwIfAborted();
  const url = new URL(input);
  url.hash = "";
  const [body, type] = bodyOf(init.body);
  const headers = new Headers(init.headers);
  if (type !== null && !headers.has("content-type")) headers.set("content-type", type);
  const method = String(init.method ?? "GET").toUpperCase();
  if (body.length > 0 && (method === "GET" || method === "HEAD")) {
    throw new TypeError(`fetch: ${method} has no body`);
  }
  let exchange = Exchange.open(method, url.href, [...headers], body.length);
  if (body.length > 0) {
    await abortable(signal, () => exchange.write(body));
    exchange.finish();
  }
  const head = await abortable(signal, () => exchange.head());
  // The exchange goes with the end of the body: an instance may have few of them.
  const read = async () => {
    if (exchange === null) return new Uint8Array();
    const piece = await abortable(signal, () => exchange.read());
    if (piece.length === 0) exchange = null;
    return piece;
  };
  return new Response(ours, head, url.href, read);
}
