// Headers (Fetch Standard).
import { argumentCount, pairIterators, publish } from "quire:library/interfaces.js";

const iterators = pairIterators("Headers");
let isHeaders;

// A text whose characters are bytes.
function bytes(value, name) {
  const given = `${value}`;
  if (/[^\0-\xff]/.test(given)) throw new TypeError(`${name}: ${JSON.stringify(given)} has characters beyond U+00FF`);
  return given;
}

function headerName(value, call) {
  const name = bytes(value, call);
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) throw new TypeError(`${call}: ${JSON.stringify(name)} is not the name of a header`);
  return name.toLowerCase();
}

function headerValue(value, call) {
  const given = bytes(value, call).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
  if (/[\0\r\n]/.test(given)) throw new TypeError(`${call}: ${JSON.stringify(given)} is not the value of a header`);
  return given;
}

// Headers that nothing may change.
export let readOnlyHeaders;

export class Headers {
  #pairs = [];
  #isReadOnly = false;
  static {
    isHeaders = (value) => #pairs in value;
    readOnlyHeaders = (pairs) => {
      const made = new Headers();
      made.#pairs = pairs.map(([name, value]) => [name.toLowerCase(), value]);
      made.#isReadOnly = true;
      return made;
    };
  }

  constructor(init = undefined) {
    if (init === undefined) return;
    if (typeof init !== "object" || init === null) {
      throw new TypeError("new Headers: argument 1 must be an object, Headers, or a list of pairs");
    }
    if (init[Symbol.iterator] === undefined) {
      for (const name of Reflect.ownKeys(init)) {
        if (Reflect.getOwnPropertyDescriptor(init, name)?.enumerable) this.append(name, init[name]);
      }
      return;
    }
    for (const pair of init) {
      const [name, value, ...more] = pair;
      if (value === undefined || more.length > 0) {
        throw new TypeError("new Headers: each element must be a pair of a name and a value");
      }
      this.append(name, value);
    }
  }
  #checkChange(call) {
    if (this.#isReadOnly) throw new TypeError(`${call}: these headers cannot be changed`);
  }
  append(name, value) {
    argumentCount(arguments, 2, "Headers.append");
    const pair = [headerName(name, "Headers.append"), headerValue(value, "Headers.append")];
    this.#checkChange("Headers.append");
    this.#pairs.push(pair);
  }
  delete(name) {
    argumentCount(arguments, 1, "Headers.delete");
    const key = headerName(name, "Headers.delete");
    this.#checkChange("Headers.delete");
    this.#pairs = this.#pairs.filter(([each]) => each !== key);
  }
  get(name) {
    argumentCount(arguments, 1, "Headers.get");
    const key = headerName(name, "Headers.get");
    const found = this.#pairs.filter(([each]) => each === key);
    return found.length === 0 ? null : found.map(([, value]) => value).join(", ");
  }
  getSetCookie() {
    return this.#pairs.filter(([each]) => each === "set-cookie").map(([, value]) => value);
  }
  has(name) {
    argumentCount(arguments, 1, "Headers.has");
    const key = headerName(name, "Headers.has");
    return this.#pairs.some(([each]) => each === key);
  }
  set(name, value) {
    argumentCount(arguments, 2, "Headers.set");
    const pair = [headerName(name, "Headers.set"), headerValue(value, "Headers.set")];
    this.#checkChange("Headers.set");
    const first = this.#pairs.findIndex(([each]) => each === pair[0]);
    if (first < 0) {
      this.#pairs.push(pair);
      return;
    }
    this.#pairs = this.#pairs.filter(([each], index) => each !== pair[0] || index === first);
    this.#pairs[first] = pair;
  }
  // Sorted by name, and the values of one name together; but each set-cookie alone.
  #sorted() {
    const names = [...new Set(this.#pairs.map(([name]) => name))].sort();
    return names.flatMap((name) => (name === "set-cookie"
      ? this.getSetCookie().map((value) => [name, value]) : [[name, this.get(name)]]));
  }
  forEach(work, self = undefined) {
    if (typeof work !== "function") throw new TypeError("Headers.forEach: argument 1 must be a function");
    for (const [name, value] of this) Reflect.apply(work, self, [value, name, this]);
  }
  entries() {
    return iterators.entries(() => this.#sorted());
  }
  keys() {
    return iterators.keys(() => this.#sorted());
  }
  values() {
    return iterators.values(() => this.#sorted());
  }
}
publish({ Headers }, (value) => isHeaders(value));
