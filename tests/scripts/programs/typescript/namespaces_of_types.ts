import { out } from "./out.ts";
namespace T { export interface P { a: number } export type Q = string; namespace In { type Z = 1 } } export namespace U { export type V = T.P }
const p: T.P = { a: 1 }; out(p.a, typeof (globalThis as any).T)
