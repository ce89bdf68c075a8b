// The rules that all interfaces of the platform share (Web IDL): how arguments are read, how a class is
// published, and which objects belong to the platform.
const { defineProperty, getOwnPropertyDescriptor } = Object;
const { ownKeys } = Reflect;

// A value as a text of whole characters, as a USVString is: half of a surrogate pair becomes U+FFFD.
export const text = (value) => `${value}`.toWellFormed();

export function argumentCount(given, count, name) {
  if (given.length >= count) return;
  const arguments_ = count === 1 ? "1 argument is" : `${count} arguments are`;
  throw new TypeError(`${name}: ${arguments_} needed, and ${given.length} given`);
}

// A dictionary of options. Absent, it is one without members.
export function dictionary(value, name) {
  if (value === undefined || value === null) return {};
  if (typeof value === "object" || typeof value === "function") return value;
  throw new TypeError(`${name}: the options must be an object`);
}

const published = [];

// Whether a value belongs to the platform and not to the script, so that it cannot be cloned.
export const isPlatformObject = (value) => published.some(({ isOne }) => isOne(value));

// The attributes by which console shows such an object; undefined: it is not one.
export const shownAttributes = (value) => published.findLast(({ isOne }) => isOne(value))?.shown;

// Gives classes the name that Object.prototype.toString shows, and members that can be listed. `isOne`
// tells their objects apart. `shown` are attributes without a side effect.
export function publish(classes, isOne, shown = []) {
  if (isOne !== undefined) published.push({ isOne, shown });
  for (const [name, type] of Object.entries(classes)) {
    for (const on of [type, type.prototype]) {
      for (const key of ownKeys(on)) {
        if (typeof key !== "string" || ["constructor", "prototype", "name", "length"].includes(key)) continue;
        defineProperty(on, key, { ...getOwnPropertyDescriptor(on, key), enumerable: true });
      }
    }
    defineProperty(type.prototype, Symbol.toStringTag, { value: name, configurable: true });
    const { entries } = type.prototype;
    if (entries === undefined) continue;
    defineProperty(type.prototype, Symbol.iterator, { value: entries, writable: true, configurable: true });
  }
}

// Makes the iterators of an interface whose objects are lists of pairs. They follow changes of the list.
export function pairIterators(name) {
  class Iterator {
    #pairs;
    #pick;
    #at = 0;
    constructor(pairs, pick) {
      this.#pairs = pairs;
      this.#pick = pick;
    }
    next() {
      const pairs = this.#pairs();
      if (this.#at >= pairs.length) return { value: undefined, done: true };
      this.#at += 1;
      return { value: this.#pick(pairs[this.#at - 1]), done: false };
    }
  }
  const { prototype } = Iterator;
  delete prototype.constructor;
  Object.setPrototypeOf(prototype, Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())));
  defineProperty(prototype, "next", { enumerable: true });
  defineProperty(prototype, Symbol.toStringTag, { value: `${name} Iterator`, configurable: true });
  return {
    entries: (pairs) => new Iterator(pairs, ([key, value]) => [key, value]),
    keys: (pairs) => new Iterator(pairs, ([key]) => key),
    values: (pairs) => new Iterator(pairs, ([, value]) => value),
  };
}
