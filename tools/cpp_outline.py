"""Reads the outline of a C++ file: its classes with their data members, and its functions with their lines.

It is not a compiler. It drops comments, texts and preprocessor lines, and looks at what stands
before each brace. That is enough for code that clang-format has laid out.
"""
import bisect
import re

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<!\w)\'(?:[^\'\\\n]|\\.)+\''
                   r'|^[ \t]*\#(?:[^\n\\]|\\\n|\\.)*', re.S | re.M)
LABEL = re.compile(r"\b(?:public|private|protected)\s*:(?!:)")
TYPE = re.compile(r"(?:typedef |static |constexpr |const |inline )*(class|struct|union)\b")
NO_MEMBER = re.compile(r"(?:using|typedef|friend|static|static_assert|template|enum|class|struct|union|QUIRE_\w+\()\b|^$")
INITIALISERS = re.compile(r"\)\s*(?:noexcept\s*(?:\([^()]*\))?\s*)?:(?!:)")
CALLED = re.compile(r"((?:~?\w+\s*::\s*)*(?:operator\s*(?:\(\)|[^\s(]+)|~?\w+))\s*\(")


class Class:
    """`members` has, for each data member, the name of its type if that is one word, else an empty text."""

    def __init__(self, name, line):
        self.name, self.line, self.members, self.has_functions = name, line, [], False


class Function:
    def __init__(self, name, line, line_count):
        self.name, self.line, self.line_count = name, line, line_count


def without(text, opening, closing):
    """The text without what stands between these brackets, however deep, and without the brackets."""
    out, depth = [], 0
    for at, letter in enumerate(text):
        if letter == opening:
            depth += 1
        elif letter == closing and depth > 0 and text[at - 1] != "-":
            depth -= 1
        elif depth == 0:
            out.append(letter)
    return "".join(out)


def kept_lines(match):
    return ('""' if match[0][0] in "\"'R" else " ") + "\n" * match[0].count("\n")


def plain_head(head):
    """Returns `head`, the text before a brace or a semicolon, without attributes and the like."""
    head = LABEL.sub(" ", head)
    head = re.sub(r"\[\[.*?\]\]|\balignas\s*\([^()]*(?:\([^()]*\)[^()]*)*\)", " ", head, flags=re.S)
    head = re.sub(r"\boperator\s*(?:<=>|<<=?|>>=?|<=?|>=?|->\*?)", "operator_", head)
    head = re.sub(r"(?<=[\w)\s])(?:<<|>=|<=)(?=[\w\s(])", " ", head)
    return " ".join(re.sub(r"^\s*template\b", " ", without(head, "<", ">")).split())


def kind_of(head):
    """Returns what the brace after `head` opens, and its name if it is a class or a function.

    It is a namespace, class, enum, function or value."""
    plain = plain_head(head)
    if re.match(r'(?:inline )?namespace\b|extern ""$', plain):
        return "namespace", ""
    if re.match(r"(?:typedef )?enum\b", plain):
        return "enum", ""
    if plain.count("(") != plain.count(")"):
        return "value", ""
    if TYPE.match(plain) and "(" not in plain and "=" not in plain:
        words = re.sub(r"\bfinal\b", "", plain.split(" : ")[0]).split()
        return "class", words[-1] if words[-1] not in ("class", "struct", "union") else ""
    called = CALLED.search(re.sub(r"\b(?:explicit|noexcept|requires|decltype|__attribute__)\s*\(", "(", plain))
    if called is None or re.search(r"(?<![=<>!+\-*/|&^])=(?!=)", plain.split("operator")[0].split("(")[0]) \
            or re.search(r"(?:=|,|\(|\breturn)$", plain):
        return "value", ""
    if INITIALISERS.search(plain) and re.search(r"[\w>]$", plain):
        return "value", ""
    if called[1].startswith(("TEST", "INSTANTIATE")):
        return "function", re.sub(r"\s", "", plain[called.start(1):])
    return "function", called[1].replace(" ", "")


