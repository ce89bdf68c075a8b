// URL (URL Standard).
import { encodeUser } from "quire:library/percent_encoding.js";
import { argumentCount, publish, text } from "quire:library/interfaces.js";
import {
  change, hasOpaquePath, hostOf, isSpecial, parsed, pathOf, written,
} from "quire:library/url_parser.js";
import { URLSearchParams, parametersOf, replaceParameters } from "quire:library/url_search_params.js";

export { URLSearchParams };

// The record of `given`, or null.
function read(given, base) {
  if (base === undefined) return parsed(text(given));
  const against = parsed(text(base));
  return against === null ? null : parsed(text(given), against);
}

const hasNoCredentials = (url) => url.host === null || url.host === "" || url.scheme === "file";

function originOf(url) {
  if (url.scheme === "blob") {
    const inner = parsed(pathOf(url));
    return inner !== null && /^https?$/.test(inner.scheme) ? originOf(inner) : "null";
  }
  return isSpecial(url) && url.scheme !== "file" ? `${url.scheme}://${hostOf(url)}` : "null";
}

let isUrl;

export class URL {
  #url;
  #parameters = null;
  static {
    isUrl = (value) => #url in value;
  }

  constructor(url, base = undefined) {
    argumentCount(arguments, 1, "new URL");
    this.#url = read(url, base);
    if (this.#url !== null) return;
    const after = base === undefined ? "" : ` against the base ${JSON.stringify(text(base))}`;
    throw new TypeError(`Invalid URL: ${JSON.stringify(text(url))}${after}`);
  }
  static canParse(url, base = undefined) {
    argumentCount(arguments, 1, "URL.canParse");
    return read(url, base) !== null;
  }
  static parse(url, base = undefined) {
    argumentCount(arguments, 1, "URL.parse");
    return read(url, base) === null ? null : new URL(url, base);
  }

  #readParameters() {
    if (this.#parameters !== null) replaceParameters(this.#parameters, this.#url.query ?? "");
  }
  get href() {
    return written(this.#url);
  }
  set href(value) {
    const given = text(value);
    const url = parsed(given);
    if (url === null) throw new TypeError(`Invalid URL: ${JSON.stringify(given)}`);
    this.#url = url;
    this.#readParameters();
  }
  get origin() {
    return originOf(this.#url);
  }
  get protocol() {
    return `${this.#url.scheme}:`;
  }
  set protocol(value) {
    change(this.#url, `${text(value)}:`, "schemeStart");
  }
  get username() {
    return this.#url.username;
  }
  set username(value) {
    const given = text(value);
    if (!hasNoCredentials(this.#url)) this.#url.username = encodeUser(given);
  }
  get password() {
    return this.#url.password;
  }
  set password(value) {
    const given = text(value);
    if (!hasNoCredentials(this.#url)) this.#url.password = encodeUser(given);
  }
  get host() {
    return hostOf(this.#url);
  }
  set host(value) {
    const given = text(value);
    if (!hasOpaquePath(this.#url)) change(this.#url, given, "host");
  }
  get hostname() {
    return this.#url.host ?? "";
  }
  set hostname(value) {
    const given = text(value);
    if (!hasOpaquePath(this.#url)) change(this.#url, given, "hostname");
  }
  get port() {
    return this.#url.port === null ? "" : String(this.#url.port);
  }
  set port(value) {
    const given = text(value);
    if (hasNoCredentials(this.#url)) return;
    if (given === "") this.#url.port = null;
    else change(this.#url, given, "port");
  }
  get pathname() {
    return pathOf(this.#url);
  }
  set pathname(value) {
    const given = text(value);
    if (hasOpaquePath(this.#url)) return;
    this.#url.path = [];
    change(this.#url, given, "pathStart");
  }
  get search() {
    return this.#url.query ? `?${this.#url.query}` : "";
  }
  set search(value) {
    const given = text(value);
    this.#url.query = given === "" ? null : "";
    if (given !== "") change(this.#url, given.replace(/^\?/, ""), "query");
    this.#readParameters();
  }
  get searchParams() {
    this.#parameters ??= parametersOf(this.#url.query ?? "", (query) => {
      this.#url.query = query === "" ? null : query;
    });
    return this.#parameters;
  }
  get hash() {
    return this.#url.fragment ? `#${this.#url.fragment}` : "";
  }
  set hash(value) {
    const given = text(value);
    this.#url.fragment = null;
    if (given === "") return;
    this.#url.fragment = "";
    change(this.#url, given.replace(/^#/, ""), "fragment");
  }
  toString() {
    return written(this.#url);
  }
  toJSON() {
    return written(this.#url);
  }
}
publish({ URL }, isUrl, ["href"]);
