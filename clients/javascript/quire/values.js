// The parameters of requests and the values of replies, as plain objects with names in camelCase.

import { InstanceFailed } from "./errors.js";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

// The members of a head, without those named in `without`; what is in them stays as it is.
export function toCamel(head, ...without) {
  const members = Object.entries(head).filter(([name]) => !without.includes(name));
  return Object.fromEntries(members.map(([name, value]) => [camel(name), value]));
}

function camel(name) {
  return name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
}

export function toSnake(members) {
  const snake = (name) => name.replace(/[A-Z]/g, (letter) => "_" + letter.toLowerCase());
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [snake(name), value]));
}

// How an instance ended, and what it used.
export class End {
  constructor(head, payload) {
    Object.assign(this, toCamel(head, "event", "instance", "end"));
    this.kind = head.end;
    this.result = payload;
  }

  get ok() {
    return this.kind === "finished" && this.exitCode === 0;
  }

  // The result as text. TypeError: it is not UTF-8.
  get text() {
    return decoder.decode(this.result);
  }

  // Itself, or InstanceFailed where the program did not end well.
  check() {
    if (this.ok) return this;
    let how = this.kind;
    if (how === "finished") how = this.message ? "ended" : `ended with exit code ${this.exitCode}`;
    throw new InstanceFailed(`the program ${how}${this.message ? ": " + this.message : ""}`, this);
  }
}

export function checkedArguments(values) {
  if (typeof values === "string" || !values?.[Symbol.iterator]) {
    const wanted = typeof values === "string" ? "; pass " + JSON.stringify(values.split(" ")) : "";
    throw new TypeError(`arguments are a list of texts, not ${JSON.stringify(values)}${wanted}`);
  }
  const list = [...values];
  const wrong = list.findIndex((each) => typeof each !== "string");
  if (wrong >= 0)
    throw new TypeError(`arguments[${wrong}] is no text but ${typeof list[wrong]}: ${list[wrong]}`);
  return list;
}

// Bytes of a text, a Blob, an ArrayBuffer or a view of one.
export async function bytesOf(source) {
  if (typeof source === "string") return new TextEncoder().encode(source);
  if (typeof Blob !== "undefined" && source instanceof Blob)
    return new Uint8Array(await source.arrayBuffer());
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source))
    return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  throw new TypeError(`bytes, a Blob or a text were expected, not ${typeof source}: ${source}`);
}
