// The checks of the client, for node and browsers: `run(server)` returns a line for each, "ok NAME"
// or why not. `server` has url, key, `hello`, the bytes of that program, and `adapter`, those of an
// adapter for its model. It knows the programs echo and files.

import { ConnectionLost, InstanceFailed, QuireError, connect } from "../quire/index.js";
import { decode, encode } from "../quire/frames.js";

const text = (bytes) => new TextDecoder().decode(bytes);
const bytes = (value) => new TextEncoder().encode(value);

function same(got, wanted) {
  if (JSON.stringify(got) !== JSON.stringify(wanted)) {
    throw new Error(`${JSON.stringify(got)} is not ${JSON.stringify(wanted)}`);
  }
}

function holds(whether, what) {
  if (!whether) throw new Error(`it does not hold: ${what}`);
}

async function fails(work, kind, pattern) {
  try {
    await work();
  } catch (error) {
    const is =
      typeof kind === "string"
        ? error instanceof QuireError && error.code === kind
        : error instanceof kind;
    holds(
      is && pattern.test(error.message),
      `${error.name} ${error.code}: ${error.message} is ${kind} ${pattern}`,
    );
    return error;
  }
  throw new Error(`nothing was thrown; ${pattern} was expected`);
}

async function until(check) {
  while (!(await check())) await new Promise((resolve) => setTimeout(resolve, 10));
}

