import { out } from "./out.ts";
const k = 5
namespace Q { export const a = 1 }
const j = k
namespace Q { export const b = 2 }
const l = [1]
enum X { A }
const m = l
enum X { B = 1 }
out(Q.a, Q.b, j, m, X)
