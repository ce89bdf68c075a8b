// setTimeout and the like (HTML Standard, "Timers"). The timers lie in the order in which they are due,
// and the host wakes the program for the first of them. Each that is due runs as a task of its own, so
// that all microtasks come before the next one, and is looked up then: it may be cleared.
import native from "quire:native";
import { argumentCount } from "quire:library/interfaces.js";
import { report } from "quire:library/events.js";

const { cancel, queueTask } = native.engine;
const { sleep: sleepMs } = native.timers;
const { now } = native.runtime;
const { apply } = Reflect;
const then = Promise.prototype.then;
const resolved = Promise.resolve();

const timers = new Map();  // By number.
const waiting = [];        // In the order in which they are due.
let last = 0;
let alarm = null;          // The promise of the host, and when it is due.

function arm() {
  const first = waiting[0];
  if (alarm !== null && first !== undefined && alarm.due <= first.due) return;
  if (alarm !== null) cancel(alarm.promise);
  alarm = null;
  if (first === undefined) return;
  const armed = { due: first.due, promise: sleepMs(Math.max(0, first.due - now())) };
  alarm = armed;
  apply(then, armed.promise, [() => {
    if (alarm !== armed) return;
    alarm = null;
    const time = Math.max(now(), armed.due);
    while (waiting.length > 0 && waiting[0].due <= time) {
      const timer = waiting.shift();
      timer.isDue = true;
      queueTask(() => run(timer));
    }
    arm();
  }]);
}

function run(timer) {
  if (timers.get(timer.id) !== timer) return;
  if (timer.every === null) timers.delete(timer.id);
  try {
    apply(timer.work, globalThis, timer.values);
  } catch (error) {
    report(error);
  }
  if (timer.every !== null && timers.get(timer.id) === timer) wait(timer, timer.every);
}

function wait(timer, ms) {
  timer.due = now() + ms;
  timer.isDue = false;
  let at = waiting.length;
  while (at > 0 && waiting[at - 1].due > timer.due) at -= 1;
  waiting.splice(at, 0, timer);
  arm();
}

function begin(timer, ms) {
  last += 1;
  timer.id = last;
  timers.set(last, timer);
  wait(timer, ms);
  return last;
}

function checked(work, name) {
  if (typeof work !== "function") throw new TypeError(`${name}: argument 1 must be a function`);
}
const msOf = (ms) => Math.max(0, ms | 0);

export function setTimeout(work, ms = 0, ...values) {
  checked(work, "setTimeout");
  return begin({ work, values, every: null }, msOf(ms));
}

export function setInterval(work, ms = 0, ...values) {
  checked(work, "setInterval");
  const pause = msOf(ms);
  // After its first time it leaves room for what else there is.
  return begin({ work, values, every: Math.max(1, pause) }, pause);
}

// A timer of the platform, which the script cannot clear, and which is not missed when the program ends.
export function setSystemTimeout(work, ms) {
  begin({ work, values: [], every: null, isSystem: true }, ms);
}

export function clearTimeout(id = 0) {
  const timer = timers.get(id | 0);
  if (timer === undefined || timer.isSystem) return;
  timers.delete(timer.id);
  if (timer.isDue) return;
  waiting.splice(waiting.indexOf(timer), 1);
  arm();
}
export function clearInterval(id = 0) {
  clearTimeout(id);
}

export function queueMicrotask(work) {
  argumentCount(arguments, 1, "queueMicrotask");
  checked(work, "queueMicrotask");
  apply(then, resolved, [() => {
    try {
      work();
    } catch (error) {
      report(error);
    }
  }]);
}

export function sleep(ms) {
  return sleepMs(ms);
}

// At the end of the program: drops all, and returns how many of them the script had set.
native.engine.setEnd(() => {
  const count = [...timers.values()].filter((timer) => !timer.isSystem).length;
  timers.clear();
  waiting.length = 0;
  arm();
  return count;
});
