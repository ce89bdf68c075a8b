// Event, CustomEvent, ErrorEvent and EventTarget (DOM Standard), and errors that nothing catches.
import native from "quire:native";
import { argumentCount, dictionary, publish } from "quire:library/interfaces.js";
import { sinceLaunch } from "quire:library/launch_time.js";

const { defineProperty } = Object;
const { apply } = Reflect;

let stateOf;  // The state of an event, which only this file changes; undefined: it is not an event.

const isTrusted = {
  get isTrusted() {
    return stateOf(this).isTrusted;
  },
};
const trustedProperty = Object.getOwnPropertyDescriptor(isTrusted, "isTrusted");

export class Event {
  #state;
  static {
    stateOf = (event) => (typeof event === "object" && event !== null && #state in event ? event.#state : undefined);
  }
  constructor(type, init = undefined) {
    argumentCount(arguments, 1, "new Event");
    const name = `${type}`;
    const { bubbles, cancelable, composed } = dictionary(init, "new Event");
    this.#state = {
      type: name, bubbles: Boolean(bubbles), cancelable: Boolean(cancelable), composed: Boolean(composed),
      target: null, current: null, phase: 0, isTrusted: false, isDispatched: false, isCanceled: false,
      isStopped: false, isStoppedAtOnce: false, isPassive: false, at: sinceLaunch(),
    };
    defineProperty(this, "isTrusted", { ...trustedProperty, configurable: false });
  }
  get type() {
    return this.#state.type;
  }
  get target() {
    return this.#state.target;
  }
  get srcElement() {
    return this.#state.target;
  }
  get currentTarget() {
    return this.#state.current;
  }
  composedPath() {
    return this.#state.current === null ? [] : [this.#state.current];
  }
  get eventPhase() {
    return this.#state.phase;
  }
  stopPropagation() {
    this.#state.isStopped = true;
  }
  get cancelBubble() {
    return this.#state.isStopped;
  }
  set cancelBubble(value) {
    if (value) this.#state.isStopped = true;
  }
  stopImmediatePropagation() {
    this.#state.isStopped = true;
    this.#state.isStoppedAtOnce = true;
  }
  get bubbles() {
    return this.#state.bubbles;
  }
  get cancelable() {
    return this.#state.cancelable;
  }
  get returnValue() {
    return !this.#state.isCanceled;
  }
  set returnValue(value) {
    if (!value) this.preventDefault();
  }
  preventDefault() {
    if (this.#state.cancelable && !this.#state.isPassive) this.#state.isCanceled = true;
  }
  get defaultPrevented() {
    return this.#state.isCanceled;
  }
  get composed() {
    return this.#state.composed;
  }
  get timeStamp() {
    return this.#state.at;
  }
  initEvent(type, bubbles = false, cancelable = false) {
    argumentCount(arguments, 1, "Event.initEvent");
    if (this.#state.isDispatched) return;
    Object.assign(this.#state, {
      type: `${type}`, bubbles: Boolean(bubbles), cancelable: Boolean(cancelable), target: null,
      isTrusted: false, isCanceled: false, isStopped: false, isStoppedAtOnce: false,
    });
  }
}
for (const on of [Event, Event.prototype]) {
  for (const [value, name] of ["NONE", "CAPTURING_PHASE", "AT_TARGET", "BUBBLING_PHASE"].entries()) {
    defineProperty(on, name, { value, enumerable: true });
  }
}

export class CustomEvent extends Event {
  #detail;
  constructor(type, init = undefined) {
    argumentCount(arguments, 1, "new CustomEvent");
    super(type, init);
    this.#detail = dictionary(init, "new CustomEvent").detail ?? null;
  }
  get detail() {
    return this.#detail;
  }
  initCustomEvent(type, bubbles = false, cancelable = false, detail = null) {
    argumentCount(arguments, 1, "CustomEvent.initCustomEvent");
    if (stateOf(this).isDispatched) return;
    this.initEvent(type, bubbles, cancelable);
    this.#detail = detail;
  }
}

export class ErrorEvent extends Event {
  #init;
  constructor(type, init = undefined) {
    argumentCount(arguments, 1, "new ErrorEvent");
    super(type, init);
    const { message = "", filename = "", lineno = 0, colno = 0, error } = dictionary(init, "new ErrorEvent");
    this.#init = { message: `${message}`, filename: `${filename}`, lineno: lineno >>> 0, colno: colno >>> 0, error };
  }
  get message() {
    return this.#init.message;
  }
  get filename() {
    return this.#init.filename;
  }
  get lineno() {
    return this.#init.lineno;
  }
  get colno() {
    return this.#init.colno;
  }
  get error() {
    return this.#init.error;
  }
}

export class PromiseRejectionEvent extends Event {
  #init;
  constructor(type, init) {
    argumentCount(arguments, 2, "new PromiseRejectionEvent");
    super(type, init);
    const { promise, reason } = dictionary(init, "new PromiseRejectionEvent");
    this.#init = { promise, reason };
  }
  get promise() {
    return this.#init.promise;
  }
  get reason() {
    return this.#init.reason;
  }
}

// The listeners of each target, of which the global object is one too.
const targets = new WeakMap([[globalThis, []]]);

function listenersOf(target, name) {
  const listeners = targets.get(target ?? globalThis);
  if (listeners === undefined) throw new TypeError(`${name}: this is not an EventTarget`);
  return listeners;
}

const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

function checkedCallback(callback, name) {
  if (callback === null || callback === undefined) return null;
  if (isObject(callback)) return callback;
  throw new TypeError(`${name}: argument 2 must be a function, or an object with the method handleEvent`);
}

function removeFrom(listeners, listener) {
  listener.isRemoved = true;
  const at = listeners.indexOf(listener);
  if (at >= 0) listeners.splice(at, 1);
}

// Set by abort.js: calls a function when a signal is aborted; null for what is not a signal.
let whenAborted = null;
export function useSignals(find) {
  whenAborted = find;
}

function listenWith(listeners, type, callback, options) {
  let capture = Boolean(options);
  let [isOnce, isPassive, signal] = [false, false, undefined];
  if (isObject(options)) {
    capture = Boolean(options.capture);
    isOnce = Boolean(options.once);
    isPassive = Boolean(options.passive);
    signal = options.signal;
  }
  const listener = { type, callback, capture, isOnce, isPassive, isRemoved: false };
  if (signal !== undefined) {
    const listen = whenAborted(signal);
    if (listen === null) throw new TypeError("EventTarget.addEventListener: signal must be an AbortSignal");
    if (signal.aborted) return;
    if (callback !== null) listen(() => removeFrom(listeners, listener));
  }
  const isSame = (each) => each.type === type && each.callback === callback && each.capture === capture;
  if (callback !== null && !listeners.some(isSame)) listeners.push(listener);
}

export class EventTarget {
  constructor() {
    targets.set(this, []);
  }
  addEventListener(type, callback, options = undefined) {
    const listeners = listenersOf(this, "EventTarget.addEventListener");
    argumentCount(arguments, 2, "EventTarget.addEventListener");
    listenWith(listeners, `${type}`, checkedCallback(callback, "EventTarget.addEventListener"), options);
  }
  removeEventListener(type, callback, options = undefined) {
    const listeners = listenersOf(this, "EventTarget.removeEventListener");
    argumentCount(arguments, 2, "EventTarget.removeEventListener");
    const [name, given] = [`${type}`, checkedCallback(callback, "EventTarget.removeEventListener")];
    const capture = isObject(options) ? Boolean(options.capture) : Boolean(options);
    const found = listeners.find((each) => each.type === name && each.callback === given && each.capture === capture);
    if (found !== undefined) removeFrom(listeners, found);
  }
  dispatchEvent(event) {
    const listeners = listenersOf(this, "EventTarget.dispatchEvent");
    const state = stateOf(event);
    if (state === undefined) throw new TypeError("EventTarget.dispatchEvent: argument 1 must be an Event");
    if (state.isDispatched) throw new DOMException("the event is being dispatched already", "InvalidStateError");
    state.isTrusted = false;
    return dispatched(event, this ?? globalThis, listeners);
  }
}

function callListener(event, target, { callback }) {
  try {
    if (typeof callback === "function") {
      apply(callback, target, [event]);
    } else {
      const { handleEvent } = callback;
      if (typeof handleEvent !== "function") throw new TypeError("handleEvent of a listener is not a function");
      apply(handleEvent, callback, [event]);
    }
  } catch (error) {
    report(error);
  }
}

// A target has no parents here: listeners with `capture` come first, then the others.
function dispatched(event, target, listeners) {
  const state = stateOf(event);
  Object.assign(state, { target, current: target, isDispatched: true, phase: 2 });
  for (const capture of [true, false]) {
    if (state.isStopped) break;
    for (const listener of [...listeners]) {
      if (listener.isRemoved || listener.type !== state.type || listener.capture !== capture) continue;
      if (listener.isOnce) removeFrom(listeners, listener);
      state.isPassive = listener.isPassive;
      callListener(event, target, listener);
      state.isPassive = false;
      if (state.isStoppedAtOnce) break;
    }
  }
  Object.assign(state, { current: null, isDispatched: false, phase: 0, isStopped: false, isStoppedAtOnce: false });
  return !state.isCanceled;
}

// Dispatches an event of the platform itself.
export function fire(target, event) {
  stateOf(event).isTrusted = true;
  return dispatched(event, target, targets.get(target));
}

// Defines the attribute `on...` of a class: a listener with a place of its own among the others.
export function defineHandler(type, name) {
  const handlers = new WeakMap();
  defineProperty(type.prototype, `on${name}`, {
    get() {
      return handlers.get(this)?.handler ?? null;
    },
    set(value) {
      const listeners = listenersOf(this, `on${name}`);
      const handler = isObject(value) ? value : null;
      const held = handlers.get(this);
      if (held !== undefined && handler !== null) {
        held.handler = handler;
        return;
      }
      if (held !== undefined) {
        removeFrom(listeners, held.listener);
        handlers.delete(this);
      }
      if (handler === null) return;
      const made = { handler };
      const callback = function (event) {
        if (typeof made.handler === "function" && apply(made.handler, this, [event]) === false) event.preventDefault();
      };
      made.listener = { type: name, callback, capture: false, isOnce: false, isPassive: false, isRemoved: false };
      listeners.push(made.listener);
      handlers.set(this, made);
    },
    enumerable: true,
    configurable: true,
  });
}

const describedPlace = (error) => /\(?([^\s(]+):(\d+):(\d+)\)?$/m.exec(error?.stack ?? "") ?? ["", "", "0", "0"];

// An exception that nothing catches: listeners of the global object may take it (preventDefault), else
// the program ends with it.
export function report(error) {
  if (targets.get(globalThis).some((each) => each.type === "error")) {
    let init = { error, cancelable: true, message: "" };
    try {
      const [, filename, lineno, colno] = describedPlace(error);
      init = { ...init, message: `${error}`, filename, lineno: Number(lineno), colno: Number(colno) };
    } catch {
      // An exception that cannot even be shown is reported without its text.
    }
    if (!fire(globalThis, new ErrorEvent("error", init))) return;
  }
  native.engine.fail(error);
}

// The same for a rejected promise. True: a listener took it.
native.engine.setRejectionHandler((promise, reason) => {
  if (!targets.get(globalThis).some((each) => each.type === "unhandledrejection")) return false;
  return !fire(globalThis, new PromiseRejectionEvent("unhandledrejection", { promise, reason, cancelable: true }));
});

export function reportError(error) {
  argumentCount(arguments, 1, "reportError");
  report(error);
}

publish({ Event, CustomEvent, ErrorEvent, PromiseRejectionEvent }, (value) => stateOf(value) !== undefined, ["type", "isTrusted"]);
publish({ EventTarget }, (value) => value !== globalThis && targets.has(value));
export const { addEventListener, removeEventListener, dispatchEvent } = EventTarget.prototype;
