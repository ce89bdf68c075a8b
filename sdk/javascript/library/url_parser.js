// The parser of the URL Standard ("URL parsing"). A URL is a record of its parts. Its path is a list of
// segments, or a text if it is opaque, as in "mailto:me". A parser goes over the text code unit by code
// unit. Its state is one of the functions of `states`. Setters begin in a state of their own (`override`),
// and end where their part ends.
import {
  encodeControls, encodeFragment, encodePath, encodeQuery, encodeSpecialQuery, encodeUser,
} from "quire:library/percent_encoding.js";
import { parsedHost } from "quire:library/url_host.js";

const ports = { ftp: 21, file: null, http: 80, https: 443, ws: 80, wss: 443 };
export const isSpecial = (url) => Object.hasOwn(ports, url.scheme);
export const hasOpaquePath = (url) => typeof url.path === "string";
const hasCredentials = (url) => url.username !== "" || url.password !== "";

const failure = Symbol("failure");
const ended = Symbol("ended");  // Of a setter, whose text has been read as far as it goes.

const isDriveLetter = (text) => /^[a-zA-Z][:|]$/.test(text);
const beginsWithDriveLetter = (text) => /^[a-zA-Z][:|]([/\\?#]|$)/.test(text);
const isSingleDot = (segment) => /^(\.|%2e)$/i.test(segment);
const isDoubleDot = (segment) => /^(\.|%2e){2}$/i.test(segment);

function shorten(url) {
  const isDrive = url.scheme === "file" && url.path.length === 1 && /^[a-zA-Z]:$/.test(url.path[0]);
  if (!isDrive) url.path.pop();
}

class Parser {
  buffer = "";
  at = 0;
  hasSeenAt = false;
  hasSeenPassword = false;
  isInBrackets = false;

  constructor(input, base, url, override) {
    Object.assign(this, { input, base, url, override, state: override ?? "schemeStart" });
  }

  run() {
    for (;;) {
      const outcome = states[this.state](this, this.input[this.at] ?? "");
      if (outcome !== undefined) return outcome;
      if (this.at >= this.input.length) return ended;
      this.at += 1;
    }
  }
  // The next state; `again`: it gets the same character.
  go(state, again = false) {
    this.state = state;
    if (again) this.at -= 1;
  }
  rest() {
    return this.input.slice(this.at + 1);
  }
  isSlash(character) {
    return character === "/" || (character === "\\" && isSpecial(this.url));
  }
  endsAuthority(character) {
    return character === "" || this.isSlash(character) || character === "?" || character === "#";
  }
  // Begins the query or the fragment. False: `character` begins neither.
  beginQueryOrFragment(character) {
    if (character === "?") {
      this.url.query = "";
      this.go("query");
    } else if (character === "#") {
      this.url.fragment = "";
      this.go("fragment");
    } else {
      return false;
    }
    return true;
  }
  copyFromBase(...names) {
    for (const name of names) {
      const value = this.base[name];
      this.url[name] = Array.isArray(value) ? [...value] : value;
    }
  }
  // Sets the host to that in the buffer. False: it is not one.
  takeHost() {
    const host = parsedHost(this.buffer, isSpecial(this.url));
    if (host === null) return false;
    this.url.host = host;
    this.buffer = "";
    return true;
  }
}

const states = {
  schemeStart(parser, character) {
    if (/[a-zA-Z]/.test(character)) {
      parser.buffer = character.toLowerCase();
      return parser.go("scheme");
    }
    return parser.override ? failure : parser.go("noScheme", true);
  },

  scheme(parser, character) {
    const { url, base } = parser;
    if (/[a-zA-Z0-9+\-.]/.test(character)) {
      parser.buffer += character.toLowerCase();
      return undefined;
    }
    if (character !== ":") {
      if (parser.override) return failure;
      parser.buffer = "";
      parser.at = -1;
      return parser.go("noScheme");
    }
    if (parser.override) return changeScheme(url, parser.buffer);
    url.scheme = parser.buffer;
    parser.buffer = "";
    if (url.scheme === "file") return parser.go("file");
    if (isSpecial(url)) {
      return parser.go(base?.scheme === url.scheme ? "specialRelativeOrAuthority" : "specialAuthoritySlashes");
    }
    if (parser.rest().startsWith("/")) {
      parser.at += 1;
      return parser.go("pathOrAuthority");
    }
    url.path = "";
    return parser.go("opaquePath");
  },

  noScheme(parser, character) {
    const { base } = parser;
    if (base === null || (hasOpaquePath(base) && character !== "#")) return failure;
    if (!hasOpaquePath(base)) return parser.go(base.scheme === "file" ? "file" : "relative", true);
    parser.copyFromBase("scheme", "path", "query");
    parser.url.fragment = "";
    return parser.go("fragment");
  },

  specialRelativeOrAuthority(parser, character) {
    if (character !== "/" || !parser.rest().startsWith("/")) return parser.go("relative", true);
    parser.at += 1;
    return parser.go("specialAuthorityIgnoreSlashes");
  },

  pathOrAuthority(parser, character) {
    return character === "/" ? parser.go("authority") : parser.go("path", true);
  },

  relative(parser, character) {
    parser.url.scheme = parser.base.scheme;
    if (parser.isSlash(character)) return parser.go("relativeSlash");
    parser.copyFromBase("username", "password", "host", "port", "path", "query");
    if (parser.beginQueryOrFragment(character) || character === "") return undefined;
    parser.url.query = null;
    shorten(parser.url);
    return parser.go("path", true);
  },

  relativeSlash(parser, character) {
    if (isSpecial(parser.url) && parser.isSlash(character)) return parser.go("specialAuthorityIgnoreSlashes");
    if (character === "/") return parser.go("authority");
    parser.copyFromBase("username", "password", "host", "port");
    return parser.go("path", true);
  },

  specialAuthoritySlashes(parser, character) {
    if (character !== "/" || !parser.rest().startsWith("/")) return parser.go("specialAuthorityIgnoreSlashes", true);
    parser.at += 1;
    return parser.go("specialAuthorityIgnoreSlashes");
  },

  specialAuthorityIgnoreSlashes(parser, character) {
    return character === "/" || character === "\\" ? undefined : parser.go("authority", true);
  },

  authority(parser, character) {
    const { url } = parser;
    if (character === "@") {
      let credentials = (parser.hasSeenAt ? "%40" : "") + parser.buffer;
      parser.hasSeenAt = true;
      parser.buffer = "";
      if (!parser.hasSeenPassword) {
        const colon = credentials.indexOf(":");
        parser.hasSeenPassword = colon >= 0;
        url.username += encodeUser(colon < 0 ? credentials : credentials.slice(0, colon));
        credentials = colon < 0 ? "" : credentials.slice(colon + 1);
      }
      url.password += encodeUser(credentials);
    } else if (parser.endsAuthority(character)) {
      if (parser.hasSeenAt && parser.buffer === "") return failure;
      parser.at -= parser.buffer.length + 1;
      parser.buffer = "";
      parser.go("host");
    } else {
      parser.buffer += character;
    }
    return undefined;
  },

  host(parser, character) {
    const { url, override } = parser;
    if (override && url.scheme === "file") return parser.go("fileHost", true);
    if (character === ":" && !parser.isInBrackets) {
      if (parser.buffer === "" || override === "hostname" || !parser.takeHost()) return failure;
      return parser.go("port");
    }
    if (parser.endsAuthority(character)) {
      if (parser.buffer === "" && isSpecial(url)) return failure;
      if (parser.buffer === "" && override && (hasCredentials(url) || url.port !== null)) return failure;
      if (!parser.takeHost()) return failure;
      return override ? ended : parser.go("pathStart", true);
    }
    if (character === "[") parser.isInBrackets = true;
    if (character === "]") parser.isInBrackets = false;
    parser.buffer += character;
    return undefined;
  },

  hostname(parser, character) {
    return states.host(parser, character);
  },

  port(parser, character) {
    const { url } = parser;
    if (/[0-9]/.test(character)) {
      parser.buffer += character;
      return undefined;
    }
    if (!parser.endsAuthority(character) && !parser.override) return failure;
    if (parser.buffer !== "") {
      const port = Number(parser.buffer);
      if (port > 65535) return failure;
      url.port = port === ports[url.scheme] ? null : port;
      parser.buffer = "";
      if (parser.override) return ended;
    }
    return parser.override ? failure : parser.go("pathStart", true);
  },

  file(parser, character) {
    const { url, base } = parser;
    url.scheme = "file";
    url.host = "";
    if (character === "/" || character === "\\") return parser.go("fileSlash");
    if (base?.scheme !== "file") return parser.go("path", true);
    parser.copyFromBase("host", "path", "query");
    if (parser.beginQueryOrFragment(character) || character === "") return undefined;
    url.query = null;
    if (beginsWithDriveLetter(character + parser.rest())) url.path = [];
    else shorten(url);
    return parser.go("path", true);
  },

  fileSlash(parser, character) {
    const { url, base } = parser;
    if (character === "/" || character === "\\") return parser.go("fileHost");
    if (base?.scheme === "file") {
      url.host = base.host;
      const first = base.path[0] ?? "";
      if (!beginsWithDriveLetter(character + parser.rest()) && /^[a-zA-Z]:$/.test(first)) url.path.push(first);
    }
    return parser.go("path", true);
  },

  fileHost(parser, character) {
    const { url, override } = parser;
    if (!/^[/\\?#]?$/.test(character)) {
      parser.buffer += character;
      return undefined;
    }
    if (!override && isDriveLetter(parser.buffer)) return parser.go("path", true);
    if (parser.buffer === "") {
      url.host = "";
    } else {
      if (!parser.takeHost()) return failure;
      if (url.host === "localhost") url.host = "";
    }
    return override ? ended : parser.go("pathStart", true);
  },

  pathStart(parser, character) {
    const { url, override } = parser;
    if (isSpecial(url)) return parser.go("path", !parser.isSlash(character));
    if (!override && parser.beginQueryOrFragment(character)) return undefined;
    if (character !== "") return parser.go("path", character !== "/");
    if (override && url.host === null) url.path.push("");
    return undefined;
  },

  path(parser, character) {
    const { url, override } = parser;
    const isEnd = character === "" || (!override && (character === "?" || character === "#"));
    const isSlash = parser.isSlash(character);
    if (!isEnd && !isSlash) {
      const ends = isSpecial(url) ? /[/\\?#]|$/ : /[/?#]|$/;
      const length = override && /[?#]/.test(character) ? 1 : Math.max(1, parser.input.slice(parser.at).search(ends));
      parser.buffer += encodePath(parser.input.slice(parser.at, parser.at + length));
      parser.at += length - 1;
      return undefined;
    }
    if (isDoubleDot(parser.buffer)) {
      shorten(url);
      if (!isSlash) url.path.push("");
    } else if (isSingleDot(parser.buffer)) {
      if (!isSlash) url.path.push("");
    } else {
      const isDrive = url.scheme === "file" && url.path.length === 0 && isDriveLetter(parser.buffer);
      url.path.push(isDrive ? `${parser.buffer[0]}:` : parser.buffer);
    }
    parser.buffer = "";
    parser.beginQueryOrFragment(character);
    return undefined;
  },

  opaquePath(parser, character) {
    if (parser.beginQueryOrFragment(character) || character === "") return undefined;
    const rest = parser.input.slice(parser.at);
    const length = rest.search(/[?#]|$/);
    let path = rest.slice(0, length);
    if (path.endsWith(" ") && length < rest.length) path = `${path.slice(0, -1)}%20`;
    parser.url.path += encodeControls(path);
    parser.at += length - 1;
    return undefined;
  },

  query(parser, character) {
    const { url, override } = parser;
    const rest = parser.input.slice(parser.at);
    const length = override ? rest.length : rest.search(/#|$/);
    url.query += (isSpecial(url) ? encodeSpecialQuery : encodeQuery)(rest.slice(0, length));
    parser.at += length;
    parser.beginQueryOrFragment(parser.input[parser.at] === "#" ? "#" : "");
    return undefined;
  },

  fragment(parser) {
    parser.url.fragment += encodeFragment(parser.input.slice(parser.at));
    parser.at = parser.input.length;
    return undefined;
  },
};

function changeScheme(url, scheme) {
  if (isSpecial(url) !== isSpecial({ scheme })) return ended;
  if (scheme === "file" && (hasCredentials(url) || url.port !== null)) return ended;
  if (url.scheme === "file" && url.host === "") return ended;
  url.scheme = scheme;
  if (url.port === ports[scheme]) url.port = null;
  return ended;
}

const withoutBreaks = (text) => text.replace(/[\t\n\r]/g, "");

// The record of a URL, or null.
export function parsed(text, base = null) {
  const input = withoutBreaks(text.toWellFormed().replace(/^[\0- ]+|[\0- ]+$/g, ""));
  const url = { scheme: "", username: "", password: "", host: null, port: null, path: [], query: null, fragment: null };
  return new Parser(input, base, url, null).run() === failure ? null : url;
}

// Changes a part of `url`, which stays as it is if `text` cannot be one.
export function change(url, text, override) {
  new Parser(withoutBreaks(text.toWellFormed()), null, url, override).run();
}

export function pathOf(url) {
  return hasOpaquePath(url) ? url.path : url.path.map((each) => `/${each}`).join("");
}

export const hostOf = (url) => (url.host ?? "") + (url.port === null ? "" : `:${url.port}`);

export function written(url, { hasFragment = true } = {}) {
  let out = `${url.scheme}:`;
  if (url.host !== null) {
    const password = url.password === "" ? "" : `:${url.password}`;
    out += `//${hasCredentials(url) ? `${url.username}${password}@` : ""}${hostOf(url)}`;
  } else if (!hasOpaquePath(url) && url.path.length > 1 && url.path[0] === "") {
    out += "/.";
  }
  out += pathOf(url);
  if (url.query !== null) out += `?${url.query}`;
  if (hasFragment && url.fragment !== null) out += `#${url.fragment}`;
  return out;
}
