// The table of console.table: a row for each member of a value, a column for each member of the rows.
import { inspectWithin } from "quire:library/inspect.js";

const { getOwnPropertyDescriptor, keys } = Object;
const rowCountMax = 1000;

const isObject = (value) => typeof value === "object" && value !== null;

function rowsOf(data) {
  const rows = [];
  if (data instanceof Map || data instanceof Set) {
    data.forEach((value, key) => rows.push(data instanceof Map ? [inspectWithin(key), value] : [String(rows.length), value]));
  } else {
    for (const key of keys(data)) rows.push([key, getOwnPropertyDescriptor(data, key)?.value]);
  }
  return rows.slice(0, rowCountMax);
}

// How many columns of a terminal a text takes; those of East Asia take two.
const widthOf = (text) => [...text].reduce((sum, each) => sum + (/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/.test(each) || each > "\uffff" ? 2 : 1), 0);

function drawn(header, rows) {
  const widths = header.map((name, at) => Math.max(...[name, ...rows.map((row) => row[at])].map(widthOf)) + 2);
  const line = (left, middle, right) => left + widths.map((width) => "─".repeat(width)).join(middle) + right;
  const cell = (text, at) => ` ${text}${" ".repeat(widths[at] - widthOf(text) - 1)}`;
  const written = (row) => `│${row.map(cell).join("│")}│`;
  return [line("┌", "┬", "┐"), written(header), line("├", "┼", "┤"), ...rows.map(written), line("└", "┴", "┘")].join("\n");
}

// The table, or null if `data` is none.
export function tableOf(data, columns) {
  if (!isObject(data)) return null;
  try {
    const rows = rowsOf(data);
    const chosen = columns === undefined ? null : Array.from(columns, String);
    const names = chosen ?? [...new Set(rows.flatMap(([, value]) => (isObject(value) ? keys(value) : [])))];
    const hasPlain = rows.some(([, value]) => !isObject(value));
    const shown = (value) => inspectWithin(value).replaceAll(/\s*\n\s*/g, " ");
    const cells = rows.map(([index, value]) => [
      index,
      ...names.map((name) => {
        const found = isObject(value) ? getOwnPropertyDescriptor(value, name) : undefined;
        return found === undefined ? "" : shown(found.value);
      }),
      ...(hasPlain ? [isObject(value) ? "" : shown(value)] : []),
    ]);
    return drawn(["(index)", ...names, ...(hasPlain ? ["Values"] : [])], cells);
  } catch {
    return null;
  }
}
