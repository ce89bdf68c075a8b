// URL and URLSearchParams (WHATWG), but for names of hosts that are not ASCII, which are refused: write
// them in punycode.
import native from "quire:native";

const { encode, decode } = native.utf8;
const ports = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21", "file:": "" };
const isSpecial = (protocol) => Object.hasOwn(ports, protocol);

function escaped(text, keeps) {
  let out = "";
  for (const each of text) {
    if (keeps.test(each)) {
      out += each;
      continue;
    }
    for (const byte of encode(each)) out += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return out;
}
const inPath = /[!$%&'()*+,\-./0-9:;=@A-Z[\\\]_a-z|~^]/;
const inQuery = /[!$%&()*+,\-./0-9:;=?@A-Z[\\\]^_`a-z{|}~]/;
const inFragment = /[!#$%&'()*+,\-./0-9:;=?@A-Z[\\\]^_a-z{|}~]/;
const inUser = /[!$%&'()*+,\-.0-9A-Z_a-z~]/;

function unescaped(text) {
  const bytes = [];
  const given = encode(text);
  for (let at = 0; at < given.length; at += 1) {
    const hex = given[at] === 37 ? decode(given.subarray(at + 1, at + 3)) : "";
    if (/^[0-9a-f]{2}$/i.test(hex)) {
      bytes.push(Number.parseInt(hex, 16));
      at += 2;
    } else {
      bytes.push(given[at]);
    }
  }
  return decode(new Uint8Array(bytes));
}

// "127.1" and "0x7f.1" are addresses too. Null: it is a name.
function ipv4(host) {
  const parts = host.replace(/\.$/, "").split(".");
  if (!/^(0x[0-9a-f]*|[0-9]+)$/i.test(parts.at(-1))) return null;
  const wrong = () => new TypeError(`Invalid URL: ${host} is not an address`);
  if (parts.length > 4) throw wrong();
  const numbers = parts.map((each) => {
    if (/^0x[0-9a-f]*$/i.test(each)) return each.length === 2 ? 0 : Number.parseInt(each.slice(2), 16);
    if (/^0[0-7]+$/.test(each)) return Number.parseInt(each, 8);
    if (/^[0-9]+$/.test(each) && !/^0[0-9]/.test(each)) return Number(each);
    throw wrong();
  });
  const last = numbers.pop();
  if (numbers.some((each) => each > 255) || last >= 256 ** (4 - numbers.length)) throw wrong();
  let whole = last;
  numbers.forEach((each, index) => (whole += each * 256 ** (3 - index)));
  return [24, 16, 8, 0].map((shift) => Math.floor(whole / 2 ** shift) % 256).join(".");
}

// The shortest form of "[1:0::2]", without the brackets.
function ipv6(text) {
  const wrong = () => new TypeError(`Invalid URL: [${text}] is not an address`);
  const halves = text.split("::");
  if (halves.length > 2) throw wrong();
  const groups = (half) => {
    if (half === "") return [];
    const out = [];
    for (const each of half.split(":")) {
      if (each.includes(".")) {
        const four = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(each);
        if (!four || four.slice(1).some((one) => one > 255)) throw wrong();
        out.push(four[1] * 256 + Number(four[2]), four[3] * 256 + Number(four[4]));
      } else {
        if (!/^[0-9a-f]{1,4}$/i.test(each)) throw wrong();
        out.push(Number.parseInt(each, 16));
      }
    }
    return out;
  };
  const [left, right] = [groups(halves[0]), halves.length === 2 ? groups(halves[1]) : []];
  const missing = 8 - left.length - right.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) throw wrong();
  const all = [...left, ...new Array(missing).fill(0), ...right];
  let best = { at: -1, count: 1 };
  for (let at = 0; at < 8; at += 1) {
    let count = 0;
    while (at + count < 8 && all[at + count] === 0) count += 1;
    if (count > best.count) best = { at, count };
    at += count;
  }
  const hex = all.map((each) => each.toString(16));
  if (best.at < 0) return hex.join(":");
  return `${hex.slice(0, best.at).join(":")}::${hex.slice(best.at + best.count).join(":")}`;
}

function parsedHost(host, protocol) {
  if (host.startsWith("[")) {
    if (!host.endsWith("]")) throw new TypeError("Invalid URL: a bracket is not closed");
    return `[${ipv6(host.slice(1, -1))}]`;
  }
  if (!isSpecial(protocol)) return escaped(host, inUser);
  const plain = unescaped(host).toLowerCase();
  if (/[^!$&'()*+,\-.0-9;=_`a-z{}~]/.test(plain) || plain === "") {
    throw new TypeError(`Invalid URL: "${host}" is not a name of a host`);
  }
  return ipv4(plain) ?? plain;
}

