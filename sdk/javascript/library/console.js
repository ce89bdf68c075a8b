// console: lines of the program's log.
import native from "quire:native";

const { log } = native.runtime;
const { isArray } = Array;
const { keys } = Object;
const { stringify } = JSON;
const depthMax = 4;
const elementCountMax = 100;

function shownName(name) {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : stringify(name);
}

function listed(open, parts, close) {
  if (parts.length === 0) return open + close;
  const line = `${open} ${parts.join(", ")} ${close}`;
  if (line.length <= 76 && !line.includes("\n")) return line;
  return `${open}\n${parts.map((each) => `  ${each.replaceAll("\n", "\n  ")}`).join(",\n")}\n${close}`;
}

function ofElements(values, show) {
  const shown = [];
  for (const each of values) {
    if (shown.length === elementCountMax) {
      shown.push("...");
      break;
    }
    shown.push(show(each));
  }
  return shown;
}

// Returns how a value is shown: texts within other values in quotes, objects by their members.
export function inspect(value, depth = 0, above = []) {
  if (typeof value === "string") return depth === 0 ? value : stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "symbol") return value.toString();
  if (typeof value === "function") return `[Function ${value.name || "(anonymous)"}]`;
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Error) return value.stack ? value.stack.trimEnd() : String(value);
  if (above.includes(value)) return "[Circular]";
  if (depth > depthMax) return isArray(value) ? "[Array]" : "[Object]";
  const path = [...above, value];
  const show = (each) => inspect(each, depth + 1, path);
  if (isArray(value)) return listed("[", ofElements(value, show), "]");
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    return listed(`${value.constructor.name}(${value.length}) [`, ofElements(value, show), "]");
  }
  if (value instanceof Map) {
    return listed("Map {", ofElements(value, ([key, each]) => `${show(key)} => ${show(each)}`), "}");
  }
  if (value instanceof Set) return listed("Set {", ofElements(value, show), "}");
  if (value instanceof Date) return value.toISOString();
  if (value instanceof RegExp) return value.toString();
  if (value instanceof Promise) return "Promise {}";
  const name = value.constructor?.name;
  const open = name && name !== "Object" ? `${name} {` : "{";
  return listed(open, ofElements(keys(value), (key) => `${shownName(key)}: ${show(value[key])}`), "}");
}

// %s, %d, %i, %f, %j, %o, %O and %% of a first text, as elsewhere; what is left follows.
export function format(values) {
  const rest = [...values];
  let text = "";
  if (typeof rest[0] === "string" && rest[0].includes("%")) {
    text = rest.shift().replace(/%[sdifjoO%]/g, (mark) => {
      if (mark === "%%") return "%";
      if (rest.length === 0) return mark;
      const value = rest.shift();
      if (mark === "%s") return typeof value === "string" ? value : inspect(value, 1);
      if (mark === "%j") return stringify(value);
      if (mark === "%o" || mark === "%O") return inspect(value, 1);
      return String(mark === "%f" ? Number.parseFloat(value) : Math.trunc(Number(value)));
    });
    if (rest.length > 0) text += " ";
  }
  return text + rest.map((each) => inspect(each)).join(" ");
}

const counts = new Map();
const begins = new Map();
let indent = "";

function write(level, values) {
  const text = indent + format(values);
  log(level, indent === "" ? text : text.replaceAll("\n", `\n${indent}`));
}

export const console = {
  log: (...values) => write("info", values),
  info: (...values) => write("info", values),
  debug: (...values) => write("debug", values),
  warn: (...values) => write("warning", values),
  error: (...values) => write("warning", values),
  dir: (value) => write("info", [inspect(value, 1)]),
  table: (value) => write("info", [inspect(value, 1)]),
  trace: (...values) => write("info", [`Trace: ${format(values)}\n${new Error().stack.trimEnd()}`]),
  assert: (holds, ...values) => {
    if (!holds) write("warning", [`Assertion failed${values.length ? ":" : ""}`, ...values]);
  },
  count: (name = "default") => {
    counts.set(name, (counts.get(name) ?? 0) + 1);
    write("info", [`${name}: ${counts.get(name)}`]);
  },
  countReset: (name = "default") => void counts.delete(name),
  time: (name = "default") => void begins.set(name, native.runtime.now()),
  timeLog: (name = "default") => {
    write("info", [`${name}: ${(native.runtime.now() - (begins.get(name) ?? 0)).toFixed(3)} ms`]);
  },
  timeEnd: (name = "default") => {
    console.timeLog(name);
    begins.delete(name);
  },
  group: (...values) => {
    if (values.length > 0) write("info", values);
    indent += "  ";
  },
  groupEnd: () => void (indent = indent.slice(2)),
};
