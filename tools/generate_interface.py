#!/usr/bin/env python3
"""Writes the C++ SDK's imports and the host-call table from interface/*.wit.

    generate_interface.py           writes the generated files
    generate_interface.py --check   fails when a checked-in file differs from what would be written,
                                    or a call of a frozen version is not as it was
    generate_interface.py --freeze  adds the calls that are new to interface/version_1.txt

The parser takes exactly the WIT that the contract uses (see interface/README.md). It refuses
anything else with file:line, so that no call comes in whose lowering was never decided.
"""
import argparse
import pathlib
import re
import sys

PACKAGE = ("quire:core", "1.0.0")
BINDINGS = "sdk/cpp/include/quire/bindings.h"
TABLE = "src/application/hostcalls/host_call_table.inc"
FROZEN = "interface/version_1.txt"
RECORDS = "interface/records_1.txt"  # What each future's result looks like; src/.../records_test.cc compares.
PROVISIONAL = {"adapter", "input-image"}  # No model has them, so no program calls them yet.
ERRORS = "src/application/hostcalls/error_codes.inc"
SUSPENDING = {("future", "wait")}  # One call suspends (interface/README.md).
EXAMPLE_LINES_MAX = 6
# The cost of a call (docs/reference/README.md) is the part that does the work. It decides when the
# answer can come.
COSTS = ("control", "engine", "device", "helper", "disk", "network", "wait")

# WIT name -> (wasm type, C++ type for guests, C++ type for hosts).
SCALARS = {
    "u32": ("i", "std::uint32_t", "std::uint32_t"),
    "s32": ("i", "std::int32_t", "std::int32_t"),
    "u64": ("I", "std::uint64_t", "std::uint64_t"),
    "s64": ("I", "std::int64_t", "std::int64_t"),
    "f32": ("f", "float", "float"),
    "f64": ("F", "double", "double"),
}
# Aliases that mean more than their representation; types.wit must declare each as given.
ALIASES = {
    "handle": ("s32", "std::int32_t", "GuestHandle"),
    "future": ("s32", "std::int32_t", "GuestHandle"),
    "address": ("u32", "void*", "GuestAddress"),
}
ELEMENTS = {"u8": "std::uint8_t", "u32": "std::uint32_t", "s32": "std::int32_t", "f32": "float",
            "f64": "double"}
RESULTS = {"s32", "s64", "handle", "future"}
CPP_KEYWORDS = set("""alignas alignof and asm auto bool break case catch char class const continue
    decltype default delete do double else enum explicit export extern false float for friend goto
    if inline int long mutable namespace new not operator or private protected public register
    return short signed sizeof static struct switch template this throw true try typedef typename union
    unsigned using virtual void volatile while xor""".split())

TOKEN = re.compile(r"""(?P<space>[ \t\r]+)|(?P<newline>\n)|(?P<comment>//[^\n]*)
    |(?P<version>\d+\.\d+\.\d+)|(?P<name>%?[a-z][a-z0-9]*(?:-[a-z0-9]+)*)
    |(?P<arrow>->)|(?P<mark>[{}()<>:;,=.@])""", re.X)


class WitError(Exception):
    pass


def comment_text(line):
    """Returns the text of a comment line. Its indentation stays, because code in it needs it."""
    return line.lstrip("/").removeprefix(" ").rstrip()


class Documentation:
    """The comment above a call: its meaning, `Cost: CLASS` with words after a semicolon, and
    `Example:` with lines of C++ below it, indented by two."""

    def __init__(self, comment):
        def split(lines, mark):
            at = next((at for at, line in enumerate(lines) if line.startswith(mark)), len(lines))
            return lines[:at], lines[at:]
        comment, example = split(comment, "Example:")
        self.meaning, cost = split(comment, "Cost: ")
        self.example = [line.removeprefix("  ") for line in example[1:]]
        self.cost, self.cost_words = None, ""
        cost = " ".join(cost).removeprefix("Cost: ")
        if cost:
            self.cost, _, words = cost.removesuffix(".").partition(";")
            self.cost_words = words.strip()


