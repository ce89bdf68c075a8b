// Each of these recurses without end, and by another path through the interpreter. Each ends in an error that is caught
// here.
import { session } from "quire";

const nested = (count, first, wrap) => {
  let value = first;
  for (let i = 0; i < count; i++) value = wrap(value);
  return value;
};
const object = (members) => Object.defineProperties({}, Object.getOwnPropertyDescriptors(members));
const proxy = (handler, target = {}) => new Proxy(target, handler);

const forms = {
  call() { const f = () => f(); f(); },
  concatenation() { const o = { toString: () => o + "" }; o + ""; },
  template() { const o = { toString: () => `${o}` }; `${o}`; },
  String() { const o = { toString: () => String(o) }; String(o); },
  number() { const o = { valueOf: () => +o }; +o; },
  comparison() { const o = { valueOf: () => o < 1 }; o < 1; },
  equality() { const o = { valueOf: () => o == 1 }; o == 1; },
  toPrimitive() { const o = { [Symbol.toPrimitive]: () => o * 2 }; o * 2; },
  key() { const o = { toString: () => ({})[o] }; ({})[o]; },
  in() { const o = { toString: () => o in {} }; o in {}; },
  join() { const o = { toString: () => [o, o].join() }; [o, o].join(); },
  toJSON() { const o = { toJSON: () => JSON.stringify(o) }; JSON.stringify(o); },
  reviver() { const f = () => JSON.parse("[1]", f); f(); },
  getter() { const o = object({ get x() { return o.x; } }); o.x; },
  setter() { const o = object({ set x(v) { o.x = v; } }); o.x = 1; },
  spread() { const o = object({ get x() { return { ...o }; } }); ({ ...o }); },
  proxyGet() { const p = proxy({ get: (t, k) => p[k] }); p.x; },
  proxySet() { const p = proxy({ set: (t, k, v) => { p[k] = v; return true; } }); p.x = 1; },
  proxyHas() { const p = proxy({ has: (t, k) => k in p }); "x" in p; },
  proxyKeys() { const p = proxy({ ownKeys: () => { for (const k in p) k; return []; } }); for (const k in p) k; },
  proxyNew() { const p = proxy({ construct: () => new p() }, class {}); new p(); },
  proxies() { nested(100000, {}, (p) => new Proxy(p, {})).x; },
  proxiesSet() { nested(100000, {}, (p) => new Proxy(p, {})).x = 1; },
  proxiesHas() { "x" in nested(100000, {}, (p) => new Proxy(p, {})); },
  proxiesDelete() { delete nested(100000, {}, (p) => new Proxy(p, {})).x; },
  proxiesKeys() { Object.keys(nested(100000, {}, (p) => new Proxy(p, {}))); },
  proxiesDefine() { Object.defineProperty(nested(100000, {}, (p) => new Proxy(p, {})), "x", { value: 1 }); },
  proxiesPrototype() { Object.getPrototypeOf(nested(100000, {}, (p) => new Proxy(p, {}))); },
  proxiesExtensible() { Object.isExtensible(nested(100000, {}, (p) => new Proxy(p, {}))); },
  proxiesCall() { nested(100000, () => 1, (p) => new Proxy(p, {}))(); },
  proxiesNew() { new (nested(100000, class {}, (p) => new Proxy(p, {})))(); },
  bound() { nested(1500, () => 1, (f) => f.bind(null))(); },
  map() { const f = () => [1].map(f); f(); },
  sort() { const f = () => { [2, 1].sort(f); return 0; }; f(); },
  replace() { const f = () => "a".replace(/a/, f); f(); },
  construct() { function F() { return new F(); } new F(); },
  field() { class A { x = new A(); } new A(); },
  generator() { function* g() { yield* g(); } [...g()]; },
  iterator() { const o = { [Symbol.iterator]: () => { for (const x of o) x; } }; for (const x of o) x; },
  destructuring() { const o = { [Symbol.iterator]: () => { const [a] = o; return a; } }; const [b] = o; return b; },
  eval() { globalThis.deep = () => (0, eval)("deep()"); deep(); },
  directEval() { const f = () => eval("f()"); f(); },
  instanceof() { const C = { [Symbol.hasInstance]: () => 1 instanceof C }; 1 instanceof C; },
  stringify() { JSON.stringify(nested(100000, [], (a) => [a])); },
  flat() { nested(100000, [], (a) => [a]).flat(Infinity); },
  text() { String(nested(100000, [], (a) => [a])); },
  brackets() { eval("(".repeat(100000)); },
  blocks() { eval("{".repeat(100000)); },
  arrows() { eval("x=>".repeat(50000) + "1"); },
  classBodies() { eval("class A { x = ".repeat(20000)); },
  templates() { eval("`${".repeat(20000)); },
  news() { eval("new ".repeat(50000) + "a"); },
  unaries() { eval("!".repeat(100000) + "1"); },
  conditions() { eval("1?".repeat(50000)); },
  powers() { eval("2**".repeat(50000) + "1"); },
  ifs() { eval("if(1)".repeat(50000) + "1"); },
  arrays() { JSON.parse("[".repeat(100000)); },
};

// The parsers of regular expressions and of functions report another error.
const texts = {
  groups() { new RegExp("(?:".repeat(100000) + ")".repeat(100000)); },
  lookaheads() { new RegExp("(?=".repeat(20000) + ")".repeat(20000)); },
  classes() { new RegExp("[".repeat(100000) + "]".repeat(100000), "v"); },
  functions() { eval("function f(){".repeat(20000)); },
};

function check(all, kind) {
  for (const [name, run] of Object.entries(all)) {
    let thrown;
    try {
      run();
    } catch (error) {
      thrown = error;
    }
    if (!(thrown instanceof kind)) session.send(`${name}: ${thrown}\n`);
  }
}

export default async function program() {
  check(forms, RangeError);
  check(texts, SyntaxError);
  session.send(`${Object.keys({ ...forms, ...texts }).length} forms\n`);
}
