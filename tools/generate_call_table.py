#!/usr/bin/env python3
"""Writes a C++ table of every call of interface/*.wit, for guests that test them.

    generate_call_table.py FILE

Each call can be made through the table with raw 64-bit words. A test can therefore put anything in
the place of any argument. A call that is new to the WIT is in every such test from then on.
"""
import pathlib
import sys

import generate_interface as interface_files

ROOT = pathlib.Path(__file__).resolve().parent.parent
ELEMENT_BYTES = {"u8": 1, "u32": 4, "s32": 4, "f32": 4, "f64": 8}
HEADER = """\
// Written by tools/generate_call_table.py from interface/*.wit.
#pragma once
// Every call of the interface, to be made with raw words. Table; generated.
#include <bit>
#include <cstdint>

#include "quire/bindings.h"

namespace quire::abi {

using Word = std::uint64_t;  // An argument; numbers of 32 bits are its low half.

enum class WordKind : std::uint8_t { Handle, Address, ListPointer, ListCount, Number, Float };

struct Parameter {
  const char* name;
  WordKind kind;
  std::uint8_t element_bytes;  // Of a list.
  bool holds_handles;          // The list does.
};

struct Call {
  const char* interface_name;
  const char* name;
  bool gives_future;
  bool gives_handle;  // Of anything else.
  const Parameter* parameters;
  std::uint32_t word_count;
  std::int64_t (*make)(const Word* words);
};

"""


def pointer(type_name, word):
    return f"reinterpret_cast<{type_name}>(static_cast<std::uintptr_t>({word}))"


def lowered(function):
    """(parameters of the table, C++ arguments) for the words of a call."""
    parameters, arguments = [], []

    def add(name, kind, argument, element_bytes=0, handles=False):
        parameters.append(f'{{"{name}", WordKind::{kind}, {element_bytes}, {str(handles).lower()}}}')
        arguments.append(argument)

    for name, (kind, type_name) in function.parameters:
        word = f"w[{len(parameters)}]"
        if kind == "list":
            element = interface_files.ELEMENTS[type_name]
            add(name, "ListPointer", pointer(f"const {element}*", word), ELEMENT_BYTES[type_name],
                type_name == "s32")
            add(name, "ListCount", f"static_cast<std::uint32_t>(w[{len(parameters)}])",
                ELEMENT_BYTES[type_name])
        elif type_name == "address":
            add(name, "Address", pointer("void*", word))
        elif type_name in ("handle", "future"):
            add(name, "Handle", f"static_cast<std::int32_t>({word})")
        elif type_name == "f64":
            add(name, "Float", f"std::bit_cast<double>({word})")
        elif type_name == "f32":
            raise SystemExit(f"{function.interface}.{function.name}: an f32 has no word yet")
        else:
            add(name, "Number", f"static_cast<{interface_files.SCALARS[type_name][1]}>({word})")
    return parameters, arguments


def table(interfaces):
    functions = [(interface, function) for interface in interfaces
                 for function in interface.functions]
    out, rows = [HEADER], []
    for interface, function in functions:
        parameters, arguments = lowered(function)
        name = f"k_{interface.spelled}_{function.spelled}"
        listed = "nullptr"
        if parameters:
            out.append(f"inline constexpr Parameter {name}[] = {{{', '.join(parameters)}}};\n")
            listed = name
        words = "const Word* w" if arguments else "const Word*"
        rows.append(f'    {{"{interface.name}", "{function.name}", '
                    f'{str(function.result == "future").lower()}, '
                    f'{str(function.result == "handle").lower()}, {listed}, {len(parameters)},\n'
                    f"     []({words}) -> std::int64_t {{ return "
                    f"{interface.spelled}::{function.bound}({', '.join(arguments)}); }}}},\n")
    out.append("\ninline constexpr Call kCalls[] = {\n" + "".join(rows) + "};\n\n"
               "}  // namespace quire::abi\n")
    return "".join(out)


def main(path):
    text = table(interface_files.parse(ROOT / "interface"))
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
