// TextEncoder and TextDecoder (Encoding Standard). UTF-8 is decoded by the SDK's C++, UTF-16 and the
// encodings of one byte a character here, the others in multi_byte_decoders.js.
import native from "quire:native";
import { argumentCount, dictionary, publish } from "quire:library/interfaces.js";
import { encodingOf, singleByteTable } from "quire:library/encoding_tables.js";
import { MultiByteDecoder, isMultiByte } from "quire:library/multi_byte_decoders.js";

const { encode, decode, isValid, Decoder } = native.utf8;
const { fromCharCode } = String;
const { apply } = Reflect;
const unitCountMax = 8192;  // Of one call of fromCharCode.

function fromUnits(units) {
  let text = "";
  for (let at = 0; at < units.length; at += unitCountMax) {
    text += apply(fromCharCode, null, units.subarray(at, at + unitCountMax));
  }
  return text;
}

// The bytes of a buffer or of a view, which are not copied. A detached buffer has none.
function bytesOf(source, name) {
  if (ArrayBuffer.isView(source)) {
    return source.buffer.detached ? new Uint8Array() : new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  }
  if (source instanceof ArrayBuffer) return source.detached ? new Uint8Array() : new Uint8Array(source);
  if (typeof SharedArrayBuffer === "function" && source instanceof SharedArrayBuffer) return new Uint8Array(source);
  throw new TypeError(`${name}: argument 1 must be an ArrayBuffer, or a view of one`);
}

export class TextEncoder {
  #brand;
  static {
    publish({ TextEncoder: this }, (value) => #brand in value);
  }
  get encoding() {
    return "utf-8";
  }
  encode(text = "") {
    return encode(`${text}`);
  }
  encodeInto(source, destination) {
    argumentCount(arguments, 2, "TextEncoder.encodeInto");
    const text = `${source}`;
    if (Object.prototype.toString.call(destination) !== "[object Uint8Array]") {
      throw new TypeError("TextEncoder.encodeInto: argument 2 must be a Uint8Array");
    }
    // A character has a byte at least, so what is after this cannot fit.
    const all = encode(text.slice(0, destination.length));
    let written = Math.min(all.length, destination.length);
    while (written < all.length && written > 0 && (all[written] & 0xc0) === 0x80) written -= 1;
    const taken = all.subarray(0, written);
    destination.set(taken);
    return { read: decode(taken).length, written };
  }
}

// The decoders of a stream: push(bytes, isLast) returns the text that is complete, or undefined if the
// bytes are not text and the decoder is fatal.
class Utf8Decoder {
  constructor(isFatal) {
    this.isFatal = isFatal;
    this.stream = null;
  }
  push(bytes, isLast) {
    if (this.stream === null && isLast) return this.isFatal && !isValid(bytes) ? undefined : decode(bytes);
    this.stream ??= Decoder.create(this.isFatal);
    const text = this.stream.push(bytes);
    if (!isLast || text === undefined) return text;
    const rest = this.stream.finish();
    return rest === undefined ? undefined : text + rest;
  }
}

class Utf16Decoder {
  constructor(isFatal, isBigEndian) {
    Object.assign(this, { isFatal, isBigEndian, held: new Uint8Array() });
  }
  push(bytes, isLast) {
    const all = new Uint8Array(this.held.length + bytes.length);
    all.set(this.held);
    all.set(bytes, this.held.length);
    const units = new Uint16Array(all.length >> 1);
    const [high, low] = this.isBigEndian ? [0, 1] : [1, 0];
    for (let at = 0; at < units.length; at += 1) units[at] = (all[2 * at + high] << 8) | all[2 * at + low];
    // The first half of a pair, and half a unit, wait for the rest.
    const isHalf = (units.at(-1) & 0xfc00) === 0xd800;
    const whole = isHalf ? units.subarray(0, -1) : units;
    this.held = all.slice(2 * whole.length);
    const text = fromUnits(whole);
    if (this.isFatal && (!text.isWellFormed() || (isLast && this.held.length > 0))) return undefined;
    return text.toWellFormed() + (isLast && this.held.length > 0 ? "\ufffd" : "");
  }
}

class SingleByteDecoder {
  constructor(isFatal, table) {
    Object.assign(this, { isFatal, table });
  }
  push(bytes) {
    const { table } = this;
    const units = new Uint16Array(bytes.length);
    for (let at = 0; at < units.length; at += 1) {
      units[at] = bytes[at] < 128 ? bytes[at] : table.charCodeAt(bytes[at] - 128);
    }
    return this.isFatal && units.includes(0xfffd) ? undefined : fromUnits(units);
  }
}

function decoderOf(encoding, isFatal) {
  if (encoding === "utf-8") return new Utf8Decoder(isFatal);
  if (encoding.startsWith("utf-16")) return new Utf16Decoder(isFatal, encoding === "utf-16be");
  if (isMultiByte(encoding)) return new MultiByteDecoder(isFatal, encoding);
  return new SingleByteDecoder(isFatal, singleByteTable(encoding));
}

export class TextDecoder {
  #encoding;
  #isFatal;
  #keepsMark;
  #decoder = null;
  #hasBegun = false;
  #goesOn = false;
  static {
    publish({ TextDecoder: this }, (value) => #encoding in value, ["encoding", "fatal", "ignoreBOM"]);
  }
  constructor(label = "utf-8", options = undefined) {
    this.#encoding = encodingOf(`${label}`);
    const { fatal, ignoreBOM } = dictionary(options, "new TextDecoder");
    this.#isFatal = Boolean(fatal);
    this.#keepsMark = Boolean(ignoreBOM) || !this.#encoding.startsWith("utf-");
  }
  get encoding() {
    return this.#encoding;
  }
  get fatal() {
    return this.#isFatal;
  }
  get ignoreBOM() {
    return this.#keepsMark && this.#encoding.startsWith("utf-");
  }
  decode(source = undefined, options = undefined) {
    const goesOn = Boolean(dictionary(options, "TextDecoder.decode").stream);
    const bytes = source === undefined ? new Uint8Array() : bytesOf(source, "TextDecoder.decode");
    if (!this.#goesOn) {
      this.#decoder = decoderOf(this.#encoding, this.#isFatal);
      this.#hasBegun = false;
    }
    this.#goesOn = goesOn;
    const text = this.#decoder.push(bytes, !goesOn);
    if (text === undefined) {
      this.#goesOn = false;
      throw new TypeError(`TextDecoder.decode: the bytes are not ${this.#encoding}`);
    }
    if (this.#hasBegun || text === "") return text;
    this.#hasBegun = true;
    return !this.#keepsMark && text[0] === "\ufeff" ? text.slice(1) : text;
  }
}
