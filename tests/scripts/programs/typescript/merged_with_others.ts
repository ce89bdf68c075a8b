import { out } from "./out.ts";
function f() { return f.x } namespace f { export let x = 4 } out(f()); f.x = 5; out(f());
enum Color { Red, Green } namespace Color { export function parse(s: string): Color { return (Color as any)[s] } } out(Color.parse("Green"))
abstract class An { static of() { return An.dflt } } namespace An { export const dflt = 1; } out(An.of())
