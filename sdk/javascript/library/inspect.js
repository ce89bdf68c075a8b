// How console shows a value: as code that could have made it, as far as that goes. No getter of the
// value is called and no trap of a proxy, and nothing that it holds makes this throw.
import native from "quire:native";
import { shownAttributes } from "quire:library/interfaces.js";
import { kindOf, stackOf, typedArrays } from "quire:library/value_kinds.js";

const { promiseState, proxyTarget } = native.engine;
const { isArray } = Array;
const { getOwnPropertyDescriptor, getPrototypeOf } = Object;
const { apply, ownKeys } = Reflect;
const { stringify } = JSON;
const depthMax = 4;
const memberCountMax = 100;   // Of one object.
const totalCountMax = 10_000;  // Of one value with all that it holds.
const lineLengthMax = 76;
const textLengthMax = 10_000;  // Of a text within another value.
const byteCountMax = 50;

const dateText = Date.prototype.toISOString;
const dateTime = Date.prototype.getTime;
const regExpText = RegExp.prototype.toString;
const functionText = Function.prototype.toString;
const mapForEach = Map.prototype.forEach;
const setForEach = Set.prototype.forEach;
const lengthOfView = getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), "length").get;
const plainValue = {
  Number: Number.prototype.valueOf, String: String.prototype.valueOf, Boolean: Boolean.prototype.valueOf,
  BigInt: BigInt.prototype.valueOf, Symbol: Symbol.prototype.valueOf,
};

// The value of a member, of the object or of a prototype. A getter has none.
function member(object, name) {
  for (let each = object, steps = 0; each !== null && steps < 100; each = getPrototypeOf(each), steps += 1) {
    if (kindOf(each) === "Proxy") return undefined;
    const found = getOwnPropertyDescriptor(each, name);
    if (found !== undefined) return found.value;
  }
  return undefined;
}

// The name of the class that made an object; null: it has no prototype.
function className(object) {
  const prototype = getPrototypeOf(object);
  if (prototype === null) return null;
  const name = member(prototype, "constructor");
  const text = typeof name === "function" ? member(name, "name") : undefined;
  return typeof text === "string" && text !== "" ? text : "Object";
}

function prefixOf(object, usual) {
  const name = className(object);
  if (name === null) return `[${usual}: null prototype] `;
  const tag = member(object, Symbol.toStringTag);
  const shownTag = typeof tag === "string" && tag !== "" && tag !== name ? `[${tag}] ` : "";
  return name === usual && (usual === "Object" || usual === "Array") ? shownTag : `${name} ${shownTag}`;
}

const shownName = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : stringify(name));
const indented = (text) => text.replaceAll("\n", "\n  ");

function listed(open, parts, close) {
  if (parts.length === 0) return open + close;
  const line = `${open} ${parts.join(", ")} ${close}`;
  if (line.length <= lineLengthMax && !line.includes("\n")) return line;
  return `${open}\n${parts.map((each) => `  ${indented(each)}`).join(",\n")}\n${close}`;
}

class Inspector {
  path = [];
  left = totalCountMax;

  show(value) {
    if (typeof value === "string") return this.shownText(value);
    if (typeof value === "bigint") return `${value}n`;
    if (Object.is(value, -0)) return "-0";
    if ((typeof value !== "object" && typeof value !== "function") || value === null) return String(value);
    if (this.path.includes(value)) return "[Circular]";
    if (kindOf(value) === "Proxy") {
      const target = proxyTarget(value);
      return target === null ? "<Revoked Proxy>" : this.show(target);
    }
    this.path.push(value);
    try {
      return this.shownObject(value, kindOf(value));
    } catch (error) {
      if (error instanceof RangeError) return "[too deep to show]";
      return "[cannot be shown]";
    } finally {
      this.path.pop();
    }
  }

  shownText(text) {
    if (text.length <= textLengthMax) return stringify(text);
    return `${stringify(text.slice(0, textLengthMax))}... ${text.length - textLengthMax} more characters`;
  }

