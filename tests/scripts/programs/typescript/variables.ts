import { out } from "./out.ts";
namespace D { export const { a, b: [c, ...rest], ...others } = { a: 1, b: [2, 3, 4], z: 5 }; export let i = 0, j = () => { const inner = 1; return inner }, k = [1,2]; export var v; v = 6; const other = 3 }
out(D.a, D.c, D.rest, D.others, D.i, D.j(), D.k, D.v, Object.keys(D).sort())
