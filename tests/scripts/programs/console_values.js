// Values that console must show, none of which may make it throw; the test reads the lines.
class Point {
  constructor(x) {
    this.x = x;
  }
  get sum() {
    throw new Error("a getter of the class");
  }
}

export default function program() {
  console.log("%s|%d|%i|%f|%o|%c|%%|%x", "text", "42.9px", Symbol("s"), "1.5kg", { a: 1 }, "color: red", "rest");
  console.log("100%% alone");
  console.log(new Date(Number.NaN), { when: new Date(0) });
  console.log({ get bad() { throw new Error("x"); }, set only(value) {}, [Symbol("key")]: -0, "a b": 5n });
  console.log(new Point(1), Object.create(null), [1, , , 4], Object.assign([1], { more: 2 }), class A extends Point {}, function () {});
  console.log(new Map([[{ a: 1 }, new Set(["x"])]]), new Uint16Array([1, 2]), new Uint8Array([1, 255]).buffer);
  console.log(Object("boxed"), Promise.resolve(5), new WeakMap(), new Proxy({ a: 1 }, { get() { throw new Error("trap"); }, ownKeys() { throw new Error("trap"); } }));
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  console.log(revoked.proxy, Object.defineProperty({}, "constructor", { get() { throw new Error("x"); } }));
  console.log(new TypeError("outer", { cause: new Error("inner") }));
  console.log({ toString() { throw new Error("x"); } }, "and %s", { toString: null });
  console.log("%s %d %j", { toString() { throw new Error("x"); } }, { valueOf() { throw new Error("x"); } }, (() => { const own = {}; own.own = own; return own; })());
  let deep = null;
  for (let at = 0; at < 100000; at += 1) deep = [deep];
  console.log(deep);
  console.log(new URL("http://h/a?b"), new URLSearchParams("a=1&b=2"), new Headers({ x: "y" }), AbortSignal.abort(7), new Response("r", { status: 201 }), new Event("e"));
  console.table([{ a: 1, b: "x" }, { a: 2 }]);
  console.groupCollapsed("group");
  console.dirxml({ in: "group" });
  console.clear();
  console.assert(false, "%s is not %d", "one", 2);
  console.count();
  console.count();
  console.countReset("none");
  console.timeEnd("none");
  console.debug("alive");
}
