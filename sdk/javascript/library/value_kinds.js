// The kind of a value by its internal slots, which a script cannot change: "Map", "Date", "RegExp", ...
import native from "quire:native";

const { classId } = native.engine;

function* ofGenerator() {}
async function* ofAsyncGenerator() {}

const examples = {
  Object: {}, Array: [], Error: new Error(), Number: Object(0), String: Object(""), Boolean: Object(false),
  BigInt: Object(0n), Symbol: Object(Symbol.iterator), Date: new Date(0), RegExp: /x/, ArrayBuffer: new ArrayBuffer(0),
  DataView: new DataView(new ArrayBuffer(0)), Map: new Map(), Set: new Set(), WeakMap: new WeakMap(),
  WeakSet: new WeakSet(), WeakRef: new WeakRef({}), Promise: Promise.resolve(), Proxy: new Proxy({}, {}),
  DOMException: new DOMException(), "Map Iterator": new Map().keys(), "Set Iterator": new Set().keys(),
  "Array Iterator": [][Symbol.iterator](), Generator: ofGenerator(), AsyncGenerator: ofAsyncGenerator(),
  Arguments: (function () { "use strict"; return arguments; })(),
};
const kinds = new Map();
for (const [kind, example] of Object.entries(examples)) {
  if (!kinds.has(classId(example))) kinds.set(classId(example), kind);
}
if (typeof SharedArrayBuffer === "function") kinds.set(classId(new SharedArrayBuffer(0)), "SharedArrayBuffer");
for (const type of [
  Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
  BigInt64Array, BigUint64Array, Float32Array, Float64Array, globalThis.Float16Array,
]) {
  if (type !== undefined) kinds.set(classId(new type(0)), type.name);
}
// The arguments of a function that is not strict have a class of their own.
kinds.set(classId(new Function("return arguments")(1)), "Arguments");

// The stack of an error: a getter of the engine gives it, unless the script has set another one.
const stackGetter = Object.getOwnPropertyDescriptor(Error.prototype, "stack")?.get;

export function stackOf(error) {
  const own = Object.getOwnPropertyDescriptor(error, "stack");
  const stack = own !== undefined && "value" in own ? own.value
    : stackGetter === undefined ? undefined : Reflect.apply(stackGetter, error, []);
  return typeof stack === "string" ? stack : "";
}

// "Other": an object of the engine or of the SDK.
export const kindOf = (object) => kinds.get(classId(object)) ?? "Other";
export const typedArrays = new Map(
  [...kinds.values()].filter((kind) => /^\w+\d+\w*Array$/.test(kind)).map((kind) => [kind, globalThis[kind]]));
