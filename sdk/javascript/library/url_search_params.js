// URLSearchParams (URL Standard): a list of names and values, on its own or of a URL.
import { decodeForm, encodeForm } from "quire:library/percent_encoding.js";
import { argumentCount, pairIterators, publish, text } from "quire:library/interfaces.js";

function parsedForm(query) {
  const pairs = [];
  for (const each of query.split("&")) {
    if (each === "") continue;
    const equals = each.indexOf("=");
    pairs.push(equals < 0 ? [decodeForm(each), ""]
      : [decodeForm(each.slice(0, equals)), decodeForm(each.slice(equals + 1))]);
  }
  return pairs;
}

function pairsOf(sequence) {
  return Array.from(sequence, (each) => {
    if (typeof each !== "object" || each === null || typeof each[Symbol.iterator] !== "function") {
      throw new TypeError("URLSearchParams: each element must be a pair of a name and a value");
    }
    const pair = [...each];
    if (pair.length !== 2) {
      throw new TypeError(`URLSearchParams: each element must be a pair of a name and a value, not ${pair.length} values`);
    }
    return pair.map(text);
  });
}

function pairsOfMembers(record) {
  const pairs = new Map();
  for (const name of Reflect.ownKeys(record)) {
    if (!Reflect.getOwnPropertyDescriptor(record, name)?.enumerable) continue;
    pairs.set(text(name), text(record[name]));
  }
  return [...pairs];
}

const iterators = pairIterators("URLSearchParams");
let isParameters;

// The parameters of a URL, which hears of changes, and how they read the URL's query again.
export let parametersOf;
export let replaceParameters;

export class URLSearchParams {
  #pairs = [];
  #changed = null;
  static {
    isParameters = (value) => #pairs in value;
    parametersOf = (query, changed) => {
      const made = new URLSearchParams();
      made.#pairs = parsedForm(query);
      made.#changed = changed;
      return made;
    };
    replaceParameters = (parameters, query) => {
      parameters.#pairs = parsedForm(query);
    };
  }

  constructor(init = "") {
    if ((typeof init === "object" && init !== null) || typeof init === "function") {
      const iterator = init[Symbol.iterator];
      if (iterator !== undefined && iterator !== null) {
        if (typeof iterator !== "function") throw new TypeError("URLSearchParams: argument 1 is not iterable");
        this.#pairs = pairsOf(init);
      } else {
        this.#pairs = pairsOfMembers(init);
      }
    } else {
      this.#pairs = parsedForm(text(init).replace(/^\?/, ""));
    }
  }
  #change(pairs) {
    this.#pairs = pairs;
    this.#changed?.(this.toString());
  }
  get size() {
    return this.#pairs.length;
  }
  append(name, value) {
    argumentCount(arguments, 2, "URLSearchParams.append");
    this.#change([...this.#pairs, [text(name), text(value)]]);
  }
  delete(name, value = undefined) {
    argumentCount(arguments, 1, "URLSearchParams.delete");
    const [key, only] = [text(name), value === undefined ? undefined : text(value)];
    this.#change(this.#pairs.filter(([each, one]) => each !== key || (only !== undefined && one !== only)));
  }
  get(name) {
    argumentCount(arguments, 1, "URLSearchParams.get");
    const key = text(name);
    return this.#pairs.find(([each]) => each === key)?.[1] ?? null;
  }
  getAll(name) {
    argumentCount(arguments, 1, "URLSearchParams.getAll");
    const key = text(name);
    return this.#pairs.filter(([each]) => each === key).map(([, value]) => value);
  }
  has(name, value = undefined) {
    argumentCount(arguments, 1, "URLSearchParams.has");
    const [key, only] = [text(name), value === undefined ? undefined : text(value)];
    return this.#pairs.some(([each, one]) => each === key && (only === undefined || one === only));
  }
  set(name, value) {
    argumentCount(arguments, 2, "URLSearchParams.set");
    const [key, given] = [text(name), text(value)];
    const first = this.#pairs.findIndex(([each]) => each === key);
    if (first < 0) {
      this.#change([...this.#pairs, [key, given]]);
      return;
    }
    const kept = this.#pairs.filter(([each], index) => each !== key || index === first);
    kept[first] = [key, given];
    this.#change(kept);
  }
  sort() {
    this.#change([...this.#pairs].sort(([left], [right]) => (left < right ? -1 : Number(left > right))));
  }
  forEach(work, self = undefined) {
    if (typeof work !== "function") throw new TypeError("URLSearchParams.forEach: argument 1 must be a function");
    for (const [name, value] of this) Reflect.apply(work, self, [value, name, this]);
  }
  entries() {
    return iterators.entries(() => this.#pairs);
  }
  keys() {
    return iterators.keys(() => this.#pairs);
  }
  values() {
    return iterators.values(() => this.#pairs);
  }
  toString() {
    return this.#pairs.map(([name, value]) => `${encodeForm(name)}=${encodeForm(value)}`).join("&");
  }
}
publish({ URLSearchParams }, isParameters);
