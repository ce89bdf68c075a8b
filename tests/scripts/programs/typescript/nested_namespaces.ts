import { out } from "./out.ts";
export namespace A.B.C { export const v = 3; export namespace D { export class K { static s = v; } } } export namespace A.B { export const w = C.v + 1; export namespace C2 { export const q = C.D.K.s * w; } }
out(A.B.C.v, A.B.C.D.K.s, A.B.w, A.B.C2.q)