const checks = {
  async "frames are the bytes that the document shows"() {
    const frame = encode({ verb: "send", id: 4, instance: 17 }, bytes("hi"));
    same(text(frame), '\x24\0\0\0{"verb":"send","id":4,"instance":17}hi');
    const { head, payload } = decode(frame.buffer);
    same([head.instance, text(payload)], [17, "hi"]);
    same(encode({ verb: "list" }), '{"verb":"list"}');
    for (const wrong of [
      new ArrayBuffer(0),
      bytes("\x05\0\0\0{}").buffer,
      bytes("\x02\0\0\0{)").buffer,
      "{",
      "[1]",
      "7",
      "null",
    ]) {
      await fails(() => decode(wrong), Error, /frame|JSON|Expected|Unexpected/);
    }
  },

  async "a program is uploaded, launched, talked to and ends"(client, server) {
    const program = await client.upload(server.hello);
    same(await client.upload(server.hello.buffer.slice(0), "greeter"), program);
    same((await client.findProgram("greeter")).state, "ready");
    const instance = await client.launch("greeter", ["--name", "you"]);
    let said = "";
    for await (const part of instance.texts()) said += part;
    holds(said.startsWith("Hello, you!"), said);
    const end = (await instance.result()).check();
    holds(end.durationNs > 0 && end.durationNs >= end.firstMessageNs, "durations");
    await fails(() => instance.receive(), "not-found", /has ended/);
    await fails(() => instance.send("too late"), "not-found", /has ended/);
  },

  async "messages go both ways in order, and input has an end"(client) {
    const lines = [];
    const instance = await client.launch("echo", [], { onLog: (line) => lines.push(line) });
    const sent = Array.from({ length: 200 }, (_, number) => `message ${number}`);
    for (const message of sent) await instance.send(message);
    for (const message of sent) same(text(await instance.receive()), message + "\n");
    await instance.send(bytes("log careful"));
    await instance.closeInput();
    const end = await instance.result();
    same(end.text, "end: the client has ended its side");
    same(lines, [{ source: "log", level: "info", line: "careful" }]);
  },

  async "a character that is cut in two is one in texts()"(client) {
    const instance = await client.launch("echo");
    for (const half of [[0xc3], [0xa9]]) await instance.send(new Uint8Array(half));
    await instance.send("quit");
    let said = "";
    for await (const part of instance.texts()) said += part;
    same(said, "\ufffd\n\ufffd\n"); // echo puts a newline between the halves.
  },

  async "an end says what went wrong"(client) {
    const instance = await client.launch("echo");
    await instance.send("crash");
    const end = await instance.result();
    same([end.kind, end.ok], ["trapped", false]);
    const failed = await fails(() => end.check(), InstanceFailed, /^the program trapped: /);
    holds(failed.end === end, "the error has the end");
  },

  async "what the server refuses has its code and the server's words"(client) {
    await fails(() => client.launch("nobody"), "not-found", /no program is named "nobody"/);
    await fails(
      () => client.launch("echo", [], { limits: { memory: 1 } }),
      "invalid-argument",
      /"memory" is unknown/,
    );
    await fails(() => client.launch("echo", [], { seed: 2 ** 53 }), "invalid-argument", /seed/);
    await (await client.launch("echo", [], { seed: 7 })).abort();
    await fails(() => client.upload(bytes("no module")), "invalid-argument", /./);
    await fails(() => client.attach("0".repeat(32)), "not-found", /./);
  },

  async "an adapter is uploaded, listed and removed"(client, server) {
    const added = await client.uploadAdapter("pirate", { "pirate.gguf": server.adapter });
    same([added.name, added.rankMax, added.inUse], ["pirate", 1, false]);
    same(await client.listAdapters(), [added]);
    const blob = new Blob([server.adapter]);
    same((await client.uploadAdapter("pirate", { "pirate.gguf": blob })).digest, added.digest);
    await client.removeAdapter("pirate");
    same(await client.listAdapters(), []);
    await fails(() => client.removeAdapter("pirate"), "not-found", /pirate/);
    await fails(() => client.addAdapter("pirate", "p"), "not-supported", /--adapters/);
    await fails(() => client.uploadAdapter("bad", { "bad.gguf": bytes("GGUF") }), "corrupted", /./);
    await fails(() => client.uploadAdapter("bad", { "bad.gguf": 7 }), TypeError, /number/);
  },

  async "wrong arguments are a TypeError, and nothing is launched"(client) {
    const wrong = /not "--name you"; pass \["--name","you"\]/;
    await fails(() => client.launch("echo", "--name you"), TypeError, wrong);
    await fails(
      () => client.launch("echo", ["a", 7]),
      TypeError,
      /arguments\[1\] is no text but number: 7/,
    );
    await fails(() => client.upload("hello.wasm"), TypeError, /takes the bytes of a module/);
    await fails(
      () => client.launch("echo").then((each) => each.send(7)),
      TypeError,
      /not number: 7/,
    );
  },

  async "what is too large is refused and costs nobody the connection"(client) {
    const instance = await client.launch("echo");
    await fails(
      () => instance.send(new Uint8Array((1 << 20) + 1)),
      "too-large",
      /payload of 1048577 bytes/,
    );
    await fails(() => client.launch("echo", ["x".repeat(3 << 20)]), "too-large", /text frame/);
    await instance.send("still here");
    same(text(await instance.receive()), "still here\n");
    await instance.abort();
  },

  async "abort stops what would run for ever, and so does a signal"(client) {
    const instance = await client.launch("echo");
    await instance.send("again 100000000");
    await instance.receive();
    await instance.abort();
    const end = await instance.result();
    same([end.kind, end.message], ["killed", "aborted by its client"]);
    await instance.abortIfRunning(); // Which it does no more.

    const controller = new AbortController();
    const other = await client.launch("echo", [], { signal: controller.signal });
    controller.abort();
    same((await other.result()).kind, "killed");
    await fails(() => client.launch("echo", [], { signal: controller.signal }), Error, /abort/i);

    const late = new AbortController();
    const launching = client.launch("echo", [], { signal: late.signal });
    late.abort(new Error("too late"));
    await fails(() => launching, Error, /too late/);
    await until(async () => (await client.status()).instanceCount === 0);
  },

  async "limits are passed on in their own names"(client) {
    const limits = { cpuNsMax: 50_000_000 };
    const instance = await client.launch("echo", [], { limits });
    await instance.send("again 100000000");
    for await (const _ of instance); // It says so often as its limit allows.
    const end = await instance.result();
    same([end.kind, end.limit], ["limit-exceeded", "cpu_ns_max"]);
  },

  async "instances of one connection do not mix their words"(client) {
    const numbers = Array.from({ length: 20 }, (_, number) => String(number));
    const said = await Promise.all(
      numbers.map(async (number) => {
        const instance = await client.launch("echo", [number]);
        const message = text(await instance.receive());
        await instance.send("quit");
        (await instance.result()).check();
        return message;
      }),
    );
    same(
      said,
      numbers.map((number) => number + "\n"),
    );
  },

  async "files go both ways"(client) {
    const instance = await client.launch("files", ["first.txt", "hello"]);
    const first = await instance.receiveFile();
    same(
      [first.name, first.mediaType, text(await first.read())],
      ["first.txt", "text/plain", "hello"],
    );
    const big = new Uint8Array(5 << 20).map((_, index) => index * 7);
    for (const [name, data] of [
      ["big.bin", big],
      ["none.txt", new Uint8Array()],
    ]) {
      const sending = instance.sendFile(data, name);
      const copy = await instance.receiveFile();
      same([copy.name, copy.fileBytes], ["copy of " + name, data.length]);
      const whole = await copy.read();
      holds(
        whole.every((byte, index) => byte === data[index]),
        `the bytes of ${name}`,
      );
      await sending;
    }
    await instance.sendFile(new File(["1,2\n"], "a.csv", { type: "text/csv" }));
    same((await instance.receiveFile()).mediaType, "text/csv");
    await fails(() => instance.sendFile(bytes("x")), "invalid-argument", /need a name/);
    await instance.abort();
  },

  async "files to one instance wait for one another"(client) {
    const instance = await client.launch("files");
    const sent = ["a", "b", "c"].map((name) => instance.sendFile(name.repeat(3 << 20), name));
    for (let count = 0; count < sent.length; ++count) {
      const copy = await instance.receiveFile();
      const whole = text(await copy.read());
      holds(whole === copy.name.at(-1).repeat(3 << 20), copy.name);
    }
    await Promise.all(sent);
    await instance.abort();
  },

  async "a detached instance is found again"(client, server) {
    const instance = await client.launch("echo", ["one"], { detached: true });
    same([instance.info.detached, (await client.list()).instances.length], [true, 1]);
    same(text(await instance.receive()), "one\n");
    await instance.detach();
    await fails(() => instance.result(), "unavailable", /has detached/);
    const other = await connect(server.url, server);
    const again = await other.attach(instance.name);
    await fails(() => client.attach(instance.name), "already-exists", /./);
    await again.send("quit");
    (await again.result()).check();
    await other.close();
  },

  async "an instance that was started alone is found by its number and taken"(client, server) {
    const info = await client.start("echo", ["from the start"]);
    same([info.detached, (await client.list()).instances.length], [true, 0]);
    const other = await connect(server.url, server);
    await other.send(info.instance, "by number");
    const first = await other.attach(info.instance);
    same(text(await first.receive()), "from the start\n");
    same(text(await first.receive()), "by number\n");
    await fails(() => client.attach(info.instance), "already-exists", /./);
    const second = await client.attach(info.instance, { take: true });
    await fails(() => first.receive(), "unavailable", /another client of its tenant/);
    await other.abort(info.instance);
    same((await second.result()).kind, "killed");
    await other.close();
  },

  async "a connection that is closed is told to everyone who waits"(_, server) {
    const client = await connect(server.url, server);
    const instance = await client.launch("echo");
    const waiting = [
      instance.result(),
      instance.receive(),
      (async () => {
        for await (const _ of instance);
      })(),
    ];
    for (const each of waiting) each.catch(() => {});
    await client.close();
    for (const each of waiting) await fails(() => each, ConnectionLost, /was closed/);
    await fails(() => client.status(), ConnectionLost, /was closed/);
    await client.close();
  },

  async "who does not receive is told, and others are left alone"(client, server) {
    const small = await connect(server.url, { ...server, bufferBytesMax: 1 << 20 });
    const instance = await small.launch("echo");
    await instance.send("again 100000000").catch(() => {});
    await fails(
      () => instance.result(),
      "quota-exceeded",
      /^bufferBytesMax: \d+ bytes .* were not received/,
    );
    holds((await instance.receive()).length > 0, "what came can be received");
    await client.status();
  },

  async "without a server, or with a wrong key, one is told so"(_, server) {
    await fails(() => connect("ws://127.0.0.1:1"), ConnectionLost, /`quire serve` starts one/);
    await fails(
      () => connect("http://127.0.0.1:7847"),
      "invalid-argument",
      /did you mean ws:\/\/127.0.0.1:7847\?/,
    );
    if (!server.key) return;
    const wrong = () => connect(server.url, { key: "qk_wrong" });
    await fails(wrong, ConnectionLost, /HTTP status 401: .*key|no page of/);
  },
};

const PATIENCE_MS = 60_000;

export async function run(server) {
  const lines = [];
  for (const [name, check] of Object.entries(checks)) {
    let client, timer;
    const begin = performance.now();
    const tooLong = new Promise(
      (_, reject) => (timer = setTimeout(() => reject(new Error("it took too long")), PATIENCE_MS)),
    );
    try {
      client = await connect(server.url, server);
      await Promise.race([check(client, server), tooLong]);
      lines.push(`ok ${name} (${Math.round(performance.now() - begin)} ms)`);
    } catch (error) {
      lines.push(`failed ${name}: ${error.stack}`);
    } finally {
      clearTimeout(timer);
      await client?.close();
    }
  }
  return lines;
}
