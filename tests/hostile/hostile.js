// Scripts that mean harm: the programs of hostile.cpp in JavaScript, and those that only a script can be. The first
// argument names the program, and script_test.py knows how it must end. A refused program insists for a quarter of a
// second.
import * as quire from "quire";
import raw from "quire/raw";

const { Child, Context, messages, runtime, session, sleep } = quire;
const insistMs = 250;

// Calls `want` until a quarter of a second after the first refusal, then throws that.
async function insist(want) {
  let refusal, until;
  for (;;) {
    try {
      await want();
    } catch (error) {
      refusal ??= error;
      until ??= runtime.now() + insistMs;
    }
    if (runtime.now() > until) throw refusal;
  }
}

// Each function, method and getter of the SDK, with its name. `types` calls them all with wrong values.
function everything() {
  const found = [];
  for (const [name, value] of [...Object.entries(quire), ...Object.entries(raw)]) {
    const objects = [value, value?.prototype].filter((each) => each !== undefined && each !== null);
    for (const object of objects) {
      for (const member of Reflect.ownKeys(object)) {
        const { value: called, get } = Object.getOwnPropertyDescriptor(object, member);
        if (typeof called === "function" && member !== "constructor") found.push([`${name}.${String(member)}`, called]);
        if (get !== undefined) found.push([`${name}.${String(member)}`, get]);
      }
    }
  }
  return found;
}
const awkward = { get then() { throw new Error("a getter that throws"); }, valueOf: () => { throw new Error("no value"); } };
const wrongs = [undefined, null, -1, 2 ** 53, NaN, "", "\ud800", 12345678, true, [], [undefined], {}, awkward, () => {}, Symbol("s"), 10n ** 30n,
  new Uint8Array(3), new Proxy({}, { get() { throw new Error("a trap"); } })];

const wants = {
  recursion() {
    const deep = () => deep() + 1;
    return deep();
  },
  memory() {
    const all = [];
    for (;;) all.push(new Array(1000).fill(1));
  },
  handles: () => insist(() => raw.runtime.sleep(60e9)),
  async contexts() {
    const first = await Context.create();
    const all = [];
    return insist(async () => all.push(await first.fork()));
  },
  async tokens() {
    const context = await Context.create();
    const tokens = new Array(1000).fill(5);
    return insist(() => context.append(tokens));
  },
  async pages() {
    const context = await Context.create();
    return insist(() => context.reserveWorkingPages(8));
  },
  spawn() {
    const all = [];
    return insist(() => all.push(Child.launch({ arguments: ["sleep"], sharePercent: 1 })));
  },
  messages() {
    const child = Child.launch({ arguments: ["sleep"] });
    return insist(() => child.send("x"));
  },
  mailbox() {
    const mine = messages.subscribe("mine");
    return insist(() => messages.broadcast("mine", mine === undefined ? "" : "x"));
  },
  http(url) {
    const all = [];
    return insist(() => all.push(quire.Exchange.open("GET", url, [], 0)));
  },
  output() {
    const line = "x".repeat(60000);
    return insist(() => session.send(line));
  },
  loop() {
    for (;;);
  },
  async naps() {
    for (;;) {
      for (let i = 0; i < 20000; ++i);
      await sleep(0);
    }
  },
  async promises() {
    for (;;) await null;
  },
  async rejection() {
    Promise.reject(new Error("lost"));
    await sleep(60000);
  },
  async callback() {
    const context = await Context.create();
    await context.appendText("a");
    await context.generate({ maxTokens: 4, onToken() { throw new Error("in a hook"); } });
  },
  async timer() {
    setTimeout(() => { throw new Error("late"); }, 1);
    await sleep(60000);
  },
  // The program has ended before one of its callbacks could throw.
  after() {
    setTimeout(() => { throw new Error("after the end"); }, 1);
    setInterval(() => { throw new Error("after the end"); }, 1);
    new Promise(() => {}).then(() => { throw new Error("never"); });
  },
  async types() {
    const until = runtime.now() + insistMs;
    // Left out: calls that accept such arguments, and then wait, end the program or write too much.
    const leftOut = /^(session\.(send|receive|messages)|sleep|runtime\.(sleep|log|waitChild)|Generator\.then|future\.wait|session\.receiveFile)/;
    const all = everything().filter(([name]) => !leftOut.test(name));
    let refused = 0;
    for (let at = 0; runtime.now() < until || at < all.length; ++at) {
      const [, called] = all[at % all.length];
      const given = wrongs.map((_, i) => wrongs[(i + at) % wrongs.length]).slice(0, at % 6);
      try {
        const promise = called.apply(wrongs[at % wrongs.length], given);
        if (promise instanceof Promise) promise.catch(() => { refused += 1; });
      } catch {
        refused += 1;
      }
    }
    throw new Error(refused > all.length / 2 ? "all were tried" : `only ${refused} of ${all.length} were refused`);
  },
  async foreign() {
    const child = Child.launch({ arguments: ["hold"] });
    const handles = JSON.parse(await child.receive());
    for (const call of [() => raw.context.seqLen(handles[0]), () => raw.future.drop(handles[1]), () => raw.context.flush(handles[0])]) {
      try {
        call();
      } catch (error) {
        if (error.code === "not-found") continue;
        throw new Error(`a handle of another script: ${error.message}`);
      }
      throw new Error("a handle of another script was taken");
    }
    throw new Error("none was taken");
  },
  async prototypes() {
    Context.prototype.fork = Context.create = () => 7;
    Promise.prototype.then = Array.prototype.push = String.prototype.split = undefined;
    Object.prototype.get = Object.prototype.value = Object.prototype.then = () => { throw new Error("mine"); };
    Array.prototype[Symbol.iterator] = Error.prototype.toString = null;
    globalThis.Error = globalThis.Promise = null;
    null.x;
  },
  async sleep() {
    await sleep(600000);
  },
  async hold() {
    const context = await Context.create();
    session.send(`[${context.handle}, ${raw.runtime.sleep(600e9)}]`);
    await sleep(600000);
  },
};

// Programs that end at once sleep first, so that they are there beside the victim.
const brief = ["recursion", "rejection", "callback", "timer", "foreign", "prototypes"];
// Programs that a parent launches, which would hear "BEGUN".
const children = ["sleep", "hold"];

export default async function program() {
  const [want, ...more] = runtime.arguments();
  if (!children.includes(want)) session.send("BEGUN\n");
  if (brief.includes(want)) await sleep(insistMs);
  return wants[want](...more);
}
