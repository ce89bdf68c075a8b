// The globals that a script finds without an import.
import native from "quire:native";
import { console } from "quire:library/console.js";
import { AbortController, AbortSignal } from "quire:library/abort.js";
import { crypto } from "quire:library/crypto.js";
import { TextDecoder, TextEncoder } from "quire:library/encoding.js";
import {
  CustomEvent, ErrorEvent, Event, EventTarget, PromiseRejectionEvent, addEventListener, dispatchEvent, removeEventListener,
  reportError,
} from "quire:library/events.js";
import { Headers, Response, fetch } from "quire:library/fetch.js";
import { sinceLaunch } from "quire:library/launch_time.js";
import { Request } from "quire:library/request.js";
import { structuredClone } from "quire:library/structured_clone.js";
import {
  clearInterval, clearTimeout, queueMicrotask, setInterval, setTimeout,
} from "quire:library/timers.js";
import { URL, URLSearchParams } from "quire:library/url.js";

const performance = {
  now: sinceLaunch,
  get timeOrigin() {
    return Date.now() - sinceLaunch();
  },
};

const everything = {
  console, AbortController, AbortSignal, CustomEvent, ErrorEvent, Event, EventTarget, PromiseRejectionEvent,
  TextDecoder, TextEncoder, crypto, structuredClone, Headers, Request, Response, fetch, clearInterval, clearTimeout,
  queueMicrotask, setInterval, setTimeout, URL, URLSearchParams, performance, addEventListener, dispatchEvent,
  removeEventListener, reportError,
};
for (const [name, value] of Object.entries(everything)) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}
Object.defineProperty(Math, "random", { value: native.engine.random, writable: true, configurable: true });
