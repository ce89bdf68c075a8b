// Event, EventTarget, AbortController and AbortSignal; and what listens to a signal in the SDK.
import native from "quire:native";
import { setTimeout } from "quire:library/timers.js";

export class Event {
  #canceled = false;
  constructor(type, { cancelable = false } = {}) {
    this.type = String(type);
    this.cancelable = cancelable;
    this.target = null;
  }
  preventDefault() {
    if (this.cancelable) this.#canceled = true;
  }
  get defaultPrevented() {
    return this.#canceled;
  }
}

export class EventTarget {
  #listeners = new Map();
  addEventListener(type, listener, options) {
    if (typeof listener !== "function" && typeof listener?.handleEvent !== "function") return;
    const listed = this.#listeners.get(type) ?? [];
    if (listed.some((each) => each.listener === listener)) return;
    const once = typeof options === "object" && options !== null && Boolean(options.once);
    this.#listeners.set(type, [...listed, { listener, once }]);
  }
  removeEventListener(type, listener) {
    const listed = this.#listeners.get(type) ?? [];
    this.#listeners.set(type, listed.filter((each) => each.listener !== listener));
  }
  dispatchEvent(event) {
    event.target = this;
    for (const each of this.#listeners.get(event.type) ?? []) {
      if (each.once) this.removeEventListener(event.type, each.listener);
      if (typeof each.listener === "function") each.listener.call(this, event);
      else each.listener.handleEvent(event);
    }
    return !event.defaultPrevented;
  }
}

const ours = Symbol("made by the SDK");

export class AbortSignal extends EventTarget {
  #reason = undefined;
  #aborted = false;
  onabort = null;
  constructor(key) {
    super();
    if (key !== ours) throw new TypeError("new AbortSignal: use an AbortController");
  }
  static #abort(signal, reason) {
    if (signal.#aborted) return;
    signal.#aborted = true;
    signal.#reason = reason ?? new DOMException("the operation was aborted", "AbortError");
    const event = new Event("abort");
    if (typeof signal.onabort === "function") signal.onabort(event);
    signal.dispatchEvent(event);
  }
  static controlled() {
    const signal = new AbortSignal(ours);
    return [signal, (reason) => AbortSignal.#abort(signal, reason)];
  }
  static abort(reason) {
    const [signal, abort] = controlled();
    abort(reason);
    return signal;
  }
  static timeout(ms) {
    const [signal, abort] = controlled();
    setTimeout(() => abort(new DOMException(`not done after ${ms} ms`, "TimeoutError")), ms);
    return signal;
  }
  static any(signals) {
    const [signal, abort] = controlled();
    for (const each of signals) {
      if (each.aborted) abort(each.reason);
      else each.addEventListener("abort", () => abort(each.reason), { once: true });
    }
    return signal;
  }
  get aborted() {
    return this.#aborted;
  }
  get reason() {
    return this.#reason;
  }
  throwIfAborted() {
    if (this.#aborted) throw this.#reason;
  }
}
const { controlled } = AbortSignal;
delete AbortSignal.controlled;

export class AbortController {
  #abort;
  constructor() {
    const [signal, abort] = controlled();
    this.signal = signal;
    this.#abort = abort;
  }
  abort(reason) {
    this.#abort(reason);
  }
}

// The promise of a call, whose work is dropped when `signal` is aborted.
export function abortable(signal, begin) {
  if (signal === undefined || signal === null) return begin();
  if (!(signal instanceof AbortSignal)) throw new TypeError("signal must be an AbortSignal");
  if (signal.aborted) return Promise.reject(signal.reason);
  const promise = begin();
  const stop = () => native.engine.cancel(promise, signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const done = () => signal.removeEventListener("abort", stop);
  promise.then(done, done);
  return promise;
}
