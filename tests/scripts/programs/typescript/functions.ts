import { out } from "./out.ts";
namespace P { export async function go() { return 1 } export function* gen() { yield 2 } export async function* ag() { yield 3 } export abstract class Q { abstract m(): void; n() { return 4 } } export class R extends Q { m() {} } }
out(await P.go(), [...P.gen()], new P.R().n())
