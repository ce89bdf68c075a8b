#!/usr/bin/env python3
"""Writes docs/reference/conformance.md: what is tested of each call of interface/*.wit.

    generate_conformance.py BUILD           runs the programs of tests/conformance, writes the page
    generate_conformance.py BUILD --check   fails where a program does, where a call is not tested,
                                            or where the checked-in page differs

The table is what the programs noted as they ran. No part of it is written by hand.
"""
import pathlib
import re
import sys

import generate_interface as interface_files
import generate_reference as reference

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "conformance"))
import programs  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "conformance.md"
# Traits that no model has yet: that a call says so is all there is to test.
ABSENT = {"input-image"}
TEXT = """\
<!-- Written by tools/generate_conformance.py from what tests/conformance noted. Do not edit. -->

# What is tested of each call

A program for each interface ([tests/conformance](../../tests/conformance/README.md)) makes every call of it,
in Wasm and over `quire run`, or `quire serve` for the calls of `serve`: as it is meant, with every argument
wrong in every way that its type allows, and so that it gives its own errors. This table is what the programs
saw, and the pages of the calls list it. In the last column are errors that the page of the call names and no
program of these brings about, most because they need more than one (a full server, a bad disk, a second
model): unit tests and the simulation do. An error that a program sees and no text explains fails the test
that compares this page.
"""


def documented(function, codes):
    return reference.named_errors(function.documentation.meaning, codes)


def names(outcomes):
    return ", ".join(f"`{each}`" for each in sorted(outcomes))


def page(interfaces, tested, codes):
    out = TEXT
    for interface in interfaces:
        if not interface.functions:
            continue
        out += (f"\n## {interface.name}\n\n| call | tested success | tested errors | named, not tested"
                " here |\n|---|---|---|---|\n")
        for function in interface.functions:
            seen = tested.get(f"{interface.name}.{function.name}", set())
            out += (f"| [{function.name}]({interface.name}.md#{function.name}) "
                    f"| {'yes' if 'ok' in seen else 'no model has it'} | {names(seen - {'ok'})} "
                    f"| {names(documented(function, codes) - seen)} |\n")
    return out


def untested(interfaces, tested, codes):
    """Returns what the programs leave out, a line each."""
    known = {f"{interface.name}.{function.name}" for interface in interfaces
             for function in interface.functions}
    lines = [f"{call}: a program tests it, and interface/*.wit has it not"
             for call in sorted(set(tested) - known)]
    of_all = {name: reference.named_errors(reference.preamble(text), codes) | set(reference.ERRORS)
              for name, text in reference.interface_texts()}
    for interface in interfaces:
        for function in interface.functions:
            call = f"{interface.name}.{function.name}"
            seen = tested.get(call, set())
            wanted = "not-supported" if interface.name in ABSENT else "ok"
            if wanted not in seen:
                lines.append(f"{call}: no program of tests/conformance sees {wanted}")
            lines += [f"{call}: a program sees {error}, and neither its comment nor its interface's in interface/*.wit"
                      f" says when that comes, nor does ERRORS of tools/generate_reference.py"
                      for error in sorted(seen - {"ok"} - documented(function, codes) - of_all[interface.name])]
            can_fail = function.parameters or documented(function, codes)
            if can_fail and not seen - {"ok"}:
                lines.append(f"{call}: no program of tests/conformance sees an error of it")
    return lines


def main(build, check):
    interfaces = interface_files.parse(ROOT / "interface")
    codes = reference.error_codes(interfaces)
    tested, wrong = programs.outcomes(build)
    wrong += untested(interfaces, tested, codes)
    text = page(interfaces, tested, codes)
    print("\n".join(wrong) or f"conformance: {len(tested)} calls, "
          f"{sum(len(each) for each in tested.values())} outcomes")
    if check and (not PAGE.exists() or PAGE.read_text() != text):
        print(f"{PAGE.relative_to(ROOT)} is not what the programs saw; run {sys.argv[0]} {build}")
        return False
    if not check and not wrong:
        PAGE.write_text(text)
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return not wrong


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(0 if main(pathlib.Path(sys.argv[1]).resolve(), "--check" in sys.argv[2:]) else 1)
