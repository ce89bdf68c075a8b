// The globals that a script finds without an import.
import native from "quire:native";
import { console } from "quire:library/console.js";
import { AbortController, AbortSignal, Event, EventTarget } from "quire:library/abort.js";
import { TextDecoder, TextEncoder, crypto, structuredClone } from "quire:library/encoding.js";
import { Headers, Response, fetch } from "quire:library/fetch.js";
import { Request } from "quire:library/request.js";
import {
  clearInterval, clearTimeout, queueMicrotask, setInterval, setTimeout,
} from "quire:library/timers.js";
import { URL, URLSearchParams } from "quire:library/url.js";

const { now } = native.runtime;
let origin = 0;
const performance = {
  now: () => now() - origin,
  get timeOrigin() {
    return Date.now() - performance.now();
  },
};
// At launch: times count from there.
native.engine.setBegin(() => {
  origin = now();
});

const everything = {
  console, AbortController, AbortSignal, Event, EventTarget, TextDecoder, TextEncoder, crypto,
  structuredClone, Headers, Request, Response, fetch, clearInterval, clearTimeout, queueMicrotask,
  setInterval, setTimeout, URL, URLSearchParams, performance,
};
for (const [name, value] of Object.entries(everything)) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}
Object.defineProperty(Math, "random", { value: native.engine.random, writable: true, configurable: true });
