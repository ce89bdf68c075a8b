import { out } from "./out.ts";
export enum E { a = 1 } export enum E { b = a << 1, c = "q".length } out(E); function f() { enum L { u, v } return L.v; } out(f());
enum Neg { A = -1, B, C = ~3, D = (1+2)*3, E = D } out(Neg); enum Str { A = 'it\'s', B = "q\"q" } out(Str);
enum Ref { A = 1, B = Ref.A + 1, "c d" = 9, D = Ref["c d"] } out(Ref); enum Arg { arguments = 1, eval, await, x = 4 } out(Arg)
