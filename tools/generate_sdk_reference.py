#!/usr/bin/env python3
"""Writes docs/reference/sdk/*.md, a page for each header of the SDK, from the header itself.

    generate_sdk_reference.py           writes the pages
    generate_sdk_reference.py --check   fails when a checked-in page differs from what would be written

A page has the comment at the head of the header, and what a program can use of it: declarations with their comments,
without bodies, private members and the namespace `detail`.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from generate_reference import write_pages

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = [ROOT / "sdk" / "cpp" / "include" / "quire", ROOT / "draw" / "include" / "quire"]
FOLDER = ROOT / "docs" / "reference" / "sdk"
NOTE = "<!-- Written by tools/generate_sdk_reference.py from {name}. Do not edit. -->\n\n"
# Headers without a page. Calls have pages of their own. The rest are parts of other headers, and
# words to the compiler.
INNER = {"annotations.h", "bindings.h", "conversation_note.h", "handle.h", "placed.h", "quire.h", "return_places.h",
         "support.h"}
LABEL = re.compile(r"^(Owns|Thread|Threads|Errors|Invariants?|Source)\s{2,}(.*)$")
TYPE = re.compile(r"\b(?:class|struct|union|enum)\b")
DROPPED = ("friend ", "static_assert", "template <>", "extern ")


def skip_text(text, at):
    """Returns the end of the string, character or comment at `at`, or `at` if there is none."""
    if text.startswith("//", at):
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    if text.startswith("/*", at):
        return text.index("*/", at) + 2
    raw = re.compile(r'R"([^(]*)\(').match(text, at)
    if raw:
        return text.index(f"){raw.group(1)}\"", at) + len(raw.group(1)) + 2
    if text[at] == '"' or (text[at] == "'" and not text[at - 1].isalnum()):
        end = at + 1
        while text[end] != text[at]:
            end += 2 if text[end] == "\\" else 1
        return end + 1
    return at


def closing(text, at):
    """The place of the bracket that closes the one at `at`."""
    depth = 0
    while at < len(text):
        after = skip_text(text, at)
        if after != at:
            at = after
            continue
        depth += (text[at] in "({[") - (text[at] in ")}]")
        if depth == 0:
            return at
        at += 1
    raise ValueError("a bracket is not closed")


def statement_end(text, at):
    """Returns the end of the statement at `at`, and the place of the brace of its body or None."""
    brace, is_value, start = None, False, at
    parameters = re.compile(r"template\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>").match(text, at)
    if parameters:
        at = parameters.end()
    while at < len(text):
        after = skip_text(text, at)
        if after != at:
            at = after
        elif text[at] == "=" and "operator" not in text[start:at]:
            at, is_value = at + 1, True
        elif text[at] == ";":
            return at + 1, brace
        elif text[at] in "([":
            at = closing(text, at) + 1
        elif text[at] == "{":
            brace = at
            at = closing(text, at) + 1
            # A body of a function ends its statement; a type's, and a value's, are followed by more.
            if not is_value and not text[at:].lstrip().startswith((";", ",", "{")):
                return at, brace
        else:
            at += 1
    return at, brace


def statements(text):
    """(comment lines, statement, place of its body or None, comment after it), in order."""
    at, comment = 0, []
    while True:
        blank = re.compile(r"\s*").match(text, at)
        if "\n\n" in blank.group():
            if comment:
                yield comment, "", None, ""
            comment = []
        at = blank.end()
        if at >= len(text):
            return
        if text.startswith("//", at):
            end = skip_text(text, at)
            comment.append(text[at:end])
            at = end
            continue
        if text[at] == "#":
            end = at
            while text[end : end + 1] and not (text[end] == "\n" and text[end - 1] != "\\"):
                end += 1
            yield comment, text[at:end], None, ""
            comment, at = [], end
            continue
        access = re.compile(r"(public|private|protected):").match(text, at)
        end, brace = (access.end(), None) if access else statement_end(text, at)
        behind = re.compile(r"[ \t]*(//[^\n]*(?:\n[ \t]{20,}//[^\n]*)*)").match(text, end)
        said = re.sub(r"\s*\n\s*//", "", behind.group(1)) if behind else ""
        yield comment, text[at:end], None if brace is None else brace - at, said
        comment, at = [], behind.end() if behind else end


def without_words_to_the_compiler(text):
    text = re.sub(r"\s*\bQUIRE_LIFETIME_BOUND\b", "", text)
    text = re.sub(r"\s*\bQUIRE_DELETE\(", " = delete(", text)
    text = re.sub(r"\s*\[\[[^\]]*\]\]", lambda match: " " if match.group()[0].isspace() else "", text)
    return re.sub(r"\s*\bQUIRE_WARN_IF\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "", text).strip()


def without_initializers(head):
    """The head of a constructor, without ` : member_(value)`."""
    depth = 0
    for at, each in enumerate(head):
        depth += (each in "(<[") - (each in ")]" or (each == ">" and head[at - 1] != "-"))
        if each == ":" and depth == 0 and head[at - 1] != ":" and head[at + 1 : at + 2] != ":" and at and "(" in head[:at]:
            return head[:at]
    return head


def function(statement, brace):
    return without_words_to_the_compiler(without_initializers(statement[:brace])) + ";"


def is_type(head):
    bare = re.sub(r"template\s*<[^{]*?>\s*(?=class|struct|union|enum|requires)", "", head)
    return bool(TYPE.match(bare.lstrip())) and "(" not in re.sub(r"\[\[.*?\]\]", "", bare).split("requires")[0]


def lines_of(text, indent):
    return [indent + line.rstrip() for line in text.split("\n")]


def type_lines(statement, brace, indent):
    head = without_words_to_the_compiler(statement[:brace])
    if head.startswith("template"):
        parameters, head = re.match(r"(template\s*<.*?>)\s*((?:class|struct|union|requires).*)", head, re.S).groups()
        head = parameters + "\n" + re.sub(r"\s+", " ", head)
    else:
        head = re.sub(r"\s+", " ", head)
    # Members stand two columns further to the right than their type.
    body = re.sub(r"^ {1,2}", "", statement[brace + 1 : closing(statement, brace)], flags=re.M)
    if re.match(r"enum\b", head):
        inner = [indent + "  " + line.strip() for line in body.strip().split("\n")]
    else:
        inner = member_lines(body, indent + "  ", is_public=not re.search(r"\bclass\b", head))
    if not inner:
        return lines_of(head + " {};", indent)
    return lines_of(head + " {", indent) + inner + [indent + "};"]


def member_lines(body, indent, is_public):
    """Returns the lines of a type or a namespace that a program can use."""
    out, was_body = [], False
    for comment, statement, brace, said in statements(body):
        if re.fullmatch(r"(public|private|protected):", statement):
            is_public = statement == "public:"
            continue
        if not is_public:
            continue
        lines = statement_lines(statement, brace, indent)
        if statement and not lines:
            continue
        if said:
            lines[-1] += "  " + said
        has_body = brace is not None and len(lines) > 1 and is_type(statement[:brace])
        if (comment or has_body or was_body) and out and out[-1]:
            out.append("")
        was_body = has_body
        out += [indent + line for line in comment] + lines
    return out


def statement_lines(statement, brace, indent):
    if not statement or statement.startswith(DROPPED) or statement == ";":
        return []
    if statement.startswith("#"):
        macro = re.match(r"#define (QUIRE_\w+_?MAIN\w*(?:\([^)]*\))?)", statement)
        return [indent + f"#define {macro.group(1)}"] if macro else []
    if brace is None:
        return lines_of(without_words_to_the_compiler(statement), indent)
    head = statement[:brace]
    if head.startswith(("namespace detail", "namespace {")):
        return []
    if head.startswith("namespace"):
        inner = member_lines(statement[brace + 1 : closing(statement, brace)], indent, True)
        if head.startswith("namespace quire {") or not inner:
            return inner
        return [f"{indent}{head.strip()} {{", ""] + inner + ["", f"{indent}}}"]
    if re.search(r"\bstruct std::", head):
        return []
    if is_type(head):
        return type_lines(statement, brace, indent)
    if statement.endswith(";"):  # A value.
        text = without_words_to_the_compiler(statement)
        if "\n" in text and "{" in text:
            text = text[: text.index("{")] + "{...};"
        return lines_of(text, indent)
    if "operator" not in head and re.search(r"\w+_$|::", head.split("(")[0].split()[-1]):
        return []  # A member that is defined outside its class is declared there.
    return lines_of(function(statement, brace), indent)


def blocks_of(comment):
    """The lines of a comment between its empty lines."""
    block = []
    for line in [*comment, "//"]:
        text = line.removeprefix("//").removeprefix(" ").rstrip()
        if text:
            block.append(text)
        elif block:
            yield block
            block = []


def prose(comment):
    """The comment at the head of a header as Markdown: what is indented is code, or a table of words."""
    out, was_code = [], False
    for block in blocks_of(comment):
        is_code = all(line.startswith("  ") for line in block)
        is_table = sum(bool(re.search(r"\S {3,}\S", line)) for line in block) > 1
        if is_table and not any(LABEL.match(line) for line in block):
            out += ["", "```text", *block, "```"]
            is_code = False
        elif is_code:
            code = [line[2:] for line in block]
            if was_code:
                out[-1:] = ["", *code, "```"]
            else:
                out += ["", "```cpp", *code, "```"]
        else:
            out.append("")
            for line in block:
                label = LABEL.match(line)
                if label:
                    out += ["", f"**{label.group(1)}**: {label.group(2)}"]
                elif out[-1].startswith("**"):
                    out[-1] += " " + line.strip()
                else:
                    out.append(line.strip())
        was_code = is_code
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip() + "\n"


def parts_of(path):
    text = path.read_text().removeprefix("#pragma once\n")
    comment = []
    for line in text.split("\n"):
        if not line.startswith("//"):
            break
        comment.append(line)
    rest = "\n".join(text.split("\n")[len(comment) :])
    body = [line.rstrip() for line in member_lines(rest, "", True)]
    return comment, re.sub(r"\n{3,}", "\n\n", "\n".join(body)).strip()


def page(path):
    comment, body = parts_of(path)
    out = NOTE.format(name=path.relative_to(ROOT).as_posix()) + f"# {path.name}\n\n{prose(comment)}"
    return out + (f"\n## Declarations\n\n```cpp\n{body}\n```\n" if body else "")


def summary(path):
    """The first sentence of a header."""
    text = " ".join(line.strip() for line in next(blocks_of(parts_of(path)[0])))
    return re.split(r"(?<=[a-z)>])\.(?: |$)", text)[0].strip().rstrip(":")


def index(paths):
    out = NOTE.format(name="sdk/cpp/include/quire/*.h and draw/include/quire/*.h") + "# The SDK of C++, by header\n\n"
    out += "`#include \"quire/quire.h\"` has all of it. [The SDK's own page](../../../sdk/cpp/README.md) says how the parts belong"
    out += " together, [the cookbook](../../guide/cookbook.md) has programs, and [the calls of the host](../README.md) are what"
    out += " it is made of.\n\n| header | what it is |\n|---|---|\n"
    return out + "".join(f"| [{path.name}]({path.stem}.md) | {summary(path)} |\n" for path in paths)


def main(check):
    paths = [path for folder in HEADERS for path in folder.glob("*.h") if path.name not in INNER]
    paths.sort(key=lambda path: path.name)
    wanted = {FOLDER / f"{path.stem}.md": page(path) for path in paths}
    wanted[FOLDER / "README.md"] = index(paths)
    return write_pages(FOLDER, wanted, NOTE.partition("from")[0], check, "the headers of the SDK say")


if __name__ == "__main__":
    sys.exit(0 if main("--check" in sys.argv[1:]) else 1)
