// Headers (Fetch Standard).

// Headers of what came from another side.
export const readOnlyHeaders = (pairs) => new Headers(pairs);

export class Headers {
  #pairs = [];
  constructor(init = []) {
    const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
    for (const [name, value] of pairs) this.append(name, value);
  }
  append(name, value) {
    this.#pairs.push([String(name).toLowerCase(), String(value).trim()]);
  }
  set(name, value) {
    this.delete(name);
    this.append(name, value);
  }
  delete(name) {
    this.#pairs = this.#pairs.filter(([each]) => each !== String(name).toLowerCase());
  }
  get(name) {
    const found = this.#pairs.filter(([each]) => each === String(name).toLowerCase());
    return found.length === 0 ? null : found.map(([, value]) => value).join(", ");
  }
  getSetCookie() {
    return this.#pairs.filter(([each]) => each === "set-cookie").map(([, value]) => value);
  }
  has(name) {
    return this.get(name) !== null;
  }
  forEach(work, self) {
    for (const [name, value] of this) work.call(self, value, name, this);
  }
  *[Symbol.iterator]() {
    const names = [...new Set(this.#pairs.map(([name]) => name))].sort();
    for (const name of names) {
      if (name === "set-cookie") {
        for (const value of this.getSetCookie()) yield [name, value];
      } else {
        yield [name, this.get(name)];
      }
    }
  }
  entries() {
    return this[Symbol.iterator]();
  }
  *keys() {
    for (const [name] of this) yield name;
  }
  *values() {
    for (const [, value] of this) yield value;
  }
}
