import { out } from "./out.ts";
namespace A { export namespace B { export const c = 4; export type T = number } } import c = A.B.c; import B = A.B; import T = A.B.T; const t: T = 3; out(c, B.c, t);
namespace Z { import q = A.B; export import r = A.B.c; export const s = q.c + r } out(Z.s, Z.r)
