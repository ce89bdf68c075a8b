// Percent-encoding by the sets of the URL Standard, and its inverse.
import native from "quire:native";

const { encode, decode } = native.utf8;
const { apply } = Reflect;
const { replace } = String.prototype;

const hexOf = (byte) => `%${byte < 16 ? "0" : ""}${byte.toString(16).toUpperCase()}`;

function percent(character) {
  let out = "";
  for (const byte of encode(character)) out += hexOf(byte);
  return out;
}
const encoder = (set) => (text) => apply(replace, text, [set, percent]);

// Each regular expression is the characters that are encoded.
export const encodeControls = encoder(/[^\x20-\x7e]/gu);
export const encodeFragment = encoder(/[^!#-;=?-_a-~]/gu);
export const encodeQuery = encoder(/[^!$-;=?-~]/gu);
export const encodeSpecialQuery = encoder(/[^!$-&(-;=?-~]/gu);
export const encodePath = encoder(/[^!$-;=@-\]_a-z|~]/gu);
export const encodeUser = encoder(/[^!$-.0-9A-Z_a-z~]/gu);
const encodeFormBytes = encoder(/[^*\-.0-9A-Z_a-z ]/gu);
export const encodeForm = (text) => encodeFormBytes(text).replaceAll(" ", "+");

// The text of the bytes that `text` stands for; a percent sign without two digits is one itself.
export function decodePercent(text) {
  if (!text.includes("%")) return text;
  const given = encode(text);
  const bytes = new Uint8Array(given.length);
  let count = 0;
  for (let at = 0; at < given.length; at += 1) {
    const value = given[at] === 0x25 ? hexAt(given, at + 1) * 16 + hexAt(given, at + 2) : Number.NaN;
    bytes[count] = value >= 0 ? value : given[at];
    if (value >= 0) at += 2;
    count += 1;
  }
  return decode(bytes.subarray(0, count));
}

function hexAt(bytes, at) {
  const byte = bytes[at];
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN;
}

export const decodeForm = (text) => decodePercent(text.replaceAll("+", " "));
