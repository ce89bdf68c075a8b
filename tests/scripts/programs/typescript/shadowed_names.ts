import { out } from "./out.ts";
namespace O { export class Object { x = 1 } export function Array() { return 2 } export const value = 3; export let given = 1 } out(new O.Object().x, O.Array(), O.value)
