// Mailbox: values in order, until it is closed with a reason.

const OVERHEAD_BYTES = 256; // Added to the bytes of each value.

export class Mailbox {
  #values = [];
  #waiting = [];
  #closed;
  #hold;
  #heldBytes = 0;

  // `hold(bytes)` hears how many bytes more, or less, wait here, until it is closed: what has
  // ended sends no more.
  constructor(hold) {
    this.#hold = hold;
  }

  put(value, bytes = 0) {
    const waiter = this.#waiting.shift();
    if (waiter) return waiter.resolve(value);
    const size = OVERHEAD_BYTES + bytes;
    this.#values.push({ value, size });
    this.#count(size);
  }

  #count(size) {
    this.#heldBytes += size;
    this.#hold(size);
  }

  close(why) {
    if (this.#closed) return;
    this.#closed = why;
    this.#count(-this.#heldBytes);
    for (const waiter of this.#waiting.splice(0)) waiter.reject(this.#closed);
  }

  // The next value; rejected with the reason of close() when there is none any more.
  get() {
    const next = this.#values.shift();
    if (next) {
      if (!this.#closed) this.#count(-next.size);
      return Promise.resolve(next.value);
    }
    if (this.#closed) return Promise.reject(this.#closed);
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }
}
