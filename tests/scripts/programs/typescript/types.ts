import { out } from "./out.ts";
type A = { [K in keyof any]: string }; interface I<T> extends Array<T> { (x: number): string; new (y: string): I<T>; readonly [k: string]: any }
function over(a: string): string; function over(a: number): number; function over(a: any) { return a } out(over(3));
const x = { a: 1 } satisfies Record<string, number>; out(x as const, x!.a, (<any>x).a); let u!: number; u = 3; out(u);
function is(v: unknown): v is string { return typeof v === "string" } function as(v: unknown): asserts v is string {} out(is("x")); const g = <T,>(v: T) => v; const h = async <T>(v: T): Promise<T> => v; out(g<number>(1), await h("z"));
declare const zz: number; declare function dd(): void; declare module "x" { export const a: number } declare global { interface Foo {} } declare namespace DN { const x: number } declare enum DE { A } abstract class Ab { abstract x: number; abstract get y(): string; z = 1 }
class Im extends Ab implements Iterable<number> { x = 2; get y() { return "y" } *[Symbol.iterator]() { yield 1 } } out([...new Im()], new Im().y);
const tpl = `a${((q: number): number => q)(4)}b`; out(tpl); label: for (const [k, v] of Object.entries({ a: 1 } as Record<string, number>)) { out(k, v); continue label }
const opt = x?.a ?? 3; let nn = x!; nn!.a++; out(opt, nn.a); function thisp(this: { a: number }, b: number) { return this.a + b } out(thisp.call(x, 2)); type Fn = typeof thisp; let tup: [a: string, b?: number] = ["q"]; out(tup);
out(((a, b?: number) => a)(1), [1, 2].map<string>((n) => String(n)), new Map<string, number[]>([["a", [1]]]).size, 1 < 2, (3 as number) > 2); export type { A }; export default interface Foo2 { a: 1 }
