// console (Console Standard): lines of the program's log.
import native from "quire:native";
import { inspect, inspectWithin } from "quire:library/inspect.js";
import { tableOf } from "quire:library/console_table.js";

const { log } = native.runtime;
const { now } = native.runtime;
const { stringify } = JSON;
const { apply } = Reflect;
const objectText = Object.prototype.toString;

// %s: a text stays as it is. An object with a method toString of its own is what that method returns.
function asText(value) {
  if (typeof value === "bigint") return `${value}n`;
  if ((typeof value !== "object" && typeof value !== "function") || value === null) {
    return Object.is(value, -0) ? "-0" : String(value);
  }
  try {
    const { toString } = value;
    const isOwn = typeof value === "object" && typeof toString === "function" && toString !== objectText &&
      toString !== Error.prototype.toString && toString !== Array.prototype.toString && toString !== Date.prototype.toString;
    if (isOwn) return `${apply(toString, value, [])}`;
  } catch {
    // The value is shown as any object.
  }
  return inspectWithin(value);
}

function asNumber(value, parse) {
  if (typeof value === "symbol") return "NaN";
  try {
    return String(parse(value));
  } catch {
    return "NaN";
  }
}

function asJson(value) {
  try {
    return String(stringify(value));
  } catch {
    return inspectWithin(value);
  }
}

const forms = {
  s: asText,
  d: (value) => asNumber(value, Number.parseInt),
  i: (value) => asNumber(value, Number.parseInt),
  f: (value) => asNumber(value, Number.parseFloat),
  j: asJson,
  o: inspectWithin,
  O: inspectWithin,
  c: () => "",  // A style.
};

// The Formatter: the marks of a first text are replaced, and what is left follows.
export function format(values) {
  const [first, ...rest] = values;
  let text = [];
  if (typeof first === "string" && rest.length > 0) {
    text = [first.replace(/%[sdifjoOc%]/g, (mark) => {
      if (mark === "%%") return "%";
      return rest.length === 0 ? mark : forms[mark[1]](rest.shift());
    })];
  } else if (values.length > 0) {
    text = [inspect(first)];
  }
  return [...text, ...rest.map(inspect)].join(" ");
}

const counts = new Map();
const begins = new Map();
let indent = "";

function write(level, text) {
  log(level, indent === "" ? text : indent + text.replaceAll("\n", `\n${indent}`));
}
const print = (level, values) => write(level, format(values));

function printTime(label, values) {
  if (!begins.has(label)) {
    write("warning", `there is no timer "${label}"`);
    return;
  }
  const ms = (now() - begins.get(label)).toFixed(3);
  write("info", [`${label}: ${ms} ms`, ...values.map(inspect)].join(" "));
}

function group(values) {
  if (values.length > 0) print("info", values);
  indent += "  ";
}

const functions = {
  assert(condition = false, ...data) {
    if (condition) return;
    const [first, ...rest] = data;
    if (typeof first === "string") print("warning", [`Assertion failed: ${first}`, ...rest]);
    else print("warning", ["Assertion failed", ...data]);
  },
  clear() {
    indent = "";
  },
  debug: (...data) => print("debug", data),
  error: (...data) => print("warning", data),
  info: (...data) => print("info", data),
  log: (...data) => print("info", data),
  table(data = undefined, columns = undefined) {
    const table = tableOf(data, columns);
    if (table === null) print("info", [data]);
    else write("info", table);
  },
  trace(...data) {
    const frames = new Error().stack.split("\n").slice(1).filter((line) => !line.includes("quire:")).join("\n").trimEnd();
    write("info", `Trace${data.length > 0 ? `: ${format(data)}` : ""}\n${frames}`.trimEnd());
  },
  warn: (...data) => print("warning", data),
  dir(item = undefined, options = undefined) {
    write("info", inspectWithin(item));
  },
  dirxml: (...data) => write("info", data.map(inspectWithin).join(" ")),
  count(label = "default") {
    const name = `${label}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    write("info", `${name}: ${counts.get(name)}`);
  },
  countReset(label = "default") {
    const name = `${label}`;
    if (!counts.delete(name)) write("warning", `there is no count "${name}"`);
  },
  group: (...data) => group(data),
  groupCollapsed: (...data) => group(data),
  groupEnd() {
    indent = indent.slice(2);
  },
  time(label = "default") {
    const name = `${label}`;
    if (begins.has(name)) write("warning", `the timer "${name}" runs already`);
    else begins.set(name, now());
  },
  timeLog(label = "default", ...data) {
    printTime(`${label}`, data);
  },
  timeEnd(label = "default") {
    const name = `${label}`;
    printTime(name, []);
    begins.delete(name);
  },
};

// A namespace object: its prototype is an empty object.
export const console = Object.create({}, Object.getOwnPropertyDescriptors(functions));
Object.defineProperty(console, Symbol.toStringTag, { value: "console", configurable: true });