function withoutDots(segments, protocol) {
  const out = [];
  segments.forEach((each, index) => {
    const isLast = index === segments.length - 1;
    const plain = each.replace(/%2e/gi, ".");
    if (plain === "..") {
      if (!(protocol === "file:" && out.length === 1 && /^[a-z]:$/i.test(out[0]))) out.pop();
      if (isLast) out.push("");
    } else if (plain === ".") {
      if (isLast) out.push("");
    } else {
      out.push(each);
    }
  });
  return out;
}

function parsed(text, base) {
  let rest = text.replace(/^[\0- ]+|[\0- ]+$/g, "").replace(/[\t\n\r]/g, "");
  const url = { protocol: "", username: "", password: "", host: null, port: "", path: "", search: "", hash: "" };
  const fragment = rest.indexOf("#");
  if (fragment >= 0) {
    url.hash = rest.length > fragment + 1 ? `#${escaped(rest.slice(fragment + 1), inFragment)}` : "";
    rest = rest.slice(0, fragment);
  }
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(rest);
  const protocol = scheme?.[1].toLowerCase().concat(":");
  const relative = scheme && base && protocol === base.protocol && isSpecial(protocol) &&
    !/^[\\/]/.test(rest.slice(scheme[0].length));
  if (scheme && !relative) {
    url.protocol = protocol;
    rest = rest.slice(scheme[0].length);
  } else {
    if (!base) throw new TypeError(`Invalid URL: "${text}" has no scheme, and there is no base`);
    if (scheme) rest = rest.slice(scheme[0].length);
    url.protocol = base.protocol;
  }
  const special = isSpecial(url.protocol);
  const query = rest.indexOf("?");
  if (query >= 0) {
    const keeps = special ? inQuery : /[!$%&'()*+,\-./0-9:;=?@A-Z[\\\]^_`a-z{|}~]/;
    url.search = rest.length > query + 1 ? `?${escaped(rest.slice(query + 1), keeps)}` : "";
    rest = rest.slice(0, query);
  }
  if (special) rest = rest.replaceAll("\\", "/");
  const own = scheme && !relative;
  if (rest.startsWith("//") || (own && special && url.protocol !== "file:")) {
    rest = rest.replace(special && url.protocol !== "file:" ? /^\/*/ : /^\/\//, "");
    const end = rest.search(/[/]/);
    let authority = end < 0 ? rest : rest.slice(0, end);
    rest = end < 0 ? "" : rest.slice(end);
    const at = authority.lastIndexOf("@");
    if (at >= 0) {
      const [user, ...password] = authority.slice(0, at).split(":");
      url.username = escaped(user, inUser);
      url.password = escaped(password.join(":"), inUser);
      authority = authority.slice(at + 1);
    }
    const port = /:(\d*)$/.exec(authority);
    if (port) {
      authority = authority.slice(0, port.index);
      if (port[1] !== "" && Number(port[1]) > 65535) throw new TypeError(`Invalid URL: port ${port[1]}`);
      url.port = port[1] === "" || String(Number(port[1])) === ports[url.protocol] ? "" : String(Number(port[1]));
    } else if (/:[^\]]*$/.test(authority)) {
      throw new TypeError(`Invalid URL: a port that is not a number in "${authority}"`);
    }
    url.host = authority === "" && !(special && url.protocol !== "file:") ? "" : parsedHost(authority, url.protocol);
    if (url.protocol === "file:" && url.host === "localhost") url.host = "";
  } else if (own) {
    if (url.protocol === "file:") url.host = "";
    if (!rest.startsWith("/") && !special) {
      url.path = escaped(rest, /[\x20-\x7e]/);
      return url;
    }
  } else {
    if (base.host === null && !base.path.startsWith("/") && (rest !== "" || query >= 0)) {
      throw new TypeError(`Invalid URL: "${text}" cannot follow ${base.protocol}`);
    }
    Object.assign(url, { username: base.username, password: base.password, host: base.host, port: base.port });
    if (rest === "") {
      url.path = base.path;
      if (query < 0) url.search = base.search;
      return url;
    }
    if (!rest.startsWith("/")) rest = base.path.slice(0, base.path.lastIndexOf("/") + 1) + rest;
  }
  const segments = escaped(rest.replace(/^\//, ""), inPath).split("/");
  const path = withoutDots(segments, url.protocol).join("/");
  url.path = special || rest !== "" ? `/${path}` : "";
  return url;
}

export class URLSearchParams {
  #pairs = [];
  #changed = null;
  constructor(init = "") {
    if (typeof init === "object" && init !== null) {
      const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
      for (const pair of pairs) {
        const [name, value, ...more] = pair;
        if (value === undefined || more.length > 0) {
          throw new TypeError("URLSearchParams: each element must be a pair of a name and a value");
        }
        this.#pairs.push([String(name), String(value)]);
      }
      return;
    }
    for (const each of String(init).replace(/^\?/, "").split("&")) {
      if (each === "") continue;
      const equals = each.indexOf("=");
      const [name, value] = equals < 0 ? [each, ""] : [each.slice(0, equals), each.slice(equals + 1)];
      this.#pairs.push([unescaped(name.replaceAll("+", " ")), unescaped(value.replaceAll("+", " "))]);
    }
  }
  // Of a URL, which is told of changes.
  static of(search, changed) {
    const made = new URLSearchParams(search);
    made.#changed = changed;
    return made;
  }
  #change(pairs) {
    this.#pairs = pairs;
    this.#changed?.(this.toString());
  }
  append(name, value) {
    this.#change([...this.#pairs, [String(name), String(value)]]);
  }
  delete(name, value) {
    this.#change(this.#pairs.filter(([key, each]) => key !== String(name) || (value !== undefined && each !== String(value))));
  }
  get(name) {
    return this.#pairs.find(([key]) => key === String(name))?.[1] ?? null;
  }
  getAll(name) {
    return this.#pairs.filter(([key]) => key === String(name)).map(([, value]) => value);
  }
  has(name, value) {
    return this.#pairs.some(([key, each]) => key === String(name) && (value === undefined || each === String(value)));
  }
  set(name, value) {
    const at = this.#pairs.findIndex(([key]) => key === String(name));
    if (at < 0) return this.append(name, value);
    this.#change(this.#pairs.filter(([key], index) => key !== String(name) || index === at)
      .map(([key, each], index) => (index === at ? [key, String(value)] : [key, each])));
  }
  sort() {
    this.#change([...this.#pairs].sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0)));
  }
  forEach(work, self) {
    for (const [name, value] of this.#pairs) work.call(self, value, name, this);
  }
  get size() {
    return this.#pairs.length;
  }
  *entries() {
    for (const [name, value] of this.#pairs) yield [name, value];
  }
  *keys() {
    for (const [name] of this.#pairs) yield name;
  }
  *values() {
    for (const [, value] of this.#pairs) yield value;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  toString() {
    const form = (text) => escaped(text, /[*\-.0-9A-Z_a-z ]/).replaceAll(" ", "+");
    return this.#pairs.map(([name, value]) => `${form(name)}=${form(value)}`).join("&");
  }
}
const ofSearch = URLSearchParams.of;
delete URLSearchParams.of;

export class URL {
  #url;
  #parameters = null;
  constructor(text, base) {
    this.#url = parsed(String(text), base === undefined ? null : parsed(String(base), null));
  }
  static canParse(text, base) {
    return URL.parse(text, base) !== null;
  }
  static parse(text, base) {
    try {
      return new URL(text, base);
    } catch {
      return null;
    }
  }
  get href() {
    const url = this.#url;
    const user = url.username || url.password
      ? `${url.username}${url.password && `:${url.password}`}@` : "";
    const authority = url.host === null ? "" : `//${user}${this.host}`;
    return `${url.protocol}${authority}${url.path}${url.search}${url.hash}`;
  }
  set href(text) {
    this.#url = parsed(String(text), null);
    this.#parameters = null;
  }
  get origin() {
    return isSpecial(this.protocol) && this.protocol !== "file:" ? `${this.protocol}//${this.host}` : "null";
  }
  get protocol() {
    return this.#url.protocol;
  }
  get username() {
    return this.#url.username;
  }
  get password() {
    return this.#url.password;
  }
  get host() {
    return (this.#url.host ?? "") + (this.#url.port && `:${this.#url.port}`);
  }
  get hostname() {
    return this.#url.host ?? "";
  }
  get port() {
    return this.#url.port;
  }
  set port(port) {
    const digits = String(port);
    if (/^\d{1,5}$/.test(digits) && Number(digits) <= 65535) {
      this.#url.port = digits === ports[this.protocol] ? "" : String(Number(digits));
    }
  }
  get pathname() {
    return this.#url.path;
  }
  set pathname(path) {
    const rest = escaped(String(path).replace(/^\//, ""), inPath).split("/");
    this.#url.path = `/${withoutDots(rest, this.protocol).join("/")}`.replaceAll("?", "%3F").replaceAll("#", "%23");
  }
  get search() {
    return this.#url.search;
  }
  set search(search) {
    const text = String(search).replace(/^\?/, "");
    this.#url.search = text === "" ? "" : `?${escaped(text, inQuery)}`;
    this.#parameters = null;
  }
  get hash() {
    return this.#url.hash;
  }
  set hash(hash) {
    const text = String(hash).replace(/^#/, "");
    this.#url.hash = text === "" ? "" : `#${escaped(text, inFragment)}`;
  }
  get searchParams() {
    this.#parameters ??= ofSearch(this.#url.search, (text) => {
      this.#url.search = text === "" ? "" : `?${text}`;
    });
    return this.#parameters;
  }
  toString() {
    return this.href;
  }
  toJSON() {
    return this.href;
  }
}
