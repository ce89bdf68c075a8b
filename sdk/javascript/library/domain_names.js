// Names of hosts as ASCII (URL Standard, "domain to ASCII", with Unicode's UTS #46 and RFC 3492). The
// tables are those of the engine's own Unicode, as regular expressions that are made at the first name
// that is not ASCII; unicode_classes.js has what JavaScript cannot ask for.
import { areGoodDirections, hasGoodJoiners } from "quire:library/unicode_classes.js";

const base = 36;
const tMax = 26;
const damp = 700;
const firstCodePoint = 128;

function adapted(delta, count, isFirst) {
  let left = isFirst ? Math.floor(delta / damp) : Math.floor(delta / 2);
  left += Math.floor(left / count);
  let steps = 0;
  for (; left > ((base - 1) * tMax) / 2; steps += base) left = Math.floor(left / (base - 1));
  return steps + Math.floor((base * left) / (left + 38));
}
const threshold = (step, bias) => Math.min(tMax, Math.max(1, step - bias));
const digitOf = (value) => String.fromCharCode(value < 26 ? value + 97 : value + 22);

function toPunycode(label) {
  const points = Array.from(label, (each) => each.codePointAt(0));
  let out = points.filter((each) => each < 128).map((each) => String.fromCharCode(each)).join("");
  const basicCount = out.length;
  let [done, next, delta, bias] = [basicCount, firstCodePoint, 0, 72];
  if (basicCount > 0) out += "-";
  while (done < points.length) {
    const least = Math.min(...points.filter((each) => each >= next));
    delta += (least - next) * (done + 1);
    next = least;
    for (const point of points) {
      if (point < next) delta += 1;
      if (point !== next) continue;
      let left = delta;
      for (let step = base; ; step += base) {
        const limit = threshold(step, bias);
        if (left < limit) break;
        out += digitOf(limit + ((left - limit) % (base - limit)));
        left = Math.floor((left - limit) / (base - limit));
      }
      out += digitOf(left);
      bias = adapted(delta, done + 1, done === basicCount);
      delta = 0;
      done += 1;
    }
    delta += 1;
    next += 1;
  }
  return out;
}

// The label whose Punycode `text` is, or null.
function fromPunycode(text) {
  const dash = text.lastIndexOf("-");
  const points = Array.from(text.slice(0, Math.max(0, dash)), (each) => each.charCodeAt(0));
  let [next, index, bias] = [firstCodePoint, 0, 72];
  for (let at = dash < 0 ? 0 : dash + 1; at < text.length;) {
    const before = index;
    for (let [weight, step] = [1, base]; ; step += base) {
      const digit = at < text.length ? Number.parseInt(text[at], 36) : Number.NaN;
      if (Number.isNaN(digit)) return null;
      at += 1;
      const value = digit < 10 ? digit + 26 : digit - 10;
      index += value * weight;
      if (index > 0x7fffffff) return null;
      const limit = threshold(step, bias);
      if (value < limit) break;
      weight *= base - limit;
    }
    bias = adapted(index - before, points.length + 1, before === 0);
    next += Math.floor(index / (points.length + 1));
    index %= points.length + 1;
    if (next > 0x10ffff || (next >= 0xd800 && next < 0xe000)) return null;
    points.splice(index, 0, next);
    index += 1;
  }
  return String.fromCodePoint(...points);
}

let classes = null;

function unicode() {
  classes ??= {
    ignored: /\p{Default_Ignorable_Code_Point}/gu,
    kept: /[\u00df\u03c2\u0131\u200c\u200d]/,
    // Marks of direction, tags, and signs that would be written with a full stop.
    refused: /[\u061c\u200e\u200f\u2024-\u2026\u202a-\u202e\u2065-\u2069\u2488-\u249b\ufff0-\ufff8\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}]/u,
    mark: /^\p{M}/u,
    // Neither a character that is assigned and visible, nor one that Unicode takes out by name.
    invalid: /[\p{C}\p{Z}\u2ff0-\u2fff\u31ef\ufffc\ufffd]/u,
  };
  return classes;
}

// One character as it is in a name: small, and without the forms that only look different.
function folded(character) {
  if (unicode().kept.test(character)) return character;
  if (character === "\u1e9e") return "\u00df";
  if (character === "\u03f2" || character === "\u03f9") return "\u03c3";
  const small = character.toUpperCase().toLowerCase();
  const point = small.codePointAt(0);
  if (point >= 0xab70 && point <= 0xabbf) return String.fromCodePoint(point - 0xab70 + 0x13a0);
  if (point >= 0x13f8 && point <= 0x13fd) return String.fromCodePoint(point - 8);
  return small;
}
const foldedAll = (text) => Array.from(text, folded).join("");

function mapped(domain) {
  const dots = domain.replace(/[\u3002\uff0e\uff61]/g, ".");
  const plain = dots.replace(unicode().ignored, (each) => (unicode().kept.test(each) ? each : ""));
  return foldedAll(foldedAll(plain).normalize("NFKC")).normalize("NFKC");
}

function isValid(label) {
  const { invalid, mark, kept } = unicode();
  if (label.normalize("NFC") !== label || label.startsWith("xn--") || mark.test(label)) return false;
  for (const each of label) {
    if (invalid.test(each) && !kept.test(each)) return false;
    if (each > "\x7f" && mapped(each) !== each) return false;
    if (each >= "A" && each <= "Z") return false;
  }
  return hasGoodJoiners(label);
}

// The label in Unicode, or null.
function decoded(label) {
  if (!label.startsWith("xn--")) return isValid(label) ? label : null;
  const plain = /^[\0-\x7f]*$/.test(label) ? fromPunycode(label.slice(4)) : null;
  const isOne = plain !== null && /[^\0-\x7f]/.test(plain) && isValid(plain) && toPunycode(plain) === label.slice(4);
  return isOne ? plain : null;
}

export function domainToAscii(domain) {
  if (/^[\0-\x7f]*$/.test(domain)) {
    const small = domain.toLowerCase();
    if (!/(^|\.)xn--/.test(small)) return small === "" ? null : small;
  }
  if (unicode().refused.test(domain)) return null;
  const labels = mapped(domain).split(".");
  const plain = labels.map((each) => (each === "" ? "" : decoded(each)));
  if (plain.includes(null) || !areGoodDirections(plain)) return null;
  const ascii = plain.map((each) => (/^[\0-\x7f]*$/.test(each) ? each : `xn--${toPunycode(each)}`)).join(".");
  return ascii === "" ? null : ascii;
}