  shownObject(value, kind) {
    if (typeof value === "function") return this.withMembers(shownFunction(value), value);
    if (kind === "Error" || kind === "DOMException") return this.shownError(value, kind);
    if (kind === "Date") {
      const isValid = !Number.isNaN(apply(dateTime, value, []));
      return this.withMembers(isValid ? apply(dateText, value, []) : "Invalid Date", value);
    }
    if (kind === "RegExp") return this.withMembers(apply(regExpText, value, []), value);
    if (kind in plainValue) {
      const plain = apply(plainValue[kind], value, []);
      const shown = `[${kind}: ${typeof plain === "symbol" ? plain.toString() : this.show(plain)}]`;
      return this.withMembers(shown, value, kind === "String" ? plain.length : 0);
    }
    if (this.path.length > depthMax + 1) return `[${kind === "Array" ? "Array" : className(value) ?? "Object"}]`;
    return this.shownHolder(value, kind);
  }

  shownHolder(value, kind) {
    if (kind === "Array") return this.shownArray(value);
    if (kind === "Arguments") return listed("[Arguments] [", this.elements(value, value.length), "]");
    if (typedArrays.has(kind)) {
      const count = apply(lengthOfView, value, []);
      const parts = [...this.elements(value, count), ...this.members(value, count)];
      return listed(`${className(value) ?? kind}(${count}) [`, parts, "]");
    }
    if (kind === "Map" || kind === "Set") return this.shownCollection(value, kind);
    if (/ArrayBuffer$/.test(kind)) return this.shownBuffer(value, kind);
    if (kind === "DataView") {
      const { byteLength, byteOffset, buffer } = value;
      return listed("DataView {", [`byteLength: ${byteLength}`, `byteOffset: ${byteOffset}`, `buffer: ${this.show(buffer)}`], "}");
    }
    if (kind === "Promise") {
      const [state, result] = promiseState(value);
      const shown = { pending: () => "<pending>", fulfilled: () => this.show(result), rejected: () => `<rejected> ${this.show(result)}` };
      return listed("Promise {", [shown[state](), ...this.members(value)], "}");
    }
    if (/^Weak/.test(kind)) return `${kind} { <unknown> }`;
    if (/Iterator$|Generator$/.test(kind)) return listed(`Object [${kind}] {`, this.members(value), "}");
    const attributes = shownAttributes(value);
    const parts = attributes === undefined ? [] : this.attributes(value, attributes);
    return listed(`${prefixOf(value, "Object")}{`, [...parts, ...this.members(value, 0, attributes)], "}");
  }

  // An object of the platform: its attributes, or the pairs that it lists.
  attributes(object, names) {
    const entries = member(object, "entries");
    if (typeof entries !== "function") return names.map((name) => `${name}: ${this.show(object[name])}`);
    const pairs = [...apply(entries, object, [])].slice(0, memberCountMax);
    return pairs.map(([name, value]) => `${shownName(name)}: ${stringify(value)}`);
  }

  shownArray(array) {
    const name = className(array);
    const open = name === "Array" ? "[" : `${name ?? "[Array: null prototype]"}(${array.length}) [`;
    return listed(open, [...this.elements(array, array.length), ...this.members(array, array.length)], "]");
  }

  shownCollection(value, kind) {
    const parts = [];
    let count = 0;
    const add = (each) => {
      count += 1;
      if (count <= memberCountMax && this.take()) parts.push(each());
    };
    if (kind === "Set") apply(setForEach, value, [(each) => add(() => this.show(each))]);
    else apply(mapForEach, value, [(each, key) => add(() => `${this.show(key)} => ${this.show(each)}`)]);
    if (parts.length < count) parts.push(`... ${count - parts.length} more`);
    return listed(`${className(value) ?? kind}(${count}) {`, [...parts, ...this.members(value)], "}");
  }

  shownBuffer(buffer, kind) {
    if (buffer.detached) return `${kind} { (detached) }`;
    const bytes = new Uint8Array(buffer);
    const shown = Array.from(bytes.subarray(0, byteCountMax), (each) => each.toString(16).padStart(2, "0")).join(" ");
    const more = bytes.length > byteCountMax ? ` ... ${bytes.length - byteCountMax} more bytes` : "";
    return listed(`${kind} {`, [`[bytes]: <${shown}${more}>`, `byteLength: ${bytes.length}`], "}");
  }

