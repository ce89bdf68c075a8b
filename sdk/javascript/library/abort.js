// AbortController and AbortSignal (DOM Standard); and what listens to a signal in the SDK.
import native from "quire:native";
import { Event, EventTarget, defineHandler, fire, useSignals } from "quire:library/events.js";
import { argumentCount, publish } from "quire:library/interfaces.js";
import { setSystemTimeout } from "quire:library/timers.js";

const ours = Symbol("made by the SDK");
let stateOf;  // undefined: it is not a signal.

const aborted = () => new DOMException("the operation was aborted", "AbortError");

export class AbortSignal extends EventTarget {
  // `works` are called before the listeners. `sources` and `dependents` are the signals of any().
  #state = { reason: undefined, isAborted: false, works: new Set(), sources: null, dependents: new Set() };
  static {
    stateOf = (signal) => (typeof signal === "object" && signal !== null && #state in signal ? signal.#state : undefined);
  }
  constructor(key = undefined) {
    if (key !== ours) throw new TypeError("new AbortSignal: use an AbortController");
    super();
  }
  static abort(reason = aborted()) {
    const signal = new AbortSignal(ours);
    Object.assign(signal.#state, { reason, isAborted: true });
    return signal;
  }
  static timeout(ms) {
    argumentCount(arguments, 1, "AbortSignal.timeout");
    const count = Number(ms);
    if (!(count >= 0 && count <= Number.MAX_SAFE_INTEGER)) {
      throw new TypeError(`AbortSignal.timeout: argument 1 must be a number of milliseconds, not ${ms}`);
    }
    const signal = new AbortSignal(ours);
    setSystemTimeout(() => abort(signal, new DOMException(`not done after ${ms} ms`, "TimeoutError")), Math.trunc(count));
    return signal;
  }
  static any(signals) {
    argumentCount(arguments, 1, "AbortSignal.any");
    const given = [...signals];
    if (given.some((each) => stateOf(each) === undefined)) {
      throw new TypeError("AbortSignal.any: each element must be an AbortSignal");
    }
    const done = given.find((each) => each.aborted);
    if (done !== undefined) return AbortSignal.abort(done.reason);
    const signal = new AbortSignal(ours);
    const sources = new Set(given.flatMap((each) => (each.#state.sources === null ? [each] : [...each.#state.sources])));
    for (const each of sources) each.#state.dependents.add(signal);
    signal.#state.sources = sources;
    return signal;
  }
  get aborted() {
    return this.#state.isAborted;
  }
  get reason() {
    return this.#state.reason;
  }
  throwIfAborted() {
    if (this.#state.isAborted) throw this.#state.reason;
  }
}
defineHandler(AbortSignal, "abort");

// All signals that depend on one are aborted before a listener of one of them is called.
function abort(signal, reason) {
  if (stateOf(signal).isAborted) return;
  const all = [signal, ...stateOf(signal).dependents].filter((each) => !stateOf(each).isAborted);
  for (const each of all) Object.assign(stateOf(each), { reason, isAborted: true });
  for (const each of all) {
    const { works, dependents } = stateOf(each);
    for (const work of works) work();
    works.clear();
    dependents.clear();
    fire(each, new Event("abort"));
  }
}

useSignals((signal) => {
  const state = stateOf(signal);
  return state === undefined ? null : (work) => state.works.add(work);
});

export class AbortController {
  #signal = new AbortSignal(ours);
  static {
    publish({ AbortController: this }, (value) => #signal in value, ["signal"]);
  }
  get signal() {
    return this.#signal;
  }
  abort(reason = aborted()) {
    abort(this.#signal, reason);
  }
}
publish({ AbortSignal }, (value) => stateOf(value) !== undefined, ["aborted", "reason"]);

// The promise of a call, whose work is dropped when `signal` is aborted.
export function abortable(signal, begin) {
  if (signal === undefined || signal === null) return begin();
  const state = stateOf(signal);
  if (state === undefined) throw new TypeError("signal must be an AbortSignal");
  if (state.isAborted) return Promise.reject(state.reason);
  const promise = begin();
  const stop = () => void native.engine.cancel(promise, state.reason);
  state.works.add(stop);
  const done = () => void state.works.delete(stop);
  promise.then(done, done);
  return promise;
}