def members_of(statement):
    """The types of the data members that a statement of a class declares, and whether it declares a function."""
    plain = plain_head(statement.replace("{}", " "))
    plain = re.sub(r"^(?:mutable |inline |constexpr )+", "", plain)
    if plain.startswith("static ") and "(" in plain.split("=")[0]:
        return [], "= default" not in plain
    if NO_MEMBER.match(plain):
        return [], "template" in statement and "(" in plain
    declared = re.sub(r"(?<![=<>!])=(?!=).*", "", plain) if "operator" not in plain else plain
    if "(" in declared:
        if re.search(r"\(\s*\*", declared):
            return [""], False
        return [], not re.search(r"= (?:default|delete)$", plain)
    flat = without(without(plain, "(", ")"), "[", "]")
    plain_type = re.match(r"(?:const )?(?:\w+::)*(\w+) \w+", flat) if "<" not in statement.split("=")[0] else None
    return [plain_type[1] if plain_type else ""] * (1 + flat.count(",")), False


class Outline:
    """`classes` and `functions` of a text."""

    def __init__(self, text):
        self.text = NOISE.sub(kept_lines, text)
        self.classes, self.functions = [], []
        self.lines = [match.start() for match in re.finditer("\n", self.text)]
        self.ends, opened = {}, []
        self.marks = [match.start() for match in re.finditer("[{};]", self.text)]
        for at in self.marks:
            if self.text[at] == "{":
                opened.append(at)
            elif self.text[at] == "}" and opened:
                self.ends[opened.pop()] = at
        self.read(0, len(self.text), None)

    def line_of(self, at):
        return bisect.bisect_left(self.lines, at) + 1

    def first_line(self, begin, end):
        """The line where what stands in [begin, end) begins."""
        head = LABEL.sub(lambda match: " " * len(match[0]), self.text[begin:end])
        return self.line_of(begin + len(head) - len(head.lstrip()))

    def read(self, begin, end, owner):
        """Reads a scope; `owner` is the Class that it is the body of, or None."""
        head, head_begin, piece = "", begin, begin
        index = bisect.bisect_left(self.marks, begin)
        while index < len(self.marks) and self.marks[index] < end:
            at = self.marks[index]
            head += self.text[piece:at]
            after = at + 1
            if self.text[at] == "{":
                after = self.ends.get(at, end) + 1
                if not self.open(head, head_begin, at, owner):
                    head += "{}"
                else:
                    # Text between a type and the semicolon declares a member of the owner.
                    rest = self.text[after:self.text.find(";", after)]
                    is_type = kind_of(head)[0] in ("class", "enum")
                    if owner and is_type and (rest.strip() or kind_of(head) == ("class", "")):
                        owner.members.append("")
                    if is_type and rest.strip():
                        after = self.text.find(";", after) + 1
                    head, head_begin = "", after
            else:
                if owner and self.text[at] == ";":
                    types, is_function = members_of(head)
                    owner.members += types
                    owner.has_functions |= is_function
                head, head_begin = "", after
            piece = after
            index = bisect.bisect_left(self.marks, after)

    def open(self, head, head_begin, at, owner):
        """Reads what the brace at `at` opens; false if it belongs to a value, so that its statement goes on."""
        end = self.ends.get(at, len(self.text))
        kind, name = kind_of(head)
        if kind == "value":
            return False
        if kind == "namespace":
            self.read(at + 1, end, None)
        if kind == "class":
            inner = Class(f"{owner.name}::{name}" if owner and name else name, self.line_of(at))
            self.read(at + 1, end, inner)
            self.classes.append(inner)
        if kind == "function":
            if owner:
                owner.has_functions = True
                name = f"{owner.name}::{name}"
            first = self.first_line(head_begin, at)
            self.functions.append(Function(name, first, self.line_of(end) - first + 1))
        return True

    def member_counts(self, is_shared):
        """The data members of each class. A member of a type that has only data, and is declared in this text, counts as
        the members of that type, unless `is_shared(name)` says that other files use the type."""
        plain = {each.name.split("::")[-1]: each for each in self.classes if not each.has_functions and each.name}

        def count(each, above):
            total = 0
            for name in each.members:
                inner = plain.get(name)
                is_group = inner and name not in above and not is_shared(name)
                total += count(inner, above + [name]) if is_group else 1
            return total
        return [(each, count(each, [each.name.split("::")[-1]])) for each in self.classes]
