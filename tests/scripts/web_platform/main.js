// Runs one file of the web-platform-tests with their testharness.js: test.json holds its scripts and the
// resources that it fetches. Each result is a message, and the last one the state of the harness.
import { session } from "quire";
import test from "./test.json" with { type: "json" };

const run = eval;  // Called by another name it runs a script, and not a part of this module.
const statuses = ["PASS", "FAIL", "TIMEOUT", "NOTRUN", "PRECONDITION_FAILED"];

// Gives the global object the members that the tests expect.
function prepare() {
  const [path, search = ""] = test.url.split(/(?=\?)/);
  const location = { href: `http://web-platform.test${test.url}`, protocol: "http:", host: "web-platform.test", pathname: path, search, hash: "" };
  Object.assign(globalThis, {
    self: globalThis,
    window: globalThis,
    location,
    GLOBAL: { isWindow: () => false, isWorker: () => false, isShadowRealm: () => false },
    fetch: async (name) => {
      if (!(name in test.resources)) throw new TypeError(`the test fetches ${name}, which is not one of its resources`);
      return { ok: true, text: async () => test.resources[name], json: async () => JSON.parse(test.resources[name]) };
    },
  });
  // Classes that are not there. Tests make objects of them before a subtest begins; the subtests fail.
  for (const name of ["Blob", "File", "FileList", "ImageData", "ImageBitmap", "MessageChannel", "ReadableStream"]) {
    globalThis[name] ??= class {};
  }
  // The only way to a shared buffer that the tests know.
  if (typeof SharedArrayBuffer === "function" && typeof WebAssembly === "undefined") {
    globalThis.WebAssembly = { Memory: class { buffer = new SharedArrayBuffer(0); } };
  }
}

export default function program() {
  prepare();
  return new Promise((resolve) => {
    const [harness, ...scripts] = test.scripts;
    run(harness);
    globalThis.addEventListener?.("error", (event) => event.preventDefault());
    globalThis.addEventListener?.("unhandledrejection", (event) => event.preventDefault());
    add_completion_callback((tests, { status, message }) => {
      for (const each of tests) {
        session.send(`${JSON.stringify({ name: each.name, status: statuses[each.status], message: each.message })}\n`);
      }
      session.send(`${JSON.stringify({ harness: status, message })}\n`);
      resolve();
    });
    setTimeout(() => globalThis.timeout?.(), test.timeoutMs);
    try {
      run(scripts.join("\n"));  // As one: they share what they declare with const.
      setTimeout(() => globalThis.dispatchEvent?.(new Event("load")), 0);
    } catch (error) {
      session.send(`${JSON.stringify({ thrown: `${error}` })}\n`);
      done();
    }
  });
}
