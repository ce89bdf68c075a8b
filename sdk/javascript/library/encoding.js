// TextEncoder, TextDecoder (UTF-8), structuredClone and crypto.
import native from "quire:native";

const { encode, decode, isValid, Decoder } = native.utf8;

export class TextEncoder {
  get encoding() {
    return "utf-8";
  }
  encode(text = "") {
    return encode(String(text));
  }
  encodeInto(text, into) {
    const all = encode(String(text));
    let written = Math.min(all.length, into.length);
    while (written < all.length && written > 0 && (all[written] & 0xc0) === 0x80) written -= 1;
    into.set(all.subarray(0, written));
    return { read: decode(all.subarray(0, written)).length, written };
  }
}

export class TextDecoder {
  #stream = null;
  constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    if (!/^(utf-?8|unicode-1-1-utf-8)$/i.test(String(label).trim())) {
      throw new RangeError(`TextDecoder: there is utf-8, and no ${label}`);
    }
    this.fatal = fatal;
    this.ignoreBOM = ignoreBOM;
  }
  get encoding() {
    return "utf-8";
  }
  decode(bytes = new Uint8Array(), { stream = false } = {}) {
    if (this.fatal && !stream && this.#stream === null && !isValid(bytes)) {
      throw new TypeError("TextDecoder.decode: the bytes are not UTF-8");
    }
    this.#stream ??= Decoder.create();
    let text = this.#stream.push(bytes);
    if (!stream) {
      text += this.#stream.finish();
      this.#stream = null;
    }
    return !this.ignoreBOM && text.startsWith("\ufeff") ? text.slice(1) : text;
  }
}

function refused(value) {
  const shown = typeof value === "function" ? `the function ${value.name}` : String(value);
  return new DOMException(`${shown} could not be cloned`, "DataCloneError");
}

function cloned(value, seen) {
  if (typeof value === "function" || typeof value === "symbol") throw refused(value);
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  const keep = (copy) => {
    seen.set(value, copy);
    return copy;
  };
  if (value instanceof Date) return keep(new Date(value.getTime()));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof ArrayBuffer) return keep(value.slice(0));
  if (value instanceof DataView) {
    return keep(new DataView(cloned(value.buffer, seen), value.byteOffset, value.byteLength));
  }
  if (ArrayBuffer.isView(value)) {
    return keep(new value.constructor(cloned(value.buffer, seen), value.byteOffset, value.length));
  }
  if (value instanceof Map) {
    const copy = keep(new Map());
    for (const [key, each] of value) copy.set(cloned(key, seen), cloned(each, seen));
    return copy;
  }
  if (value instanceof Set) {
    const copy = keep(new Set());
    for (const each of value) copy.add(cloned(each, seen));
    return copy;
  }
  if (value instanceof Error) {
    const copy = keep(new Error(value.message));
    copy.name = value.name;
    copy.stack = value.stack;
    if ("cause" in value) copy.cause = cloned(value.cause, seen);
    return copy;
  }
  const prototype = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== null && prototype !== Object.prototype &&
      native.engine.isNative(value)) {
    throw refused(`an object of the class ${value.constructor?.name}`);
  }
  const copy = keep(Array.isArray(value) ? new Array(value.length) : {});
  for (const key of Object.keys(value)) copy[key] = cloned(value[key], seen);
  return copy;
}

export function structuredClone(value) {
  return cloned(value, new Map());
}

const randomBytesMax = 65536;  // Of one call, here and elsewhere.
export const crypto = {
  getRandomValues(view) {
    if (!ArrayBuffer.isView(view) || view instanceof Float32Array || view instanceof Float64Array) {
      throw new TypeError("getRandomValues: argument 1 must be a typed array of whole numbers");
    }
    if (view.byteLength > randomBytesMax) {
      throw new DOMException(`${view.byteLength} bytes: at most 65536`, "QuotaExceededError");
    }
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    bytes.set(native.runtime.random(bytes.length));
    return view;
  },
  randomUUID() {
    const bytes = native.runtime.random(16);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("");
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  },
};