class Tokens:
    """The tokens of one file; comments are kept by the line they end on, for the bindings."""

    def __init__(self, name, text):
        self.name, self.tokens, self.comments, self.at = name, [], {}, 0
        line, position = 1, 0
        while position < len(text):
            match = TOKEN.match(text, position)
            if not match:
                raise WitError(f"{name}:{line}: unexpected character {text[position]!r}")
            kind = match.lastgroup
            if kind == "newline":
                line += 1
            elif kind == "comment":
                self.comments[line] = comment_text(match.group())
            elif kind != "space":
                self.tokens.append((kind, match.group(), line))
            position = match.end()
        self.end_line = line

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "", self.end_line)

    def fail(self, wanted):
        _, text, line = self.peek()
        raise WitError(f"{self.name}:{line}: expected {wanted}, found {text or 'end of file'!r}")

    def take(self, wanted):
        if self.peek()[1] != wanted:
            self.fail(repr(wanted))
        self.at += 1

    def accept(self, wanted):
        found = self.peek()[1] == wanted
        self.at += found
        return found

    def take_kind(self, kind):
        found, text, _ = self.peek()
        if found != kind:
            self.fail(f"a {kind}")
        self.at += 1
        return text

    def comment_above(self, line):
        lines = []
        while line - 1 in self.comments and not any(t[2] == line - 1 for t in self.tokens):
            line -= 1
            lines.insert(0, self.comments[line])
        return lines


def wasm_letter(type_name):
    return SCALARS[ALIASES[type_name][0] if type_name in ALIASES else type_name][0]


class Function:
    def __init__(self, interface, name, parameters, result, comment):
        self.interface, self.name = interface, name
        self.documentation = Documentation(comment)
        self.parameters, self.result = parameters, result  # [(name, type)], type
        self.spelled = name.replace("-", "_")
        # In the bindings; the host's functions begin with the name of their interface.
        self.bound = self.spelled + ("_" if self.spelled in CPP_KEYWORDS else "")

    def signature(self):
        letters = ""
        for _, kind in self.parameters:
            letters += "ii" if kind[0] == "list" else wasm_letter(kind[1])
        return letters + ">" + wasm_letter(self.result)


class Interface:
    def __init__(self, name):
        self.name, self.functions, self.types, self.enums = name, [], {}, {}
        self.spelled = name.replace("-", "_")
        self.module = f"{PACKAGE[0]}/{name}@{PACKAGE[1].split('.')[0]}"


def parse_type(tokens, known):
    line = tokens.peek()[2]
    name = tokens.take_kind("name")
    if name == "list":
        tokens.take("<")
        element = tokens.take_kind("name")
        tokens.take(">")
        if element not in ELEMENTS:
            raise WitError(f"{tokens.name}:{line}: list<{element}> has no lowering")
        return ("list", element)
    if name in SCALARS or name in known:
        return ("scalar", name)
    raise WitError(f"{tokens.name}:{line}: unknown type {name!r}")


def parse_function(tokens, interface, name, line, known):
    tokens.take("func")
    tokens.take("(")
    parameters = []
    while not tokens.accept(")"):
        if parameters:
            tokens.take(",")
        parameter = tokens.take_kind("name")
        if parameter in [each for each, _ in parameters]:
            raise WitError(f"{tokens.name}:{line}: parameter {parameter!r} is given twice")
        tokens.take(":")
        parameters.append((parameter, parse_type(tokens, known)))
    tokens.take("->")
    result = parse_type(tokens, known)
    if result[0] == "list" or result[1] not in RESULTS:
        raise WitError(f"{tokens.name}:{line}: {name} returns {result[1]}; "
                       f"a call returns one of {', '.join(sorted(RESULTS))}")
    tokens.take(";")
    return Function(interface.name, name, parameters, result[1], tokens.comment_above(line))


def parse_enum(tokens):
    """Cases with their numbers, which their comments give: WIT has no way to leave one out."""
    tokens.take("{")
    cases = []
    while not tokens.accept("}"):
        line = tokens.peek()[2]
        case = tokens.take_kind("name")
        if not tokens.accept(",") and tokens.peek()[1] != "}":
            tokens.fail("',' or '}'")
        number = re.match(r"\d+", tokens.comments.get(line, ""))
        if not number:
            raise WitError(f"{tokens.name}:{line}: the number of {case!r} is missing: // 7")
        if cases and int(number.group()) <= cases[-1][1]:
            raise WitError(f"{tokens.name}:{line}: {case!r} has the number {number.group()}, "
                           f"not more than the {cases[-1][1]} before it")
        cases.append((case, int(number.group())))
    return cases


def parse_use(tokens, types, known):
    line = tokens.peek()[2]
    source = tokens.take_kind("name")
    if source != "types":
        raise WitError(f"{tokens.name}:{line}: use of {source!r}; only types may be used")
    tokens.take(".")
    tokens.take("{")
    while True:
        name = tokens.take_kind("name")
        if name not in types:
            raise WitError(f"{tokens.name}:{line}: types has no {name!r}")
        known.add(name)
        if not tokens.accept(","):
            break
    tokens.take("}")
    tokens.take(";")


