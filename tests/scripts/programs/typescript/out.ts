// Lines that the modules beside this one write; expected.txt has what they are after TypeScript 5.9.
export const lines: string[] = [];

function text(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "function") return "fn";
  return value === undefined ? "undefined" : JSON.stringify(value);
}
export function out(...values: unknown[]) {
  lines.push(values.map(text).join(" "));
}
