// crypto: random numbers.
import native from "quire:native";

const randomBytesMax = 65536;  // Of one call, here and elsewhere.
const isWhole = /^(Uint8|Uint8Clamped|Int8|Uint16|Int16|Uint32|Int32|BigInt64|BigUint64)Array$/;
const typeOf = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;

export const crypto = {
  getRandomValues(view) {
    if (!ArrayBuffer.isView(view) || !isWhole.test(typeOf.call(view))) {
      throw new TypeError("getRandomValues: argument 1 must be a typed array of whole numbers");
    }
    if (view.byteLength > randomBytesMax) {
      throw new DOMException(`${view.byteLength} bytes: at most 65536`, "QuotaExceededError");
    }
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    bytes.set(native.runtime.random(bytes.length));
    return view;
  },
  randomUUID() {
    const bytes = native.runtime.random(16);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("");
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  },
};
