// QuireError: what a call of the host, or of the SDK, failed with. `code` is the name of
// interface/types.wit, such as "not-found". The engine makes them, with the stack of the call that failed.
import native from "quire:native";

export class QuireError extends Error {
  constructor() {
    throw new TypeError("new QuireError: the SDK makes objects of this class");
  }
}
Object.defineProperty(QuireError.prototype, "name", {
  value: "QuireError", writable: true, configurable: true,
});
native.engine.setErrorClass(QuireError);
