// Message: Request and Response have it in common (Fetch Standard, Body): headers, and a body that is read
// once, whole or in pieces.
import { TextDecoder, TextEncoder } from "quire:library/encoding.js";
import { URLSearchParams } from "quire:library/url.js";

const { parse } = JSON;
const encoder = new TextEncoder();

// The bytes of a text, of a view of bytes or of an ArrayBuffer; undefined if it is none.
function bytesOf(value) {
  if (typeof value === "string") return encoder.encode(value);
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0));
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength));
  }
  return undefined;
}

// The bytes of a body that is given as a whole, and the type of content that goes with it.
export function bodyOf(body, call) {
  if (body === undefined || body === null) return [null, null];
  if (body instanceof URLSearchParams) {
    return [encoder.encode(body.toString()), "application/x-www-form-urlencoded;charset=UTF-8"];
  }
  const bytes = bytesOf(body);
  if (bytes !== undefined) return [bytes, typeof body === "string" ? "text/plain;charset=UTF-8" : null];
  if (typeof body === "object" || typeof body === "function" || typeof body === "symbol") {
    throw new TypeError(`${call}: body must be a string, bytes or URLSearchParams; an object goes as JSON.stringify(object)`);
  }
  return [encoder.encode(`${body}`), "text/plain;charset=UTF-8"];
}

const isIterable = (value) => typeof value[Symbol.asyncIterator] === "function" || typeof value[Symbol.iterator] === "function";

// The same, or pieces that come one after the other: what is iterated over gives strings and bytes.
export function contentOf(body, call) {
  const isPieces = typeof body === "object" && body !== null && !(body instanceof URLSearchParams)
    && bytesOf(body) === undefined && isIterable(body);
  if (!isPieces) {
    const [bytes, type] = bodyOf(body, call);
    return { content: bytes === null ? null : new Content(readerOf(bytes), bytes), type };
  }
  const pieces = (body[Symbol.asyncIterator] ?? body[Symbol.iterator]).call(body);
  const read = async () => {
    for (;;) {
      const { value, done } = await pieces.next();
      if (done) return new Uint8Array();
      const bytes = bytesOf(value);
      if (bytes === undefined) throw new TypeError(`${call}: a piece of the body must be a string or bytes`);
      if (bytes.length > 0) return bytes;
    }
  };
  return { content: new Content(read, null, () => pieces.return?.()), type: null };
}

function readerOf(bytes) {
  let rest = bytes;
  return async () => {
    const piece = rest;
    rest = new Uint8Array();
    return piece;
  };
}

// The bytes of a body as they come: an asynchronous iterator of Uint8Arrays. `read` gives an empty one at
// the end; `whole` has all of them if they are known.
export class Content {
  #read;
  #cancel;
  #whole;
  constructor(read, whole = null, cancel = () => {}) {
    this.#read = read;
    this.#whole = whole;
    this.#cancel = cancel;
  }
  static wholeOf(content) {
    return content.#whole;
  }
  getReader() {
    return {
      read: async () => {
        const value = await this.#read();
        return value.length === 0 ? { value: undefined, done: true } : { value, done: false };
      },
      cancel: async () => {
        await this.#cancel();
      },
      releaseLock() {},
    };
  }
  async cancel() {
    await this.#cancel();
  }
  async *[Symbol.asyncIterator]() {
    let isDone = false;
    try {
      for (;;) {
        const piece = await this.#read();
        if (piece.length === 0) break;
        yield piece;
      }
      isDone = true;
    } finally {
      if (!isDone) await this.#cancel();
    }
  }
}

async function joined(content) {
  const pieces = [];
  let count = 0;
  for await (const piece of content) {
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

// The class that Request and Response extend.
export class Message {
  #what;
  #headers;
  #content;
  #isUsed = false;
  constructor(what, headers, content) {
    this.#what = what;
    this.#headers = headers;
    this.#content = content;
  }
  // The content for another message, which takes it: null if there is none.
  static take(message) {
    if (message.#isUsed) throw new TypeError(`the body of the ${message.#what} was read already`);
    if (message.#content !== null) message.#isUsed = true;
    return message.#content;
  }
  // Two contents of the same bytes, of which the message keeps one.
  static split(message) {
    const content = Message.take(message);
    if (content === null) return null;
    message.#isUsed = false;
    const whole = Content.wholeOf(content);
    let bytes;
    const read = () => (bytes ??= whole === null ? joined(content) : Promise.resolve(whole));
    const copy = () => {
      let isRead = false;
      return new Content(async () => {
        if (isRead) return new Uint8Array();
        isRead = true;
        return (await read()).slice();
      }, whole);
    };
    message.#content = copy();
    return copy();
  }
  get headers() {
    return this.#headers;
  }
  get bodyUsed() {
    return this.#isUsed;
  }
  get body() {
    if (this.#content !== null) this.#isUsed = true;
    return this.#content;
  }
  async bytes() {
    const content = Message.take(this);
    return content === null ? new Uint8Array() : joined(content);
  }
  async arrayBuffer() {
    return (await this.bytes()).buffer;
  }
  async text() {
    return new TextDecoder().decode(await this.bytes());
  }
  async json() {
    return parse(await this.text());
  }
}
