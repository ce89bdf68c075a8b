#!/usr/bin/env python3
"""Writes docs/reference/*.md, a page for each interface of interface/*.wit.

    generate_reference.py           writes the pages
    generate_reference.py --check   fails when a checked-in page differs from what would be written
    generate_reference.py --examples FILE.h
                                    writes the examples of all calls as functions, to be compiled and run

The text of a call on its page is the comment above it in the WIT, so there is one text to keep
true. The page also lists the errors that tests saw of the call, as docs/reference/conformance.md
has them.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import language_table
from generate_interface import COSTS, Documentation, comment_text, parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"
TESTED = "conformance.md"  # tools/generate_conformance.py writes it.
ROUTES = "routes.md"  # tests/access/routes_test.py writes it.
BY_HAND = {"openai.md": "OpenAI", "anthropic.md": "Anthropic", "gemini.md": "Gemini"}  # Interfaces for clients, not for programs.
NOTE = "<!-- Written by tools/generate_reference.py from interface/{name}.wit. Do not edit. -->\n\n"
FUNCTION = re.compile(r"^(%?[a-z][a-z0-9-]*): (func\(.*\) -> .*);$")
# Types that stand for more than their number. interface/README.md says how each is lowered.
TYPES = (
    "`handle` and `future` are s32, `address` is where the host writes in the program's memory. Every "
    "call returns a value or handle >= 0, or minus an error code; a `future` is waited for and taken "
    "with the calls of [future](future.md)."
)

# The parameters that all examples have.
GIVEN = (
    "const Model& model",
    "const Queue& queue",
    "Context& context",
    "KvPages& pages",
    "Embeds& inputs",
    "Embeds& outputs",
    "const std::vector<std::uint32_t>& tokens",
    "const std::vector<std::uint32_t>& positions",
    "Drawer& drawer",
    "const Child& child",
    "const http::Exchange& exchange",
    "std::string_view image",
    "std::int32_t grammar",
    "std::int32_t matcher",
    "std::int32_t rule",
    "std::int32_t generation",
)


def examples(interfaces):
    """A function for each example, and a table of them."""
    out = "// Written by tools/generate_reference.py: the examples of docs/reference.\n#pragma once\n"
    rows = ""
    out += "#include <array>\n#include <optional>\n\n#include \"quire/quire.h\"\n\n"
    out += "using namespace quire;\n\n#pragma clang diagnostic ignored \"-Wunused\"\n"
    out += "#pragma clang diagnostic ignored \"-Wunused-parameter\"\n\nvoid use(const auto&...) {}\n"
    for interface in interfaces:
        for function in interface.functions:
            out += f"\nTask<> {interface.spelled}_{function.spelled}_example(\n    "
            out += ", ".join(GIVEN) + ") {\n"
            out += f"#line 1 \"{interface.name}.{function.name}\"\n"
            out += "".join(f"  {line}\n" for line in function.documentation.example)
            out += "  co_return;\n}\n"
            rows += f'    {{"{interface.name}.{function.name}", &{interface.spelled}_{function.spelled}_example}},\n'
    out += "\nstruct CallExample {\n  const char* name;\n  decltype(&runtime_log_example) run;\n};\n"
    return out + "constexpr CallExample kCallExamples[] = {\n" + rows + "};\n"


# The classes of a `Cost:` line: who does the work, when the answer comes, and what it takes.
CLASSES = {
    "control": "the call itself, from the program's own tables | at once | under 0.05 us",
    "engine": "the control layer, in the same turn of its loop | at once, or by a future that needs no "
    "step of the device | the call and the turn",
    "device": "the device, with all that is ready for it | behind the batch that it joins | under 3 us "
    "to the device, under 5 us there and back, and the step",
    "helper": "a thread for what would hold the engine for over 100 us | by a future | grows with the "
    "text or the tokens",
    "disk": "the disk thread, in turn with other programs | by a future, when it is synced where "
    "something changes | a read, or a write and a sync",
    "network": "the net thread, with the peer | by a future | the way there and back",
    "wait": "nobody | when what is waited for happens, or the time has come | a future until then",
}


def costs():
    assert tuple(CLASSES) == COSTS
    out = "\n## What a call costs\n\nEach call names one of these. Its arguments are copied besides, and a"
    out += " result when it is taken. The figures are those of [the benchmarks](../benchmarks/README.md#what-a-call-costs-a-program),"
    out += " which tell the machine too.\n\n| cost | who does the work | when the answer comes | what it takes |\n"
    return out + "|---|---|---|---|\n" + "".join(f"| {name} | {row} |\n" for name, row in CLASSES.items())


# Any call that takes such an argument has these errors, so the text of a call does not repeat them.
ERRORS = {
    "out-of-range": "bytes that are not all inside the program's memory, whatever the length; a token that is not "
    "in the vocabulary; a position, index or count beyond what there is, as positions are beyond the context length "
    "of the model where a context does not allow them, or its memory has no free slot",
    "invalid-argument": "text that is not UTF-8, flags that do not exist, a number that is not finite, a "
    "handle named twice where it may be once; a value that stands for nothing (a level, a priority, a hint, a time "
    "below 0); lists whose lengths do not fit one another, a mask of another size; an embedding that nobody wrote",
    "not-found": "a handle that was never given out, was dropped, or is of another kind",
    "too-large": "a list, text or message longer than any may be; nothing of it is read",
    "quota-exceeded": "a limit of the program or of its tenant, which the message names",
    "not-supported": "a call of a trait that the model lacks; a part that the server runs without",
    "no-free-page": "what is to be computed needs a page, and none came free in the time that the server waits",
    "unavailable": "a context that a generation extends and that only it may change (`draw.generate`)",
    "cancelled": "the result of a future whose work was given up with what it was for",
}


def errors():
    out = "\n## Errors of any call\n\nA page lists the errors of each call, and says when its own come. These come wherever a call"
    out += " takes such an argument; the message (`runtime.last-error`) says which, and how much is allowed.\n\n| error | what was"
    out += " wrong |\n|---|---|\n"
    return out + "".join(f"| `{name}` | {row} |\n" for name, row in ERRORS.items())


def error_codes(interfaces):
    return {case for each in interfaces for case, _ in each.enums.get("error-code", [])} - {"ok"}


def tested_errors():
    """Returns the errors that docs/reference/conformance.md has of each call, "interface.call"."""
    rows = re.findall(r"^\| \[([a-z-]+)\]\(([a-z-]+)\.md#\S+\) \| [^|]* \| ([^|]*) \|",
                      (FOLDER / TESTED).read_text(), re.M)
    return {f"{interface}.{call}": set(re.findall(r"`([a-z-]+)`", errors)) for call, interface, errors in rows}


def named_errors(comment, codes):
    """Returns the codes that the lines of a comment name."""
    return {each for each in re.findall(r"`([a-z-]+)`", " ".join(comment)) if each in codes}


def preamble(text):
    """Returns the comment lines of an interface that belong to no call."""
    return [line for comment, call in blocks_of(text) if call is None for line in comment]


def interface_texts():
    """The name and text of each interface, in the order of the files."""
    for path in sorted((ROOT / "interface").glob("*.wit")):
        for match in re.finditer(r"^interface ([a-z-]+) \{.*?^\}", path.read_text(), re.M | re.S):
            yield match.group(1), match.group()


def given():
    names = ", ".join(f"`{each.split()[-1]}`" for each in GIVEN)
    out = "\n## Examples\n\nEach is a part of a coroutine that returns `Task<>`, with `using namespace quire`, where a"
    out += f" program has what the names say: {names}; `use` stands for what it does with a value. The SDK has"
    out += " no words for calls that no model has yet: their examples make them as they are (`quire::abi`). A test compiles and runs all.\n"
    return out


def blocks_of(text):
    """The body of an interface as (comment, function or None), in order."""
    body = text[text.index("{", text.index("interface ")) + 1 : text.rindex("}")]
    comment, blocks = [], []
    for line in body.splitlines():
        line = line.strip()
        if line.startswith("//"):
            comment.append(comment_text(line))
            continue
        match = FUNCTION.match(line)
        if match:
            blocks.append((comment, (match.group(1).lstrip("%"), match.group(2))))
            comment = []
        elif not line and comment:
            blocks.append((comment, None))
            comment = []
    return blocks


def paragraphs(comment):
    """Comment lines as Markdown paragraphs; an empty comment line parts them."""
    text = "\n".join(comment).strip()
    return re.sub(r"\n{2,}", "\n\n", text) + "\n" if text else ""


def page(name, text, tested, codes):
    out = NOTE.format(name=name) + f"# {name}\n\nImport module `quire:core/{name}@1`. {TYPES}\n"
    blocks = blocks_of(text)
    functions = [call for _, call in blocks if call]
    out += "\n" + ", ".join(f"[{call}](#{call})" for call, _ in functions) + "\n"
    for comment, call in blocks:
        if call is None:
            out += "\n" + paragraphs(comment)
            continue
        out += f"\n## {call[0]}\n\n```wit\n{call[0]}: {call[1]}\n```\n"
        documentation = Documentation(comment)
        if documentation.meaning:
            out += "\n" + paragraphs(documentation.meaning)
        errors_of_it = sorted(tested.get(f"{name}.{call[0]}", set()) | named_errors(documentation.meaning, codes))
        if errors_of_it:
            out += "\n[Errors](README.md#errors-of-any-call): " + ", ".join(f"`{each}`" for each in errors_of_it) + ".\n"
        words = f"; {documentation.cost_words}" if documentation.cost_words else ""
        out += f"\nCost: [{documentation.cost}](README.md#what-a-call-costs){words.removesuffix('.')}.\n"
        if documentation.example:
            out += "\n```cpp\n" + "\n".join(documentation.example) + "\n```\n"
    return out


def index(pages):
    out = NOTE.format(name="*") + "# Calls of programs\n\nWhat a program can ask of the server. C++ programs"
    out += " use the [SDK](../../sdk/cpp/README.md), which wraps every call that a model has ([its headers](sdk/README.md)).\n"
    out += f"[What is tested of each]({TESTED}) is a table of its own, and so is [each call in all languages](languages.md).\n\n"
    out += "What clients can ask of the server by HTTP is elsewhere: the interfaces of "
    links = [f"[{name}]({path})" for path, name in BY_HAND.items()]
    out += ", ".join(links[:-1]) + f" and {links[-1]}"
    out += f", and [who may use which route]({ROUTES}).\n\n"
    for name, count in pages:
        out += f"- [{name}]({name}.md): {count} call{'s' * (count != 1)}\n"
    return out + costs() + errors() + given()


def write_examples(path):
    path.write_text(examples(parse(ROOT / "interface")))
    return True


def write_pages(folder, wanted, note, check, source):
    """Makes `wanted`, a text for each path, the pages of the folder that begin with `note`; with `check` says what differs."""
    stale = [path for path in folder.glob("*.md") if path not in wanted and path.read_text().startswith(note)]
    changed = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    if check:
        for path in changed + stale:
            print(f"{path.relative_to(ROOT)} is not what {source}; run {sys.argv[0]}")
        return not changed and not stale
    folder.mkdir(parents=True, exist_ok=True)
    for path in changed:
        path.write_text(wanted[path])
        print(f"wrote {path.relative_to(ROOT)}")
    for path in stale:
        path.unlink()
        print(f"removed {path.relative_to(ROOT)}")
    return True


def main(check):
    wanted, counts = {}, []
    tested, codes = tested_errors(), error_codes(parse(ROOT / "interface"))
    for name, text in interface_texts():
        count = sum(1 for _, call in blocks_of(text) if call)
        if count == 0:
            continue
        wanted[FOLDER / f"{name}.md"] = page(name, text, tested, codes)
        counts.append((name, count))
    wanted[FOLDER / "README.md"] = index(sorted(counts))
    try:
        wanted[FOLDER / "languages.md"] = language_table.page(parse(ROOT / "interface"))
    except language_table.TableError as error:
        print(error)
        return False
    return write_pages(FOLDER, wanted, NOTE.partition("from")[0], check, "interface/*.wit says")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--examples"] and len(sys.argv) == 3:
        sys.exit(0 if write_examples(pathlib.Path(sys.argv[2])) else 1)
    sys.exit(0 if main("--check" in sys.argv[1:]) else 1)