def parse_interface(tokens, types):
    interface, known = Interface(tokens.take_kind("name")), set()
    tokens.take("{")
    while not tokens.accept("}"):
        line = tokens.peek()[2]
        word = tokens.take_kind("name")
        if word == "use":
            parse_use(tokens, types, known)
        elif word == "type" and tokens.peek()[0] == "name":
            name = tokens.take_kind("name")
            tokens.take("=")
            _, target = parse_type(tokens, set())
            tokens.take(";")
            if ALIASES.get(name, ("",))[0] != target:
                raise WitError(f"{tokens.name}:{line}: type {name} = {target} has no lowering")
            interface.types[name] = target
        elif word == "enum" and tokens.peek()[0] == "name":
            name = tokens.take_kind("name")
            interface.enums[name] = parse_enum(tokens)
        else:
            name = word.removeprefix("%")  # So WIT spells names that are words of its own.
            if name in [each.name for each in interface.functions]:
                raise WitError(f"{tokens.name}:{line}: {name!r} is declared twice")
            tokens.take(":")
            interface.functions.append(parse_function(tokens, interface, name, line, known))
    return interface


def parse_file(path, name, types):
    tokens = Tokens(name, path.read_text())
    for word in ("package", "quire", ":", "core", "@", PACKAGE[1], ";"):
        tokens.take(word)
    interfaces = []
    while tokens.peek()[0] != "end":
        tokens.take("interface")
        interfaces.append(parse_interface(tokens, types))
    return interfaces


def parse(folder):
    files = sorted(folder.glob("*.wit"))
    if not any(file.name == "types.wit" for file in files):
        raise WitError(f"{folder}: types.wit is missing")
    types = {}
    interfaces = []
    for file in sorted(files, key=lambda each: each.name != "types.wit"):
        for interface in parse_file(file, f"interface/{file.name}", types):
            if interface.name in [each.name for each in interfaces]:
                raise WitError(f"interface/{file.name}: interface {interface.name!r} exists "
                               "already")
            if interface.name == "types":
                types.update(interface.types)
            elif interface.types or interface.enums:
                raise WitError(f"interface/{file.name}: types are declared in types.wit")
            interfaces.append(interface)
    return interfaces


def camel(name):
    return "".join(word.capitalize() for word in name.split("-"))


def lowered(type_name):
    return (ALIASES if type_name in ALIASES else SCALARS)[type_name]


def guest_parameters(function):
    parts = []
    for name, (kind, type_name) in function.parameters:
        spelled = name.replace("-", "_")
        if kind == "list":
            parts += [f"const {ELEMENTS[type_name]}* {spelled}", f"std::uint32_t {spelled}_count"]
        else:
            parts.append(f"{lowered(type_name)[1]} {spelled}")
    return ", ".join(parts)


def host_parameters(function):
    parts = []
    for _, (kind, type_name) in function.parameters:
        if kind == "list":
            parts.append(f"GuestList<{ELEMENTS[type_name]}>")
        else:
            parts.append(lowered(type_name)[2])
    return ", ".join(parts)


def result_type(function):
    return lowered(function.result)[1]


HEADER = "// Generated by tools/generate_interface.py from interface/*.wit. Do not edit.\n"


def bindings(interfaces):
    out = [HEADER + """\
#pragma once
// The imports of a guest, one to one: lists are a pointer and an element count, an `address` is
// where the host writes. Every call returns a value or handle if >= 0, minus an ErrorCode if < 0.
// Outside Wasm the same names are plain functions, so that a test can stand in for the host.
// clang-format off
#include <cstdint>

#if defined(__wasm__)
#define QUIRE_IMPORT(module, name) __attribute__((import_module(module), import_name(name)))
#else
#define QUIRE_IMPORT(module, name)
#endif

namespace quire::abi {
"""]
    for interface in interfaces:
        for name, cases in interface.enums.items():
            out.append(f"enum class {camel(name)} : std::int32_t {{")
            out += [f"  {camel(case)} = {value}," for case, value in cases]
            out.append("};\n")
            out.append(f"constexpr const char* {name.replace('-', '_')}_name"
                       f"({camel(name)} code) {{")
            out.append("  switch (code) {")
            out += [f'    case {camel(name)}::{camel(case)}: return "{case}";' for case, _ in cases]
            out.append('  }\n  return "unknown";\n}\n')
        if not interface.functions:
            continue
        out.append(f"namespace {interface.spelled} {{")
        for function in interface.functions:
            out += [f"// {line}".rstrip() for line in function.documentation.meaning]
            out.append(f'QUIRE_IMPORT("{interface.module}", "{function.name}")')
            out.append(f"{result_type(function)} {function.bound}({guest_parameters(function)});")
        out.append(f"}}  // namespace {interface.spelled}\n")
    out.append("}  // namespace quire::abi\n")
    return "\n".join(out)


