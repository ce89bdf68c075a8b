// A frame is a JSON object; the frames of some verbs and events have bytes after it.

import { QuireError } from "./errors.js";

export const PAYLOAD_BYTES_MAX = 1 << 20;
const TEXT_BYTES_MAX = 2 << 20;
const HEAD_BYTES_MAX = 64 << 10;
const LENGTH_BYTES = 4;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function checkSize(what, size, limit) {
  if (size > limit)
    throw new QuireError("too-large", `a ${what} of ${size} bytes; at most ${limit} go in a frame`);
}

// The frame as a WebSocket sends it: text if there is no payload, else bytes.
export function encode(head, payload = undefined) {
  const text = JSON.stringify(head);
  const bytes = encoder.encode(text);
  if (payload === undefined) {
    checkSize("text frame", bytes.length, TEXT_BYTES_MAX);
    return text;
  }
  checkSize("header of a binary frame", bytes.length, HEAD_BYTES_MAX);
  checkSize("payload", payload.length, PAYLOAD_BYTES_MAX);
  const frame = new Uint8Array(LENGTH_BYTES + bytes.length + payload.length);
  new DataView(frame.buffer).setUint32(0, bytes.length, true);
  frame.set(bytes, LENGTH_BYTES);
  frame.set(payload, LENGTH_BYTES + bytes.length);
  return frame;
}

// From the data of a message event: a text or an ArrayBuffer. Returns { head, payload }.
export function decode(data) {
  if (typeof data === "string") return { head: parse(data), payload: new Uint8Array() };
  const bytes = new Uint8Array(data);
  const end =
    bytes.length < LENGTH_BYTES ? Infinity : LENGTH_BYTES + new DataView(data).getUint32(0, true);
  if (end > bytes.length) {
    throw new QuireError(
      "invalid-argument",
      `a frame of ${bytes.length} bytes announces a header up to byte ${end}`,
    );
  }
  return {
    head: parse(decoder.decode(bytes.subarray(LENGTH_BYTES, end))),
    payload: bytes.subarray(end),
  };
}

function parse(text) {
  const head = JSON.parse(text);
  if (head === null || typeof head !== "object" || Array.isArray(head)) {
    throw new QuireError("invalid-argument", `a frame holds ${text.slice(0, 40)}, not an object`);
  }
  return head;
}
