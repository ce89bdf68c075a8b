import { out } from "./out.ts";
class P { constructor(private readonly a: number, public b = 2, protected c?: string) {} get s() { return this.a + this.b } declare q: number; x!: string; static #p = 1; static { out("static") } override toString() { return "P" } }
class C2 extends P { constructor(readonly z: number) { super(z); out(this.z) } m(): void; m(x: string): void; m(x?: string) { out(x ?? "none") } }
const c = new C2(5); c.m("hi"); out(c.s, JSON.stringify(c), String(c), c instanceof P);
const Anon = class<T> { constructor(public v: T) {} }; out(new Anon<number>(3).v)
