// Request (Fetch Standard): what an endpoint gets, or what a script makes.
import { AbortController } from "quire:library/abort.js";
import { Headers, readOnlyHeaders } from "quire:library/headers.js";
import { argumentCount, dictionary, publish } from "quire:library/interfaces.js";
import { Content, Message, contentOf } from "quire:library/message.js";
import { URL } from "quire:library/url.js";

const normalized = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"];

// The request of a client, which native.Request reads.
export let receivedRequest;

const given = Symbol("made by the SDK");

function methodOf(value) {
  const method = `${value}`;
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(method)) throw new TypeError(`new Request: ${JSON.stringify(method)} is not a method`);
  const upper = method.toUpperCase();
  return normalized.includes(upper) ? upper : method;
}

export class Request extends Message {
  #method;
  #url;
  #signal;
  static {
    publish({ Request: this }, (value) => #method in value);
    receivedRequest = (asked) => {
      const host = asked.header("host") ?? "localhost";
      const hasBody = asked.method !== "GET" && asked.method !== "HEAD";
      return new Request(given, {
        method: asked.method,
        url: new URL(asked.target, `http://${host}/`).href,
        headers: readOnlyHeaders(asked.headers),
        content: hasBody ? new Content(() => asked.read()) : null,
        signal: new AbortController().signal,
      });
    };
  }

  constructor(input, init = undefined) {
    if (input === given) {
      super("request", init.headers, init.content);
      this.#method = init.method;
      this.#url = init.url;
      this.#signal = init.signal;
      return;
    }
    argumentCount(arguments, 1, "new Request");
    const other = input instanceof Request ? input : null;
    const options = dictionary(init, "new Request");
    const method = methodOf(options.method ?? other?.method ?? "GET");
    const url = other === null ? new URL(`${input}`).href : other.url;
    const own = new Headers(options.headers ?? (other === null ? undefined : [...other.headers]));
    const isOwn = options.body !== undefined && options.body !== null;
    if (isOwn && (method === "GET" || method === "HEAD")) throw new TypeError(`new Request: ${method} has no body`);
    const { content, type } = isOwn || other === null
      ? contentOf(options.body, "new Request") : { content: Message.take(other), type: null };
    if (type !== null && !own.has("content-type")) own.set("content-type", type);
    super("request", own, content);
    this.#method = method;
    this.#url = url;
    this.#signal = options.signal ?? other?.signal ?? new AbortController().signal;
  }
  clone() {
    return new Request(given, {
      method: this.#method, url: this.#url, headers: new Headers([...this.headers]), content: Message.split(this), signal: this.#signal,
    });
  }

  get method() {
    return this.#method;
  }
  get url() {
    return this.#url;
  }
  get signal() {
    return this.#signal;
  }
  get redirect() {
    return "follow";
  }
}
