// setTimeout and the like. A timer that is set does not keep a program alive that has ended.
import native from "quire:native";

const { cancel } = native.engine;
const { sleep: sleepMs } = native.timers;
const then = Promise.prototype.then;
const timers = new Map();
let last = 0;

function begin(id, work, ms) {
  const promise = sleepMs(ms);
  timers.set(id, promise);
  then.call(promise, work);
}

function checked(work, name) {
  if (typeof work !== "function") throw new TypeError(`${name}: argument 1 must be a function`);
}

export function setTimeout(work, ms = 0, ...values) {
  checked(work, "setTimeout");
  const id = ++last;
  begin(id, () => {
    timers.delete(id);
    work(...values);
  }, Number(ms) || 0);
  return id;
}

export function setInterval(work, ms = 0, ...values) {
  checked(work, "setInterval");
  const id = ++last;
  const pause = Math.max(1, Number(ms) || 0);
  const again = () => {
    begin(id, again, pause);
    work(...values);
  };
  begin(id, again, pause);
  return id;
}

export function clearTimeout(id) {
  const promise = timers.get(id);
  if (promise === undefined) return;
  timers.delete(id);
  cancel(promise);
}
export const clearInterval = clearTimeout;

export function queueMicrotask(work) {
  checked(work, "queueMicrotask");
  then.call(Promise.resolve(), () => void work());
}

export function sleep(ms) {
  return sleepMs(ms);
}
