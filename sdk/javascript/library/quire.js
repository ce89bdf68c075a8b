// The module "quire": the SDK for scripts. What is written here only spells what C++ does.
import native from "quire:native";
import { QuireError } from "quire:library/errors.js";
import { sleep } from "quire:library/timers.js";
import { abortable } from "quire:library/abort.js";
import { TextEncoder } from "quire:library/encoding.js";

export const {
  Context, Generator, Model, Grammar, Tools, session, messages, runtime, Child, Exchange,
  IncomingFile, Subscription, Request, Response, EventStream, Queue, KvPages, Embeds, Matcher, Drawer,
  PromptDrafts, draftsFrom, lowLevel,
} = native;
export { QuireError, sleep };

const { apply } = Reflect;
const { defineProperty, freeze } = Object;
const { parse, stringify } = JSON;

function extend(on, members) {
  for (const name of Reflect.ownKeys(members)) {
    const { value } = Object.getOwnPropertyDescriptor(members, name);
    defineProperty(on, name, { value, writable: true, configurable: true });
  }
}

// A generation is an iterator, and is its whole answer where it is awaited.
const { collect, stream, next, end } = Generator.prototype;
const signals = new WeakMap();
const signalOf = signals.get.bind(signals);
const keepSignal = signals.set.bind(signals);
const { generate } = Context.prototype;
extend(Context.prototype, {
  generate(options) {
    const generator = apply(generate, this, [options]);
    if (options?.signal !== undefined) keepSignal(generator, options.signal);
    return generator;
  },
});
extend(Generator.prototype, {
  next() {
    return abortable(signalOf(this), () => apply(next, this, []));
  },
  async return(value) {
    await apply(end, this, []);
    return { value, done: true };
  },
  collect() {
    return abortable(signalOf(this), () => apply(collect, this, []));
  },
  stream(show) {
    return abortable(signalOf(this), () => apply(stream, this, [show]));
  },
  then(resolve, reject) {
    return abortable(signalOf(this), () => apply(collect, this, [])).then(resolve, reject);
  },
  [Symbol.asyncIterator]() {
    return this;
  },
});

// Messages until the other side has ended.
async function* messagesOf(receive) {
  for (;;) {
    let message;
    try {
      message = await receive();
    } catch (error) {
      if (error instanceof QuireError && error.code === "unavailable") return;
      throw error;
    }
    yield message;
  }
}
extend(session, {
  messages: () => messagesOf(() => session.receive()),
  // A message with a value as JSON.
  sendJson: (value) => session.send(stringify(value)),
});
extend(Child.prototype, {
  [Symbol.asyncIterator]() {
    return messagesOf(() => this.receive());
  },
  // Gives each message to `show`, until the child has ended.
  async forward(show) {
    for await (const message of this) await show(message);
  },
});
extend(Subscription.prototype, {
  [Symbol.asyncIterator]() {
    return messagesOf(() => this.receive());
  },
});

export const store = native.store;
extend(store, {
  async getJson(key) {
    const { version, text } = await store.get(key);
    try {
      return { version, json: parse(text) };
    } catch (error) {
      throw new SyntaxError(`the value of ${key}: ${error.message}`);
    }
  },
  putJson(key, value, expected) {
    return store.put(key, stringify(value), expected);
  },
  delete: store.remove,
});

// Requests of which the whole response is read: see fetch for the rest.
async function requested(method, url, body, headers = {}) {
  const response = await fetchOf(url, { method, body, headers });
  return { status: response.status, ok: response.ok, headers: response.headers, body: await response.text() };
}
const fetchOf = (...given) => globalThis.fetch(...given);
export const http = freeze({
  get: (url, headers) => requested("GET", url, undefined, headers),
  post: (url, body, headers) => requested("POST", url, body, headers),
  encodeUrl: (text) => {
    let out = "";
    for (const byte of new TextEncoder().encode(text)) {
      const each = String.fromCharCode(byte);
      out += /[A-Za-z0-9\-._~]/.test(each) ? each : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    }
    return out;
  },
});
