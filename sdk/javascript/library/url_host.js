// Hosts of URLs (URL Standard, "Host parsing"): names, IPv4 and IPv6 addresses, and opaque hosts. Each
// function returns the host as it is written, or null if it is not one.
import { encodeControls, decodePercent } from "quire:library/percent_encoding.js";
import { domainToAscii } from "quire:library/domain_names.js";

const forbiddenInHost = /[\0\t\n\r #/:<>?@[\\\]^|]/;
const forbiddenInDomain = /[\0- #%/:<>?@[\\\]^|\x7f]/;

// One part of an IPv4 address: decimal, octal or hexadecimal. NaN if it is not a number.
function ipv4Number(text) {
  if (text === "") return Number.NaN;
  if (/^0[xX][0-9a-fA-F]*$/.test(text)) return text.length === 2 ? 0 : Number.parseInt(text.slice(2), 16);
  if (/^0[0-7]+$/.test(text)) return Number.parseInt(text, 8);
  return /^(0|[1-9][0-9]*)$/.test(text) ? Number(text) : Number.NaN;
}

const partsOf = (host) => {
  const parts = host.split(".");
  if (parts.length > 1 && parts.at(-1) === "") parts.pop();
  return parts;
};

function endsInNumber(host) {
  const last = partsOf(host).at(-1);
  return /^[0-9]+$/.test(last) || /^0[xX][0-9a-fA-F]*$/.test(last);
}

function ipv4(host) {
  const numbers = partsOf(host).map(ipv4Number);
  if (numbers.length > 4 || numbers.some(Number.isNaN)) return null;
  const last = numbers.pop();
  if (numbers.some((each) => each > 255) || last >= 256 ** (4 - numbers.length)) return null;
  const whole = numbers.reduce((sum, each, index) => sum + each * 256 ** (3 - index), last);
  return [24, 16, 8, 0].map((shift) => Math.floor(whole / 2 ** shift) % 256).join(".");
}

// The 16-bit numbers of one side of "::".
function ipv6Groups(side) {
  if (side === "") return [];
  const out = [];
  const texts = side.split(":");
  for (const [index, each] of texts.entries()) {
    if (index === texts.length - 1 && each.includes(".")) {
      const four = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(each)?.slice(1);
      if (!four || four.some((one) => Number(one) > 255 || /^0\d/.test(one))) return null;
      const [a, b, c, d] = four.map(Number);
      out.push(a * 256 + b, c * 256 + d);
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(each)) return null;
      out.push(Number.parseInt(each, 16));
    }
  }
  return out;
}

function ipv6(text) {
  const sides = text.split("::");
  if (sides.length > 2 || (sides.length === 2 && sides[0].includes("."))) return null;
  const [left, right] = [ipv6Groups(sides[0]), ipv6Groups(sides[1] ?? "")];
  if (left === null || right === null) return null;
  const missing = 8 - left.length - right.length;
  if (sides.length === 2 ? missing < 1 : missing !== 0) return null;
  return shortestIpv6([...left, ...new Array(missing).fill(0), ...right]);
}

// The first of the longest runs of two and more zeros becomes "::".
function shortestIpv6(groups) {
  let best = { at: -1, count: 1 };
  for (let at = 0; at < 8; at += 1) {
    let count = 0;
    while (at + count < 8 && groups[at + count] === 0) count += 1;
    if (count > best.count) best = { at, count };
    at += count;
  }
  const hex = groups.map((each) => each.toString(16));
  if (best.at < 0) return hex.join(":");
  return `${hex.slice(0, best.at).join(":")}::${hex.slice(best.at + best.count).join(":")}`;
}

export function parsedHost(text, isSpecial) {
  if (text.startsWith("[")) {
    const address = text.endsWith("]") ? ipv6(text.slice(1, -1)) : null;
    return address === null ? null : `[${address}]`;
  }
  if (!isSpecial) return forbiddenInHost.test(text) ? null : encodeControls(text);
  const domain = domainToAscii(decodePercent(text));
  if (domain === null || forbiddenInDomain.test(domain)) return null;
  return endsInNumber(domain) ? ipv4(domain) : domain;
}
