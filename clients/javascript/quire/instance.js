// Instance: one running program, seen from its client.

import { QuireError } from "./errors.js";
import { PAYLOAD_BYTES_MAX } from "./frames.js";
import { Mailbox } from "./mailbox.js";
import { End, bytesOf } from "./values.js";

// A file that a program sends: read it whole, or iterate over its parts as they come.
export class ReceivedFile {
  #parts;
  #readBytes = 0;

  constructor(head, parts) {
    this.name = head.name;
    this.mediaType = head.media_type;
    this.fileBytes = head.file_bytes;
    this.#parts = parts;
  }

  async *[Symbol.asyncIterator]() {
    while (this.#readBytes < this.fileBytes) {
      const part = await this.#parts.get();
      this.#readBytes += part.length;
      yield part;
    }
  }

  // All that was not read yet. Code "unavailable": the program gave the file up.
  async read() {
    const whole = new Uint8Array(this.fileBytes - this.#readBytes);
    let size = 0;
    for await (const part of this) {
      whole.set(part, size);
      size += part.length;
    }
    return whole;
  }
}

// Made by Client.launch and Client.attach. Iterating gives its messages, until it has ended.
export class Instance {
  #connection;
  #onLog;
  #messages;
  #files;
  #openFiles = new Map(); // From the number of a file to { parts, left }: bytes that are to come.
  #sending = Promise.resolve(); // One file goes to an instance at a time.
  #settle;
  #ended;
  #isOver = false;

  constructor(connection, info, onLog) {
    this.info = info;
    this.#connection = connection;
    this.#onLog = onLog;
    this.#messages = this.#mailbox();
    this.#files = this.#mailbox();
    this.#ended = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.#ended.catch(() => {}); // The caller may never ask for the end.
  }

  #mailbox() {
    return new Mailbox((bytes) => this.#connection.hold(bytes));
  }

  // By it any connection attaches: keep it as one keeps a password.
  get name() {
    return this.info.name;
  }

  // ---- To the program.

  // Code "quota-exceeded", with retryAfter: the program has not received enough of them.
  async send(message) {
    await this.#ask("send", {}, await bytesOf(message));
  }

  // No more messages and files: the program's receive() then says so.
  async closeInput() {
    await this.#ask("close_input");
  }

  // Bytes, a text, a Blob or a File, whose name and type count where none are given.
  async sendFile(
    source,
    name = source.name,
    mediaType = source.type || "application/octet-stream",
  ) {
    if (!name)
      throw new QuireError("invalid-argument", "bytes that are sent as a file need a name");
    const data = await bytesOf(source);
    const before = this.#sending;
    const sent = before.then(() => this.#sendParts(data, name, mediaType));
    this.#sending = sent.catch(() => {});
    await sent;
  }

  async #sendParts(data, name, mediaType) {
    const head = { name, media_type: mediaType, file_bytes: data.length };
    for (let offset = 0; offset === 0 || offset < data.length; offset += PAYLOAD_BYTES_MAX) {
      await this.#sendPart({ ...head, offset }, data.subarray(offset, offset + PAYLOAD_BYTES_MAX));
    }
  }

  async #sendPart(head, part) {
    for (;;) {
      try {
        return await this.#ask("send_file", head, part);
      } catch (error) {
        if (error.code !== "quota-exceeded" || error.retryAfter === undefined) throw error;
        await new Promise((resolve) => setTimeout(resolve, error.retryAfter * 1000));
      }
    }
  }

  // Stops the program; its end says "killed".
  async abort() {
    await this.#ask("abort");
  }

  // Stops the program where it still runs: for an end of a block (`await using`) and for signals.
  async abortIfRunning() {
    if (this.#isOver) return;
    try {
      await this.abort();
    } catch (error) {
      // The instance or the connection has ended meanwhile.
      if (!(error instanceof QuireError)) throw error;
    }
  }

  // The program goes on without a client; attach(name) finds it again.
  async detach() {
    const why = new QuireError("unavailable", "this client has detached from the instance");
    const head = { verb: "detach", instance: this.info.instance };
    await this.#connection.ask(head, undefined, () => this.#connection.forget(this, why));
  }

  #ask(verb, more = {}, payload = undefined) {
    return this.#connection.ask({ verb, instance: this.info.instance, ...more }, payload);
  }

  // ---- From the program.

  // The next message, as bytes. Code "not-found": it has ended, and all were received.
  receive() {
    return this.#messages.get();
  }

  [Symbol.asyncIterator]() {
    return { next: () => nextOf(this.#messages) };
  }

  // The messages as texts, also if a character is divided between two messages.
  async *texts() {
    const decoder = new TextDecoder();
    for await (const message of this) {
      const text = decoder.decode(message, { stream: true });
      if (text) yield text;
    }
    const rest = decoder.decode();
    if (rest) yield rest;
  }

  // The next file, which may still be on its way. Code "not-found": as receive().
  receiveFile() {
    return this.#files.get();
  }

  // Waits for the end. Messages and files stay to be received.
  result() {
    return this.#ended;
  }

  // ---- What the connection hands on.

  handle(head, payload) {
    if (head.event === "message") this.#messages.put(payload, payload.length);
    else if (head.event === "log")
      this.#log({ source: head.source, level: head.level, line: head.line });
    else if (head.event === "file") this.#takePart(head, payload);
    else if (head.event === "file_dropped") this.#dropFile(head.file);
    else if (head.event === "detached") this.#leave(head.message);
    else if (head.event === "ended") this.#end(head, payload);
  }

  #log(line) {
    try {
      if (this.#onLog) this.#onLog(line);
      else if (line.level === "warning" || line.level === "error") {
        console.error(`instance ${this.info.instance}: ${line.line}`);
      }
    } catch (error) {
      console.error("onLog has failed:", error); // The user's: the connection goes on.
    }
  }

  #takePart(head, part) {
    let open = this.#openFiles.get(head.file);
    if (!open) {
      open = { parts: this.#mailbox(), left: head.file_bytes };
      this.#openFiles.set(head.file, open);
      this.#files.put(new ReceivedFile(head, open.parts));
    }
    open.parts.put(part, part.length);
    open.left -= part.length;
    if (open.left <= 0) this.#openFiles.delete(head.file);
  }

  #dropFile(number) {
    const why = new QuireError("unavailable", "the program gave the file up");
    this.#openFiles.get(number)?.parts.close(why);
    this.#openFiles.delete(number);
  }

  #leave(message) {
    const why = new QuireError("unavailable", `the client is detached: ${message}`);
    this.#connection.forget(this, why);
  }

  #end(head, payload) {
    this.#settle.resolve(new End(head, payload));
    this.#connection.forget(this, new QuireError("not-found", "the program has ended"));
  }

  // Nothing more comes; what came stays to be received.
  closeWith(why) {
    this.#isOver = true;
    this.#messages.close(why);
    this.#files.close(why);
    for (const { parts } of this.#openFiles.values()) parts.close(why);
    this.#openFiles.clear();
    this.#settle.reject(why); // Not where the end has come.
  }
}

async function nextOf(mailbox) {
  try {
    return { done: false, value: await mailbox.get() };
  } catch (error) {
    if (error.code === "not-found") return { done: true, value: undefined };
    throw error;
  }
}

if (Symbol.asyncDispose) {
  Instance.prototype[Symbol.asyncDispose] = Instance.prototype.abortIfRunning;
}
