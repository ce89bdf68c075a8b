import { out } from "./out.ts";
namespace N { export class N { v = 1 } export const M = new N().v } out(N.M, new N.N().v); namespace F { export function F() { return 3 } } out(F.F())
