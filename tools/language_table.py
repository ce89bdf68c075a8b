"""Each call of interface/*.wit in all languages, for docs/reference/languages.md (tools/generate_reference.py).

The raw call follows from the WIT. What the high level of an SDK says, sdk/operations.txt holds by hand: a row for each
call, and no other; and each word of a row is one of the SDK's sources.
"""
import pathlib
import re

import interface_javascript
import interface_rust

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPERATIONS = ROOT / "sdk" / "operations.txt"
LANGUAGES = ("C++", "Rust", "JavaScript")
WRITTEN = ("bindings.h", "raw.rs")  # Of the WIT: the raw calls themselves.
SOURCES = {"C++": ("sdk/cpp/include/quire/*.h", "draw/include/quire/*.h"), "Rust": ("sdk/rust/src/**/*.rs",),
           "JavaScript": ("sdk/javascript/quire.d.ts",)}
# Words of the language itself.
BUILT_IN = {"C++": {"std", "move"}, "Rust": {"await", "drop"}, "JavaScript": set()}
WORD = re.compile(r"([A-Za-z_]\w*)(?=\(|::)|(?<=[.:])([A-Za-z_]\w*)")


class TableError(Exception):
    pass


def rows_of(text):
    """CALL to the cells of LANGUAGES; an error names the line."""
    rows = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        call, *cells = line.split(" | ")
        if len(cells) != len(LANGUAGES) or not all(cells):
            raise TableError(f"sdk/operations.txt:{number}: {call} needs a cell for each of {', '.join(LANGUAGES)}")
        if call in rows:
            raise TableError(f"sdk/operations.txt:{number}: {call} has a row already")
        rows[call] = cells
    return rows


def check_complete(rows, interfaces):
    calls = {f"{each.name}.{function.name}" for each in interfaces for function in each.functions}
    for call in sorted(calls - rows.keys()):
        raise TableError(f"sdk/operations.txt lacks a row for {call}: CALL | {' | '.join(LANGUAGES)} (\"-\" where there is no word)")
    for call in sorted(rows.keys() - calls):
        raise TableError(f"sdk/operations.txt: {call} is no call of interface/*.wit")


def words_of(cell):
    """The names that a cell takes from an SDK."""
    code = " ".join(re.findall(r"`([^`]*)`", cell)) if cell.startswith("(") else cell
    return {name for pair in WORD.findall(code) for name in pair if name}


def source_of(language):
    paths = (path for pattern in SOURCES[language] for path in sorted(ROOT.glob(pattern)))
    return "\n".join(path.read_text() for path in paths if path.name not in WRITTEN)


def check_words(rows):
    for at, language in enumerate(LANGUAGES):
        known = set(re.findall(r"[A-Za-z_]\w*", source_of(language))) | BUILT_IN[language]
        for call, cells in rows.items():
            for word in sorted(words_of(cells[at]) - known):
                raise TableError(f"sdk/operations.txt: {call}: the SDK of {language} has no {word}")


def check_used(rows, interfaces):
    """The SDK of JavaScript is made of the C++ one, and makes no call by itself."""
    for at, language in enumerate(LANGUAGES[:2]):
        source = source_of(language)
        for interface in interfaces:
            for function in interface.functions:
                call, raw = f"{interface.name}.{function.name}", raw_calls(interface, function)[at]
                if rows[call][at] == "-" and re.search(rf"{re.escape(raw)}\b", source):
                    raise TableError(f"sdk/operations.txt: {call}: the SDK of {language} makes the call, and the row has no word for it")


def shown(cell, raw):
    if cell == "-":
        return f"`{raw}`"
    return f"{cell[1:-1]}<br>`{raw}`" if cell.startswith("(") else f"`{cell}`<br>`{raw}`"


def raw_calls(interface, function):
    javascript = interface_javascript.Call(interface, function).name()
    return (f"abi::{interface.spelled}::{function.bound}",
            f"raw::{interface_rust.spelled(interface.name)}::{interface_rust.spelled(function.name)}", f"raw.{javascript}")


def page(interfaces, text=None):
    """The page; TableError where the rows are not those of the interface, or a word is not the SDK's."""
    rows = rows_of(OPERATIONS.read_text() if text is None else text)
    check_complete(rows, interfaces)
    check_words(rows)
    check_used(rows, interfaces)
    out = "<!-- Written by tools/generate_reference.py from interface/*.wit and sdk/operations.txt. Do not edit. -->\n\n"
    out += "# Each call in all languages\n\nIn each cell the word of the SDK comes first, where it has one, and the raw call below it, which"
    out += " every language has. The raw calls are `quire::abi` in C++, `quire::raw` in Rust (`unsafe`) and the module"
    out += " `\"quire/raw\"` in JavaScript and TypeScript; [interface/](../../interface/README.md) says how their arguments are passed."
    out += " C++ says `co_await` and Rust `.await` of what gives a task or future, JavaScript `await`.\n"
    for interface in sorted(interfaces, key=lambda each: each.name):
        if not interface.functions:
            continue
        out += f"\n## {interface.name}\n\n| call | C++ | Rust | JavaScript, TypeScript |\n|---|---|---|---|\n"
        for function in interface.functions:
            cells = zip(rows[f"{interface.name}.{function.name}"], raw_calls(interface, function))
            out += f"| [{function.name}]({interface.name}.md#{function.name}) | "
            out += " | ".join(shown(*each) for each in cells) + " |\n"
    return out
