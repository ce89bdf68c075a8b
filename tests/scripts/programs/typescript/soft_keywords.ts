import { out } from "./out.ts";
module M { export const a = 1 } out(M.a); const module = { a: 2 }; const namespace = 3; out(module.a, namespace); const type = 1, declare = 2, abstract = 3, as = 4, is = 5, enum_ = 6; out(type, declare, abstract, as, is); const of = 1; out(of)
