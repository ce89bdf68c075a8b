// Client: programs and instances of a server.

import { Connection } from "./connection.js";
import { QuireError } from "./errors.js";
import { PAYLOAD_BYTES_MAX } from "./frames.js";
import { Instance } from "./instance.js";
import { bytesOf, checkedArguments, toCamel, toSnake } from "./values.js";

const KNOWN_STATES = ["compiling", "ready"];

export async function connect(url = "ws://127.0.0.1:7847", options = {}) {
  return new Client(await Connection.open(url, options));
}

// Made by connect().
export class Client {
  #connection;
  #uploading = Promise.resolve(); // A connection uploads one thing at a time.

  constructor(connection) {
    this.#connection = connection;
  }

  // The server has said that it is shutting down.
  get isShuttingDown() {
    return this.#connection.isShuttingDown;
  }

  // Instances that are not detached are stopped after the server's grace time.
  close() {
    return this.#connection.close();
  }

  // ---- Programs.

  // By "sha256:..." or by its name.
  findProgram(program) {
    return this.#connection.ask({ verb: "find_program", program }, undefined, (head) => {
      return { program: head.program, state: head.state, receivedBytes: head.received_bytes };
    });
  }

  // Brings a module to the server, unless it is there, and returns its "sha256:...".
  async upload(source, name = "") {
    if (typeof source === "string") {
      throw new TypeError(
        `upload() takes the bytes of a module, not a path or a text: ${source.slice(0, 80)}`,
      );
    }
    const wasm = await bytesOf(source);
    const program = "sha256:" + (await sha256(wasm));
    if (!(await this.#hasProgram(program))) {
      await this.#uploadInTurn(() => this.#uploadUnlessThere(program, wasm));
    }
    if (name) await this.nameProgram(program, name);
    return program;
  }

  #uploadInTurn(work) {
    const uploaded = this.#uploading.then(work);
    this.#uploading = uploaded.catch(() => {});
    return uploaded;
  }

  async #hasProgram(program) {
    return KNOWN_STATES.includes((await this.findProgram(program)).state);
  }

  async #uploadUnlessThere(program, wasm) {
    if (await this.#hasProgram(program)) return; // Who went before may have brought it.
    await this.#sendParts({ verb: "upload", program, program_bytes: wasm.length }, wasm);
  }

  // Returns the reply to the last part, converted.
  async #sendParts(head, content, convert) {
    let last;
    for (let offset = 0; offset === 0 || offset < content.length; offset += PAYLOAD_BYTES_MAX) {
      const part = content.subarray(offset, offset + PAYLOAD_BYTES_MAX);
      last = await this.#connection.ask({ ...head, offset }, part, convert);
    }
    return last;
  }

  // Code "already-exists": the operator of the server gave this name to another program.
  nameProgram(program, name) {
    return this.#connection.ask({ verb: "name_program", program, name });
  }

  // ---- Adapters. A name is NAME, or MODEL:NAME for another than the first model.

  // `files` has the content of each file by its name: adapter_config.json and
  // adapter_model.safetensors, or one that ends in .gguf. Code "already-exists": another adapter
  // has the name.
  async uploadAdapter(name, files) {
    const parts = await Promise.all(
      Object.entries(files).map(async ([each, source]) => [each, await bytesOf(source)]),
    );
    const content = new Uint8Array(await new Blob(parts.map(([, part]) => part)).arrayBuffer());
    const head = {
      verb: "upload_adapter",
      name,
      files: parts.map(([each, part]) => ({ name: each, bytes: part.length })),
      digest: "sha256:" + (await sha256(content)),
    };
    return this.#uploadInTurn(() =>
      this.#sendParts(head, content, (reply) => toCamel(reply, "reply", "id")),
    );
  }

  // The path lies below the folder of the server's --adapters.
  addAdapter(name, path) {
    return this.#connection.ask({ verb: "add_adapter", name, path }, undefined, (reply) =>
      toCamel(reply, "reply", "id"),
    );
  }

  // Programs that use it go on. Code "not-found": this client's tenant has no adapter of that name.
  removeAdapter(name) {
    return this.#connection.ask({ verb: "remove_adapter", name });
  }

  // The adapters that this client's programs may use; of very many the first 200.
  listAdapters() {
    return this.#connection.ask({ verb: "list_adapters" }, undefined, (head) =>
      head.adapters.map((each) => toCamel(each)),
    );
  }

  // ---- Instances.

  // By digest or name. `deadline` is in seconds from now; a `signal` that is aborted stops the
  // instance.
  async launch(program, args = [], options = {}) {
    const { detached, onLog, signal } = options;
    signal?.throwIfAborted();
    const head = launchHead(program, args, options);
    if (detached) head.detached = true;
    const instance = await this.#connection.ask(head, undefined, (reply) =>
      this.#adopt(reply, onLog),
    );
    if (signal) await this.#abortWith(signal, instance);
    return instance;
  }

  async #abortWith(signal, instance) {
    const abort = () => instance.abortIfRunning();
    if (signal.aborted) {
      await abort();
      signal.throwIfAborted();
    }
    signal.addEventListener("abort", abort, { once: true });
    const done = () => signal.removeEventListener("abort", abort);
    instance.result().then(done, done);
  }

  // As launch(), without attaching: the instance goes on by itself, and all of its output waits for
  // the client that attaches. Returns its number, name and program.
  async start(program, args = [], options = {}) {
    const head = { ...launchHead(program, args, options), attach: false };
    return this.#connection.ask(head, undefined, (reply) => toCamel(reply, "reply", "id"));
  }

  // The instance of that name, or with that number if the key has the right see-tenant or operate.
  // Code "already-exists": another client is attached to it. With `take` that client is detached, and
  // what it waits for fails with "unavailable".
  attach(instance, { take = false, onLog } = {}) {
    const head = { verb: "attach", [typeof instance === "string" ? "name" : "instance"]: instance };
    if (take) head.take = true;
    return this.#connection.ask(head, undefined, (reply) => this.#adopt(reply, onLog));
  }

  // To an instance of another client, by its number. The key needs the right see-tenant or operate.

  async send(instance, message) {
    await this.#connection.ask({ verb: "send", instance }, await bytesOf(message));
  }

  async closeInput(instance) {
    await this.#connection.ask({ verb: "close_input", instance });
  }

  // The server also stops an instance that a program or a request launched.
  async abort(instance) {
    await this.#connection.ask({ verb: "abort", instance });
  }

  #adopt(head, onLog) {
    return this.#connection.adopt(
      new Instance(this.#connection, toCamel(head, "reply", "id"), onLog),
    );
  }

  // The instances of this connection; of very many `leftOutCount` says how many more.
  list() {
    return this.#connection.ask({ verb: "list" }, undefined, (head) => {
      const instances = head.instances.map((each) => toCamel(each));
      return { instances, leftOutCount: head.left_out_count ?? 0 };
    });
  }

  // With `detail`, what tenants and instances hold and have used, as the protocol spells it.
  status({ detail = false } = {}) {
    const head = detail ? { verb: "status", detail: true } : { verb: "status" };
    return this.#connection.ask(head, undefined, (reply) => toCamel(reply, "reply", "id"));
  }
}

function launchHead(program, args, { limits, tenant, deadline, seed }) {
  const head = { verb: "launch", program, arguments: checkedArguments(args) };
  if (limits) head.limits = toSnake(limits);
  if (tenant) head.tenant = tenant;
  if (deadline !== undefined) head.deadline_ms = Math.max(1, Math.round(deadline * 1000));
  if (seed !== undefined) head.seed = seed;
  return head;
}

async function sha256(bytes) {
  if (!globalThis.crypto?.subtle) {
    throw new QuireError(
      "not-supported",
      "upload() needs crypto.subtle, which browsers give to pages of https:// and localhost " +
        "alone; launch a program that the server has by its name",
    );
  }
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

if (Symbol.asyncDispose) Client.prototype[Symbol.asyncDispose] = Client.prototype.close;