def table(interfaces):
    out = [HEADER + """\
// QUIRE_HOST_CALL(interface, name, module, import, signature, result, (parameters), kind), and
// QUIRE_SUSPENDING_CALL with the same arguments for the call that parks its guest.
// Signature: a letter for each Wasm parameter, ">", the result; i = i32, I = i64, f = f32, F = f64.
// Kind: Device where the work is the device's, else Control.
"""]
    for interface in interfaces:
        for function in interface.functions:
            suspends = (interface.name, function.name) in SUSPENDING
            out.append(f"{'QUIRE_SUSPENDING_CALL' if suspends else 'QUIRE_HOST_CALL'}("
                       f'{interface.spelled}, {function.spelled}, "{interface.module}", '
                       f'"{function.name}", "{function.signature()}", {result_type(function)}, '
                       f"({host_parameters(function)}), "
                       f"{'Device' if function.documentation.cost == 'device' else 'Control'})")
    return "\n".join(out) + "\n"


def frozen_calls(interfaces):
    return [f"{interface.module} {function.name} {function.signature()}"
            for interface in interfaces if interface.name not in PROVISIONAL
            for function in interface.functions]


def check_frozen(root, interfaces, freezes):
    """A program built once runs for good: calls of a version are added, never changed or removed."""
    path = root / FROZEN
    before = path.read_text().splitlines() if path.exists() else []
    now = frozen_calls(interfaces)
    changed = [line for line in before if line not in now]
    for line in changed:
        print(f"{FROZEN}: {line}: programs were built against this call, and interface/*.wit has "
              "it no more; give the changed interface a version of its own", file=sys.stderr)
    new = [line for line in now if line not in before]
    if new and freezes and not changed:
        path.write_text("\n".join(sorted(before + new)) + "\n")
        print(f"wrote {FROZEN}")
    elif new:
        print(f"{FROZEN}: lacks {new[0]}; run tools/generate_interface.py --freeze", file=sys.stderr)
    return not changed and (freezes or not new)


def check_records(root, interfaces):
    """Every call that gives a future has its record, and no other call has one."""
    path = root / RECORDS
    lines = path.read_text().splitlines() if path.exists() else []
    recorded = {line.partition(":")[0] for line in lines if line and line[0] not in "# "}
    futures = {f"{interface.name}.{function.name}"
               for interface in interfaces if interface.name not in PROVISIONAL
               for function in interface.functions if function.result == "future"}
    for call in sorted(futures - recorded):
        print(f"{RECORDS}: lacks {call}, which gives a future; write down what its result looks like",
              file=sys.stderr)
    for call in sorted(recorded - futures):
        print(f"{RECORDS}: {call} is no call that gives a future", file=sys.stderr)
    return futures == recorded


def check_documented(interfaces):
    """Every call says what it means and what it costs, and shows how it is made."""
    for interface in interfaces:
        for function in interface.functions:
            if not function.documentation.meaning:
                raise WitError(f"{interface.name}.{function.name}: no comment above it says what it is")
            cost = function.documentation.cost
            if cost not in COSTS:
                raise WitError(f"{interface.name}.{function.name}: "
                               + ("no `Cost:` line" if cost is None else f"unknown cost {cost!r}")
                               + f" above it; one of {', '.join(COSTS)}")
            lines = len(function.documentation.example)
            if not 0 < lines <= EXAMPLE_LINES_MAX:
                raise WitError(f"{interface.name}.{function.name}: an `Example:` of {lines} lines "
                               f"above it; 1 to {EXAMPLE_LINES_MAX} show how it is made")


def error_codes(interfaces):
    cases = next(each.enums["error-code"] for each in interfaces if each.name == "types")
    out = [HEADER + "// QUIRE_ERROR_CODE(name, number, spelling): the numbers that guests see.\n"]
    out += [f'QUIRE_ERROR_CODE({camel(case)}, {value}, "{case}")'
            for case, value in cases if value > 0]
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--freeze", action="store_true")
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parent.parent)
    options = parser.parse_args()
    root = pathlib.Path(options.root)
    try:
        interfaces = parse(root / "interface")
        check_documented(interfaces)
    except WitError as error:
        print(error, file=sys.stderr)
        return 1
    failed = (options.check or options.freeze) and not check_frozen(root, interfaces,
                                                                     options.freeze)
    if options.check and not check_records(root, interfaces):
        failed = True
    for name, text in ((BINDINGS, bindings(interfaces)), (TABLE, table(interfaces)),
                       (ERRORS, error_codes(interfaces))):
        path = root / name
        if path.exists() and path.read_text() == text:
            continue
        if options.check:
            print(f"{name}: differs from interface/*.wit; run tools/generate_interface.py",
                  file=sys.stderr)
            failed = True
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"wrote {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
