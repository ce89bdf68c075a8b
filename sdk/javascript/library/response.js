// Response (Fetch Standard): what fetch gives, or what a script makes.
import { Headers, readOnlyHeaders } from "quire:library/headers.js";
import { argumentCount, dictionary, publish } from "quire:library/interfaces.js";
import { Content, Message, bodyOf, contentOf } from "quire:library/message.js";

export { bodyOf };

const { stringify } = JSON;
const nullBodyStatuses = [101, 103, 204, 205, 304];
const redirectStatuses = [301, 302, 303, 307, 308];

// The response of the host. `read` gives the next piece of its body.
export let receivedResponse;

const given = Symbol("made by the SDK");

export class Response extends Message {
  #status;
  #statusText = "";
  #url = "";
  #type = "default";
  #isRedirected = false;
  static {
    publish({ Response: this }, (value) => #status in value, ["status", "url", "bodyUsed"]);
    receivedResponse = (head, url, read) => {
      const content = nullBodyStatuses.includes(head.status) ? null : new Content(read);
      const made = new Response(given, { status: head.status, headers: readOnlyHeaders(head.headers), content });
      made.#url = url;
      made.#type = "basic";
      return made;
    };
  }

  constructor(body = null, init = undefined) {
    if (body === given) {
      super("response", init.headers, init.content);
      this.#status = init.status;
      return;
    }
    const { status = 200, statusText = "", headers } = dictionary(init, "new Response");
    const number = Math.trunc(Number(status));
    if (!(number >= 200 && number <= 599)) throw new RangeError(`new Response: status must be from 200 to 599, not ${status}`);
    if (/[^\t -~\x80-\xff]/.test(`${statusText}`)) throw new TypeError("new Response: statusText has characters that it cannot have");
    const { content, type } = contentOf(body, "new Response");
    if (content !== null && nullBodyStatuses.includes(number)) throw new TypeError(`new Response: status ${number} has no body`);
    const own = new Headers(headers);
    if (type !== null && !own.has("content-type")) own.set("content-type", type);
    super("response", own, content);
    this.#status = number;
    this.#statusText = `${statusText}`;
  }
  static json(data, init = undefined) {
    argumentCount(arguments, 1, "Response.json");
    const text = stringify(data);
    if (text === undefined) throw new TypeError("Response.json: argument 1 has no form in JSON");
    const headers = new Headers(dictionary(init, "Response.json").headers);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return new Response(text, { ...init, headers });
  }
  static redirect(url, status = 302) {
    argumentCount(arguments, 1, "Response.redirect");
    if (!redirectStatuses.includes(status)) throw new RangeError(`Response.redirect: status must be one of ${redirectStatuses.join(", ")}, not ${status}`);
    return new Response(null, { status, headers: { location: `${url}` } });
  }
  static error() {
    const made = new Response(given, { status: 0, headers: new Headers(), content: null });
    made.#type = "error";
    return made;
  }
  clone() {
    const made = new Response(given, { status: this.#status, headers: new Headers([...this.headers]), content: Message.split(this) });
    made.#statusText = this.#statusText;
    made.#url = this.#url;
    made.#type = this.#type;
    return made;
  }

  get status() {
    return this.#status;
  }
  get statusText() {
    return this.#statusText;
  }
  get ok() {
    return this.#status >= 200 && this.#status < 300;
  }
  get url() {
    return this.#url;
  }
  get type() {
    return this.#type;
  }
  get redirected() {
    return this.#isRedirected;
  }
}
