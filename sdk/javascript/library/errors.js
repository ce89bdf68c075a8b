// QuireError: what a call of the host, or of the SDK, failed with. `code` is the name of
// interface/types.wit, such as "not-found".
import native from "quire:native";

const { defineProperty } = Object;

export class QuireError extends Error {
  // The engine calls it. `stack` is where the call was made that failed.
  constructor(number, code, message, stack) {
    super(message);
    const hidden = { enumerable: false, configurable: true, writable: true };
    defineProperty(this, "code", { value: code, ...hidden });
    defineProperty(this, "number", { value: number, ...hidden });
    if (stack !== undefined) defineProperty(this, "stack", { value: stack, ...hidden });
  }
}
defineProperty(QuireError.prototype, "name", {
  value: "QuireError", writable: true, configurable: true,
});
native.engine.setErrorClass(QuireError);
