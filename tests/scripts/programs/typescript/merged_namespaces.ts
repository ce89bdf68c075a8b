import { out } from "./out.ts";
namespace A { export const x = 1; export let y = 2; export function inc() { y++; return z; } const hid = 5; export function h() { return hid } }
namespace A { export const z = x + 1; const hid = 7; export function show() { return [x, y, z, hid].join() } export const o = { x, y }; y = 10; { const x = 9; out(x) } }
A.y = 50; A.inc(); out(A.show(), A.o, A.y, A.h(), Object.keys(A).length)
