// Connection: a WebSocket to a server, its requests and their replies, and the events of its
// instances.

import { ConnectionLost, QuireError, errorOf } from "./errors.js";
import { decode, encode } from "./frames.js";

const SUBPROTOCOL = "quire.1";
const KEY_SUBPROTOCOL = "quire.key.";

export class Connection {
  isShuttingDown = false;
  #url;
  #socket;
  #bufferBytesMax;
  #heldBytes = 0;
  #lastId = 0;
  #lost;
  #pending = new Map(); // From the id of a request to { resolve, reject, convert }.
  #instances = new Map();
  #closed;

  // ConnectionLost: nothing listens there, or it refuses this client.
  static async open(
    url,
    { key = "", openSeconds = 10, bufferBytesMax = 64 << 20, WebSocket: Socket } = {},
  ) {
    const Kind = Socket ?? globalThis.WebSocket;
    if (!Kind) {
      throw new QuireError(
        "not-supported",
        "there is no WebSocket here: node 22 has one, node 20 with --experimental-websocket; " +
          "or pass one, as { WebSocket } of the package ws",
      );
    }
    checkAddress(url);
    const socket = new Kind(url, key ? [SUBPROTOCOL, KEY_SUBPROTOCOL + key] : [SUBPROTOCOL]);
    socket.binaryType = "arraybuffer";
    const connection = new Connection(url, socket, bufferBytesMax);
    if (!(await isOpen(socket, openSeconds))) throw await reasonOfRefusal(url, key, openSeconds);
    return connection;
  }

  constructor(url, socket, bufferBytesMax) {
    this.#url = url;
    this.#socket = socket;
    this.#bufferBytesMax = bufferBytesMax;
    socket.addEventListener("message", ({ data }) => this.#read(data));
    this.#closed = new Promise((resolve) => {
      socket.addEventListener("close", ({ reason }) => {
        this.#lose(
          new ConnectionLost(`the connection to ${url} was lost: ${reason || "it was closed"}`),
        );
        resolve();
      });
    });
  }

  // Any request; `convert` makes a value of the reply before further frames are looked at.
  ask(head, payload = undefined, convert = () => undefined) {
    if (this.#lost) return Promise.reject(this.#lost);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const frame = encode({ verb: head.verb, id, ...head }, payload);
      this.#pending.set(id, { resolve, reject, convert });
      this.#socket.send(frame);
    });
  }

  // Counts what waits to be received. A WebSocket cannot be held up, so too much ends the
  // connection.
  hold(bytes) {
    this.#heldBytes += bytes;
    if (this.#heldBytes <= this.#bufferBytesMax || this.#lost) return;
    this.#lose(
      new QuireError(
        "quota-exceeded",
        `bufferBytesMax: ${this.#heldBytes} bytes that programs sent were not received, at most ` +
          `${this.#bufferBytesMax} may wait; receive them, or allow more`,
      ),
    );
    this.#socket.close();
  }

  adopt(instance) {
    this.#instances.set(instance.info.instance, instance);
    return instance;
  }

  // No event of it comes any more.
  forget(instance, why) {
    this.#instances.delete(instance.info.instance);
    instance.closeWith(why);
  }

  async close() {
    this.#lose(new ConnectionLost(`the connection to ${this.#url} was closed`));
    this.#socket.close();
    await this.#closed;
  }

  #read(data) {
    if (this.#lost) return;
    try {
      this.#handle(decode(data));
    } catch (error) {
      this.#lose(
        new ConnectionLost(`${this.#url} sent a frame that is not understood: ${error}`),
      );
      this.#socket.close();
    }
  }

  #handle({ head, payload }) {
    if (head.reply !== undefined) {
      this.#handleReply(head);
    } else if (head.event === "shutdown") {
      this.isShuttingDown = true;
    } else if (head.event === "error") {
      this.#lose(errorOf(head));
    } else {
      this.#instances.get(head.instance)?.handle(head, payload);
    }
  }

  #handleReply(head) {
    const { resolve, reject, convert } = this.#pending.get(head.id);
    if (head.reply === "error") reject(errorOf(head));
    else resolve(convert(head));
    this.#pending.delete(head.id); // Not earlier: if convert() throws, #lose() rejects the request.
  }

  // The connection is over, for everyone who waits; the first reason counts.
  #lose(why) {
    if (this.#lost) return;
    this.#lost = why;
    for (const { reject } of this.#pending.values()) reject(why);
    this.#pending.clear();
    for (const instance of [...this.#instances.values()]) this.forget(instance, why);
  }
}

function checkAddress(url) {
  if (/^wss?:\/\/[^/]/.test(url)) return;
  const meant = String(url).replace(/^[a-z]*:\/\//, "");
  throw new QuireError(
    "invalid-argument",
    `${JSON.stringify(url)} is not the address of a server, which is ws://HOST:PORT; ` +
      `did you mean ws://${meant}?`,
  );
}

function isOpen(socket, seconds) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      resolve(false);
      socket.close();
    }, seconds * 1000);
    const done = (whether) => () => {
      clearTimeout(timer);
      resolve(whether);
    };
    socket.addEventListener("open", done(true));
    socket.addEventListener("error", done(false));
    socket.addEventListener("close", done(false));
  });
}

// A WebSocket does not report why it was refused. The server gives the reason to an HTTP request.
async function reasonOfRefusal(url, key, seconds) {
  const headers = key ? { authorization: `Bearer ${key}` } : {};
  try {
    const address = url.replace(/^ws/, "http");
    const response = await fetch(address, { headers, signal: AbortSignal.timeout(seconds * 1000) });
    if (response.ok)
      return new ConnectionLost(`${url} refused the connection, or is not a Quire server`);
    const { error } = await response.json();
    const retryAfter = error.retry_after_ms === undefined ? undefined : error.retry_after_ms / 1000;
    return new ConnectionLost(
      `${url} refused the connection: HTTP status ${response.status}: ${error.message}`,
      retryAfter,
    );
  } catch {
    const page = globalThis.location
      ? `, or it takes no page of ${globalThis.location.origin} (--allow-origin)`
      : "";
    return new ConnectionLost(
      `no Quire server answers at ${url}${page}; \`quire serve\` starts one`,
    );
  }
}
