// structuredClone (HTML Standard, "Safe passing of structured data"). A value is first written down as
// records, one for each object, and then read. So an object that cannot be cloned is found before a buffer
// is moved. Neither step calls itself for each object: a long chain of objects needs no deep stack.
import { argumentCount, dictionary, isPlatformObject } from "quire:library/interfaces.js";
import { kindOf, stackOf, typedArrays } from "quire:library/value_kinds.js";

const { defineProperty, getOwnPropertyDescriptor, hasOwn, keys } = Object;
const { apply } = Reflect;
const errorTypes = new Map(
  [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map((type) => [type.name, type]));
const valueOf = {
  Number: Number.prototype.valueOf, String: String.prototype.valueOf, Boolean: Boolean.prototype.valueOf,
  BigInt: BigInt.prototype.valueOf, Date: Date.prototype.getTime,
};
const mapForEach = Map.prototype.forEach;
const setForEach = Set.prototype.forEach;
const { transfer, slice, resize } = ArrayBuffer.prototype;
const getterOf = (prototype, name) => getOwnPropertyDescriptor(prototype, name).get;
const sourceOf = getterOf(RegExp.prototype, "source");
const flagsOf = getterOf(RegExp.prototype, "flags");
const viewPrototype = Object.getPrototypeOf(Uint8Array.prototype);

function refused(value, why = "") {
  let shown = `a value of the type ${typeof value}`;
  try {
    if (typeof value === "function") shown = `the function ${value.name || "without a name"}`;
    else if (typeof value === "symbol") shown = value.toString();
    else shown = `an object of the class ${value.constructor?.name ?? kindOf(value)}`;
  } catch {
    // The error shows its type alone.
  }
  return new DOMException(`${shown} cannot be cloned${why && `: ${why}`}`, "DataCloneError");
}

function bufferRecord(buffer, moved) {
  if (buffer.detached) throw refused(buffer, "it is detached");
  if (moved.has(buffer)) return { make: () => moved.get(buffer) };
  const bytes = apply(slice, buffer, [0]);
  if (!buffer.resizable) return { make: () => bytes };
  const copy = new ArrayBuffer(buffer.byteLength, { maxByteLength: buffer.maxByteLength });
  new Uint8Array(copy).set(new Uint8Array(bytes));
  return { make: () => copy };
}

// Whether a view grows with its buffer. The only way to see it is to change the buffer's length.
function growsWithBuffer(view, buffer, lengthOf) {
  const { byteLength, maxByteLength } = buffer;
  const step = view.BYTES_PER_ELEMENT ?? 1;
  const count = lengthOf(view);
  if (byteLength + step <= maxByteLength) {
    apply(resize, buffer, [byteLength + step]);
    const grows = lengthOf(view) !== count;
    apply(resize, buffer, [byteLength]);
    return grows;
  }
  if (byteLength < step) return count === 0;
  const kept = new Uint8Array(apply(slice, buffer, [byteLength - step]));
  apply(resize, buffer, [byteLength - step]);
  let grows = false;
  try {
    grows = lengthOf(view) === count - 1;
  } catch {
    // A DataView of a fixed length is now out of bounds.
  }
  apply(resize, buffer, [byteLength]);
  new Uint8Array(buffer, byteLength - step).set(kept);
  return grows;
}

function viewRecord(view, kind, write) {
  const isData = kind === "DataView";
  const prototype = isData ? DataView.prototype : viewPrototype;
  const read = (name) => apply(getterOf(prototype, name), view, []);
  const buffer = read("buffer");
  const lengthOf = () => read(isData ? "byteLength" : "length");
  let [offset, length] = [0, undefined];
  try {
    offset = read("byteOffset");
    length = lengthOf();
  } catch {
    throw refused(view, "it is out of the bounds of its buffer");
  }
  if (!isData && isOutOfBounds(view)) throw refused(view, "it is out of the bounds of its buffer");
  if (buffer.resizable && growsWithBuffer(view, buffer, lengthOf)) length = undefined;
  const of = write(buffer);
  const type = isData ? DataView : typedArrays.get(kind);
  return { make: (read_) => new type(read_(of), offset, length) };
}

// A typed array that is out of bounds has no elements, as an empty one has; but it refuses to be filled.
function isOutOfBounds(view) {
  try {
    apply(viewPrototype.fill, view, [0, 0, 0]);
    return false;
  } catch {
    return true;
  }
}

function errorRecord(error, write, isException) {
  const name = `${error.name}`;
  const message = getOwnPropertyDescriptor(error, "message");
  const text = message !== undefined && "value" in message ? `${message.value}` : undefined;
  const stack = stackOf(error);
  const cause = getOwnPropertyDescriptor(error, "cause");
  const record = {
    make: () => (isException ? new DOMException(error.message, name) : new (errorTypes.get(name) ?? Error)(text)),
    fill: (copy, read) => {
      const define = (key, value) => defineProperty(copy, key, { value, writable: true, configurable: true });
      define("stack", stack);
      if (record.cause !== undefined) define("cause", read(record.cause));
    },
  };
  if (!isException && cause !== undefined && "value" in cause) record.parts = [() => (record.cause = write(cause.value))];
  return record;
}

const isPlain = (value) => {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

// The record of an object. `parts` are called one after the other; each writes a part of the object.
function recordOf(value, write, moved) {
  const kind = kindOf(value);
  if (typeof value === "function") throw refused(value);
  if (kind === "Date") return { make: () => new Date(apply(valueOf.Date, value, [])) };
  if (kind in valueOf) {
    const plain = apply(valueOf[kind], value, []);
    return { make: () => Object(plain) };
  }
  if (kind === "RegExp") {
    const [source, flags] = [apply(sourceOf, value, []), apply(flagsOf, value, [])];
    return { make: () => new RegExp(source, flags) };
  }
  if (kind === "ArrayBuffer") return bufferRecord(value, moved);
  if (kind === "DataView" || typedArrays.has(kind)) return viewRecord(value, kind, write);
  if (kind === "Error" || kind === "DOMException") return errorRecord(value, write, kind === "DOMException");
  if (kind === "Map") return mapRecord(value, write);
  if (kind === "Set") return setRecord(value, write);
  if (kind === "Object" ? !isPlain(value) && isPlatformObject(value) : kind !== "Array" && kind !== "Arguments") throw refused(value);
  return membersRecord(value, write, kind === "Array");
}

function mapRecord(map, write) {
  const written = [];
  const parts = [];
  apply(mapForEach, map, [(value, key) => {
    parts.push(() => written.push([write(key)]), () => written.at(-1).push(write(value)));
  }]);
  const fill = (copy, read) => written.forEach(([key, value]) => copy.set(read(key), read(value)));
  return { make: () => new Map(), fill, parts };
}

function setRecord(set, write) {
  const written = [];
  const parts = [];
  apply(setForEach, set, [(value) => parts.push(() => written.push(write(value)))]);
  return { make: () => new Set(), fill: (copy, read) => written.forEach((each) => copy.add(read(each))), parts };
}

function membersRecord(object, write, isArray) {
  const written = [];
  const length = isArray ? object.length : 0;
  const parts = keys(object).map((key) => () => {
    if (hasOwn(object, key)) written.push([key, write(object[key])]);
  });
  const fill = (copy, read) => {
    for (const [key, value] of written) {
      defineProperty(copy, key, { value: read(value), writable: true, enumerable: true, configurable: true });
    }
  };
  return { make: () => (isArray ? new Array(length) : {}), fill, parts };
}

// Writes `root` and all that it holds. Returns the record of the root, and all of them in order.
function written(root, moved) {
  const records = new Map();
  const open = [];
  const write = (value) => {
    if (typeof value === "symbol") throw refused(value);
    if ((typeof value !== "object" && typeof value !== "function") || value === null) return { plain: value };
    const known = records.get(value);
    if (known !== undefined) return known;
    const record = {};
    records.set(value, record);
    Object.assign(record, recordOf(value, write, moved));
    if (record.parts !== undefined) open.push({ parts: record.parts, at: 0 });
    return record;
  };
  const first = write(root);
  while (open.length > 0) {
    const last = open.at(-1);
    last.at += 1;
    if (last.at > last.parts.length) open.pop();
    else last.parts[last.at - 1]();
  }
  return { first, all: [...records.values()] };
}

function read(record) {
  if (record.make === undefined) return record.plain;
  record.copy ??= record.make(read);
  return record.copy;
}

function checkedTransfer(list) {
  const moved = new Map();
  for (const each of list) {
    const isBuffer = typeof each === "object" && each !== null && kindOf(each) === "ArrayBuffer";
    if (!isBuffer) throw new DOMException("transfer: only an ArrayBuffer can be transferred", "DataCloneError");
    if (moved.has(each)) throw new DOMException("transfer: an ArrayBuffer is listed twice", "DataCloneError");
    moved.set(each, null);
  }
  return moved;
}

export function structuredClone(value, options = undefined) {
  argumentCount(arguments, 1, "structuredClone");
  const moved = checkedTransfer(dictionary(options, "structuredClone").transfer ?? []);
  const { first, all } = written(value, moved);
  for (const buffer of moved.keys()) {
    if (buffer.detached) throw new DOMException("transfer: an ArrayBuffer is detached", "DataCloneError");
  }
  for (const buffer of moved.keys()) moved.set(buffer, apply(transfer, buffer, []));
  for (const record of all) read(record);
  for (const record of all) record.fill?.(record.copy, read);
  return read(first);
}
