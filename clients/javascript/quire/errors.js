// The errors of this package. `code` is the protocol's word (docs/reference/protocol.md).

export class QuireError extends Error {
  // `retryAfter` is in seconds: the same request may succeed after that time. Undefined: it may
  // not.
  constructor(code, message, retryAfter = undefined) {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

// The connection is over, or never came to be. Programs go on for the server's grace time.
export class ConnectionLost extends QuireError {
  constructor(message, retryAfter = undefined) {
    super("unavailable", message, retryAfter);
  }
}

// A program did not end well: the message holds its reason, `end` all that is known.
export class InstanceFailed extends QuireError {
  constructor(message, end) {
    super("internal", message);
    this.end = end;
  }
}

export function errorOf({ code, message, retry_after_ms: milliseconds }) {
  return new QuireError(
    code,
    message,
    milliseconds === undefined ? undefined : milliseconds / 1000,
  );
}
