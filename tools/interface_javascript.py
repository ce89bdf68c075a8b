#!/usr/bin/env python3
"""Writes what scripts in JavaScript need of interface/*.wit:

    interface_javascript.py calls FILE    C++ header: each call as a function of the module "quire/raw"
    interface_javascript.py types FILE    the same as TypeScript, for sdk/javascript/quire.d.ts

A list is an array or a typed array, list<u8> a string, a Uint8Array or an ArrayBuffer. An `address`
is a typed array that the host writes to. A `capacity` after it is its length, and not an argument.
A call that returns minus an error code throws a QuireError.
"""
import pathlib
import sys

import generate_interface as wit

ROOT = pathlib.Path(__file__).resolve().parent.parent
LISTS = {"u8": ("Bytes", "BytesLike"), "u32": ("std::vector<std::uint32_t>", "NumberList"),
         "s32": ("std::vector<std::int32_t>", "NumberList"),
         "f64": ("std::vector<double>", "NumberList"), "f32": ("std::vector<double>", "NumberList")}
SCALARS = {"u32": "std::uint32_t", "s32": "std::int32_t", "u64": "std::uint64_t",
           "s64": "std::int64_t", "f64": "double"}
# Elements of what is written to an address, in bytes, where it is not bytes.
CAPACITY_BYTES = {("models", "model-info"): 4}
COUNTED_BYTES = 4  # `count` handles.
KEYWORDS = {"delete"}  # Of JavaScript; a property may have the name.


def camel(name):
    first, *rest = name.split("-")
    return first + "".join(word.capitalize() for word in rest)


def scalar(type_name):
    return wit.ALIASES[type_name][0] if type_name in wit.ALIASES else type_name


class Call:
    """A function of the interface: what it takes in JavaScript, and how it is called in C++."""

    def __init__(self, interface, function):
        self.interface, self.function = interface, function
        self.cpp, self.types, self.passed, self.checks = [], [], [], []
        names = [name for name, _ in function.parameters]
        for index, (name, (kind, type_name)) in enumerate(function.parameters):
            spelled = name.replace("-", "_")
            if kind == "list":
                self.take(spelled, name, *LISTS[type_name])
                data = f"detail::bytes_of({spelled}.bytes)" if type_name == "u8" else f"{spelled}.data()"
                size = f"{spelled}.bytes.size()" if type_name == "u8" else f"{spelled}.size()"
                if type_name == "f32":
                    raise SystemExit(f"{interface.name}.{function.name}: list<f32> has no lowering")
                self.passed += [data, f"detail::count_of({size})"]
            elif type_name == "address":
                self.take(spelled, name, "Buffer", "ArrayBufferView")
                self.passed.append(f"{spelled}.data")
                self.room(spelled, names, index)
            elif name == "capacity" and names[index - 1:index] and self.is_address(index - 1):
                unit = CAPACITY_BYTES.get((interface.name, function.name), 1)
                self.passed.append(f"detail::count_of({names[index - 1].replace('-', '_')}.bytes / {unit})")
            else:
                wide = scalar(type_name) in ("u64", "s64")
                self.take(spelled, name, SCALARS[scalar(type_name)],
                          "number | bigint" if wide else "number")
                self.passed.append(spelled)

    def is_address(self, index):
        return self.function.parameters[index][1][1] == "address"

    def take(self, spelled, name, cpp, typescript):
        self.cpp.append(f"{cpp} {spelled}")
        self.types.append(f"{camel(name)}: {typescript}")

    def room(self, spelled, names, index):
        """The host writes as much as another argument says, where no capacity follows."""
        if names[index + 1:index + 2] == ["capacity"]:
            return
        if "count" in names:
            self.checks.append(f"std::uint64_t{{count}} * {COUNTED_BYTES} <= {spelled}.bytes")
        elif "futures" in names:
            self.checks.append(f"futures.size() <= {spelled}.bytes")
        else:
            raise SystemExit(f"{self.interface.name}.{self.function.name}: how much is written to "
                             f"{spelled} is not known")

    def spelled(self):
        return f"{self.interface.spelled}_{self.function.spelled}"

    def definition(self):
        wide = scalar(self.function.result) == "s64"
        result = "std::int64_t" if wide else "std::int32_t"
        out = [f"inline Result<{result}> {self.spelled()}({', '.join(self.cpp)}) {{"]
        for each in self.checks:
            out.append(f"  if (!({each})) return too_little_room();")
        call = f"abi::{self.interface.spelled}::{self.function.bound}({', '.join(self.passed)})"
        out += [f"  return {'checked_wide' if wide else 'checked'}({call});", "}"]
        return "\n".join(out)

    def name(self):
        return f"{camel(self.interface.name)}.{camel(self.function.name)}"

    def declaration(self):
        lines = [f"   * {line}".rstrip() for line in self.function.documentation.meaning]
        comment = ["  /**", *lines, "   */"] if lines else []
        wide = scalar(self.function.result) == "s64"
        return "\n".join([*comment, f"  {camel(self.function.name)}({', '.join(self.types)}): "
                          f"{'number | bigint' if wide else 'number'};"])


def calls(interfaces):
    out = ["""\
// Generated by tools/interface_javascript.py from interface/*.wit. Do not edit.
#pragma once
// Each call of the interface for scripts, as functions of the module "quire/raw".
// clang-format off
#include "raw.h"

namespace quire::javascript {

namespace raw {
"""]
    all_calls = [(each, [Call(each, function) for function in each.functions])
                 for each in interfaces if each.functions]
    for _, functions in all_calls:
        out += [each.definition() for each in functions]
    out += ["\n}  // namespace raw\n", "inline void define_raw(JSContext* js, JSValueConst space) {"]
    for interface, functions in all_calls:
        members = [f'function<"{each.name()}", raw::{each.spelled()}>()' for each in functions]
        out.append(f'  define_namespace(js, space, "{camel(interface.name)}", {{{", ".join(members)}}});')
    out += ["}\n", "}  // namespace quire::javascript", ""]
    return "\n".join(out)


def types(interfaces):
    out = ["""\
// Generated by tools/interface_javascript.py from interface/*.wit. Do not edit.
// The calls of the interface, one to one: `import raw from "quire/raw"`. A handle and a future are
// numbers; a call that fails throws a QuireError. `raw.result(future)` waits for one.
declare module "quire/raw" {
type BytesLike = string | Uint8Array | ArrayBuffer;
type NumberList = ArrayLike<number>;
"""]
    spaces = []
    for interface in interfaces:
        if not interface.functions:
            continue
        spaces.append(camel(interface.name))
        name = "".join(word.capitalize() for word in interface.name.split("-"))
        out.append(f"export interface {name}Calls {{")
        out += [Call(interface, function).declaration() for function in interface.functions]
        out.append("}\n")
    out.append("const raw: {")
    for interface in interfaces:
        if interface.functions:
            name = "".join(word.capitalize() for word in interface.name.split("-"))
            out.append(f"  readonly {camel(interface.name)}: {name}Calls;")
    out += ["  /** Waits for a future without stopping the script, and gives the bytes of its result. */",
            "  result(future: number): Promise<Uint8Array>;", "};", "export default raw;", "}", ""]
    return "\n".join(out)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("calls", "types"):
        raise SystemExit(__doc__)
    interfaces = wit.parse(ROOT / "interface")
    text = calls(interfaces) if sys.argv[1] == "calls" else types(interfaces)
    pathlib.Path(sys.argv[2]).write_text(text)


if __name__ == "__main__":
    main()