  shownError(error, kind) {
    const [name, message] = kind === "DOMException" ? [error.name, error.message] : [member(error, "name"), member(error, "message")];
    const own = className(error);
    let head = typeof name === "string" && name !== "" ? name : own ?? "Error";
    if (own !== null && own !== head && head === "Error") head = own;
    if (typeof message === "string" && message !== "") head += `: ${message}`;
    const stack = stackOf(error);
    const frames = framesOf(stack.startsWith(head) ? stack.slice(head.length) : stack);
    const open = frames === "" ? (this.path.length > 1 ? `[${head}]` : head) : `${head}\n${frames}`;
    const skipped = ["message", "stack", "name", "cause", "errors"];
    const parts = this.members(error, 0, skipped);
    for (const key of ["cause", "errors"]) {
      const found = getOwnPropertyDescriptor(error, key);
      if (found !== undefined && this.take()) parts.push(`[${key}]: ${this.shownMember(found)}`);
    }
    return parts.length === 0 ? open : listed(`${open} {`, parts, "}");
  }

  // Whether one more value may be shown.
  take() {
    this.left -= 1;
    return this.left >= 0;
  }

  shownMember(found) {
    if (!("value" in found)) {
      if (found.get === undefined) return "[Setter]";
      return found.set === undefined ? "[Getter]" : "[Getter/Setter]";
    }
    return this.show(found.value);
  }

  // The elements of a list, holes as their count.
  elements(list, count) {
    const parts = [];
    let [at, holes] = [0, 0];
    const endHoles = () => {
      if (holes > 0) parts.push(`<${holes} empty item${holes === 1 ? "" : "s"}>`);
      holes = 0;
    };
    for (; at < count && parts.length < memberCountMax; at += 1) {
      const found = getOwnPropertyDescriptor(list, at);
      if (found === undefined) {
        holes += 1;
        if (holes > 1000 && isArray(list)) {
          const next = ownKeys(list).find((key) => typeof key === "string" && /^\d+$/.test(key) && Number(key) > at);
          holes += (next === undefined ? count : Number(next)) - at - 1;
          at = (next === undefined ? count : Number(next)) - 1;
        }
        continue;
      }
      endHoles();
      if (!this.take()) break;
      parts.push(this.shownMember(found));
    }
    endHoles();
    if (at < count) parts.push(`... ${count - at} more item${count - at === 1 ? "" : "s"}`);
    return parts;
  }

  // The members that are listed when a script goes over the object, but those with a number below `count`.
  members(object, count = 0, skipped = []) {
    const parts = [];
    let hidden = 0;
    for (const key of ownKeys(object)) {
      if (skipped.includes(key) || (count > 0 && typeof key === "string" && /^\d+$/.test(key) && Number(key) < count)) continue;
      const found = getOwnPropertyDescriptor(object, key);
      if (found === undefined || !found.enumerable) continue;
      if (parts.length >= memberCountMax || !this.take()) {
        hidden += 1;
        continue;
      }
      const name = typeof key === "symbol" ? `[${key.toString()}]` : shownName(key);
      parts.push(`${name}: ${this.shownMember(found)}`);
    }
    if (hidden > 0) parts.push(`... ${hidden} more`);
    return parts;
  }

  withMembers(shown, object, count = 0) {
    const parts = this.members(object, count);
    return parts.length === 0 ? shown : listed(`${shown} {`, parts, "}");
  }
}

function shownFunction(value) {
  const name = getOwnPropertyDescriptor(value, "name")?.value;
  const shown = typeof name === "string" && name !== "" ? name : "(anonymous)";
  if (/^class\b/.test(apply(functionText, value, []))) {
    const parent = getPrototypeOf(value);
    const parentName = typeof parent === "function" ? getOwnPropertyDescriptor(parent, "name")?.value : "";
    return `[class ${shown}${typeof parentName === "string" && parentName !== "" ? ` extends ${parentName}` : ""}]`;
  }
  const prototype = getPrototypeOf(value);
  const tag = prototype === null ? undefined : member(prototype, Symbol.toStringTag);
  return `[${typeof tag === "string" && /Function$/.test(tag) ? tag : "Function"}: ${shown}]`;
}

// The lines of a stack that are of the script.
function framesOf(stack) {
  const lines = stack.split("\n").filter((line) => line.trim() !== "");
  return lines.filter((line) => !/\(quire:|at quire:|\(native\)/.test(line)).join("\n");
}

// Shows a value; a text stands as it is.
export function inspect(value) {
  return typeof value === "string" ? value : inspectWithin(value);
}

// Shows a value as it stands within another one.
export function inspectWithin(value) {
  try {
    return new Inspector().show(value);
  } catch {
    return "[cannot be shown]";
  }
}
