import { out } from "./out.ts";
namespace Shapes { export const side = 4; export function area(n: number) { return n * side; } }
class Box { size = 1; }
namespace Box { export const none = 0; }
out(String(Box.none), Shapes.area(2));
