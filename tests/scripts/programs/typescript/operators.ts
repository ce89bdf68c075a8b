import { out } from "./out.ts";
namespace G { export const a = 5 >= 3, b = 16 >> 2, c = 16 >>> 1; export const d = a ? (b < c) : false; let n = 8; n >>= 1; export const e = n; export const f = <T>(x: T): T => x; export const g = f<number>(3) } out(G.a,G.b,G.c,G.d,G.e,G.g)
