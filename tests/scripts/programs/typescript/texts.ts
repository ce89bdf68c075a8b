import { out } from "./out.ts";
namespace V { export const big = 10n; export const re = /}\/[/{]/.test("}/{"), t = `}${"}"}` ; export const o = { "}": 1, get a() { return 1 } } } out(String(V.big), V.re, V.t, V.o.a)
