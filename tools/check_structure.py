#!/usr/bin/env python3
"""Fails when a file breaks a rule of STYLE.md that can be counted.

    check_structure.py [ROOT]             fails, and names each place
    check_structure.py --update [ROOT]    lowers tools/structure_exceptions.txt to what is measured now

The rules: a class has at most 20 data members, a function 60 lines, a header 250 lines, a line 100 columns. Each invariant
that a check or a comment cites (P2, KV1) is defined once, and the letters before its number belong to one header. Each
README has a first sentence. Generated files and tables of data (*.inc) are exempt.

tools/structure_exceptions.txt names what broke a rule when the rule came. A line has the kind, the
file, the name of a function or class, and the number that it may have. The list only shrinks: no
number may be exceeded, and an entry that no longer applies is an error. The option --update removes
such entries and lowers numbers, also if a file was moved. It never lets a kind have more entries,
or a larger sum, than before. No entry may allow a class of src/inference more data members. Entries of the kind "cycle"
belong to check_call_cycles.py.
"""
import collections
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cpp_outline import Outline

LIMITS = {"members": 20, "function": 60, "header": 250, "columns": 0, "prefix": 1, "undefined": 0, "readme": 0}
COLUMNS = 100
LIST = "tools/structure_exceptions.txt"
OTHERS_KINDS = {"cycle"}
NO_ENTRIES = {"members": "src/inference/"}
SAYS = {
    "members": "the class {name} has {count} data members, at most {limit}",
    "function": "the function {name} has {count} lines, at most {limit}",
    "header": "{count} lines, at most {limit} in a header",
    "columns": "{count} lines are longer than 100 columns",
    "prefix": "the invariants {file}1, {file}2, ... are defined in {count} places: {name}",
    "undefined": "{count} citations of the invariant {file}, which is defined nowhere: {name}",
    "readme": "it has no first sentence",
}
GENERATED = re.compile(r"(?:Written|Generated) by (?:tools/|CMake)", re.I)
DEFINITION = re.compile(r"^\s*//\s+(?:Invariants?\s+)?([A-Z]{1,2}\d{1,2})\s{2,}\S")
CHECKED = re.compile(r'"([A-Z]{1,2}\d{1,2})(?=[":])')
CHECK = re.compile(r"(?:CHECK|DEATH|require|report)\([^;]*$")
IN_BRACKETS = re.compile(r"\((?:[A-Z]{1,2}\d{1,2}(?:, |; |\)))+")
AT_THE_BEGIN = re.compile(r"//\s?([A-Z]{1,2}\d{1,2})(?:[:.]|$)")
NAME = re.compile(r"[A-Z]{1,2}\d{1,2}")
# Not invariants: formats of numbers, names of caches, of codes of text and of models.
OTHER_NAMES = re.compile(r"(?:B?F|I|U|Q|L|C|R)\d+$")


class Finding:
    def __init__(self, kind, file, name, count, line=0):
        self.kind, self.file, self.name, self.count, self.line = kind, file, name, count, line
        keeps_name = kind in ("members", "function")
        self.key = (kind, file, name if keeps_name else "")

    def says(self):
        at = "" if self.kind in ("prefix", "undefined") else f"{self.file}:{self.line}: " if self.line else f"{self.file}: "
        limit = LIMITS[self.kind]
        return at + SAYS[self.kind].format(name=self.name, file=self.file, count=self.count, limit=limit)


def measure_code(files):
    """Columns, headers, functions and classes of C++ files: {path: text}."""
    outlines = {path: Outline(text) for path, text in files.items()}
    users = collections.defaultdict(set)
    names = {each.name.split("::")[-1] for outline in outlines.values() for each in outline.classes}
    for path, outline in outlines.items():
        for name in names.intersection(re.findall(r"\b[A-Z]\w+", outline.text)):
            users[name].add(re.sub(r"(?:_test)?\.\w+$", "", path))
    for path, text in files.items():
        lines = text.split("\n")
        long_lines = [number for number, line in enumerate(lines, 1) if len(line) > COLUMNS]
        if long_lines:
            yield Finding("columns", path, "", len(long_lines), long_lines[0])
        if path.endswith(".h"):
            yield Finding("header", path, "", len(lines) - 1)
        for each in outlines[path].functions:
            yield Finding("function", path, each.name, each.line_count, each.line)
        for each, count in outlines[path].member_counts(lambda name: len(users[name]) > 1):
            yield Finding("members", path, each.name or "(unnamed)", count, each.line)


def invariants_of(text):
    """The invariants that a text defines, and those that its checks and comments cite: two lists of (name, line)."""
    defined, cited, block = [], [], ""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        block = block + line if line.lstrip().startswith("//") else ""
        definition = DEFINITION.match(line)
        if definition and "nvariant" in block:
            defined.append((definition[1], number))
            continue
        before = "\n".join(lines[max(0, number - 6):number - 1]) + "\n"
        cited += [(match[1], number) for match in CHECKED.finditer(line) if CHECK.search(before + line[:match.start()])]
        comment = line[line.find("//"):] if "//" in line else ""
        found = [name for match in IN_BRACKETS.finditer(comment) for name in NAME.findall(match[0])]
        found += [match[1] for match in AT_THE_BEGIN.finditer(comment)]
        cited += [(name, number) for name in found]
    return defined, cited


def measure_invariants(files):
    homes, definitions = collections.defaultdict(set), collections.defaultdict(list)
    citations = collections.defaultdict(list)
    for path, text in files.items():
        defined, cited = invariants_of(text)
        for name, line in defined:
            homes[name.rstrip("0123456789")].add(path)
            definitions[name].append(f"{path}:{line}")
        for name, line in cited:
            citations[name].append(f"{path}:{line}")
    for letters, paths in homes.items():
        yield Finding("prefix", letters, ", ".join(sorted(paths)), len(paths))
    for name, places in definitions.items():
        if len(places) > len({place.split(":")[0] for place in places}):
            yield Finding("prefix", name, ", ".join(places), len(places))
    for name, places in citations.items():
        is_ours = name.rstrip("0123456789") in homes and not OTHER_NAMES.match(name)
        is_checked = not OTHER_NAMES.match(name)
        if name not in definitions and (is_ours or is_checked):
            yield Finding("undefined", name, ", ".join(places[:3]), len(places))


def has_first_sentence(text):
    """Whether the first paragraph below the title, apart from pictures and tables, ends a sentence."""
    for paragraph in re.split(r"\n\s*\n", text):
        words = "\n".join(line for line in paragraph.split("\n") if not re.match(r"\s*(?:#|<|\||!\[|\[!\[|```)", line))
        if re.search(r"\w.*[.:!?](?:\s|$|[`)*])", words, re.S):
            return True
        if words.strip():
            return False
    return False


def measure(files):
    code = {path: text for path, text in files.items()
            if path.endswith((".h", ".cc", ".cpp")) and not GENERATED.search(text[:400])}
    yield from measure_code(code)
    yield from measure_invariants(code)
    for path, text in files.items():
        if path.split("/")[-1] == "README.md":
            yield Finding("readme", path, "", int(not has_first_sentence(text)))


def read_list(text):
    """{key: number} of the list, and its lines of comments."""
    entries, comments = {}, []
    for line in text.splitlines():
        words = line.split()
        if line.startswith("#") or not words:
            comments.append(line)
        else:
            entries[(words[0], words[1], " ".join(words[2:-1]))] = int(words[-1])
    return entries, comments


def may_be_listed(key):
    """Whether the list may have an entry of this kind for a file of this folder."""
    return key[0] not in NO_ENTRIES or not key[1].startswith(NO_ENTRIES[key[0]])


def compare(findings, entries):
    """Returns the failures, and the number of each key that is over its limit.

    A failure is a finding that the list does not allow, or an entry that no longer applies."""
    failures, over = [], {}
    for each in findings:
        if each.count > LIMITS[each.kind]:
            over[each.key] = max(each.count, over.get(each.key, 0))
            allowed = entries.get(each.key) if may_be_listed(each.key) else None
            if allowed is None:
                failures.append(each.says())
            elif each.count > allowed:
                failures.append(f"{each.says()}; {LIST} allows {allowed}, and no more")
    for key in entries:
        if key not in over and key[0] not in OTHERS_KINDS:
            failures.append(f"{LIST}: \"{' '.join(filter(None, key))}\" no longer applies: remove the entry")
    return failures, over


def updated(over, entries):
    """The new entries; ValueError if a kind would have more of them, or a larger sum, or one where there may be none."""
    for key in over:
        if not may_be_listed(key):
            raise ValueError(f"{' '.join(key)}: {NO_ENTRIES[key[0]]} may have no entries of this kind")
    kept = {key: count for key, count in entries.items() if key[0] in OTHERS_KINDS}
    for kind in LIMITS:
        before = [count for key, count in entries.items() if key[0] == kind]
        after = [count for key, count in over.items() if key[0] == kind]
        if entries and (len(after) > len(before) or sum(after) > sum(before)):
            raise ValueError(f"{kind}: {len(after)} entries with the sum {sum(after)}; the list has {len(before)} with "
                             f"{sum(before)}, and may only shrink")
    return {**over, **kept}


def written(entries, comments):
    lines = [" ".join(filter(None, key)) + f" {count}" for key, count in sorted(entries.items())]
    return "\n".join(comments + lines) + "\n"


def read_files(root):
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, check=True,
                           capture_output=True, text=True).stdout.split("\0")
    wanted = [name for name in names if name.endswith((".h", ".cc", ".cpp", "README.md"))]
    return {name: (root / name).read_text() for name in wanted if (root / name).is_file()}


def main(arguments):
    updates = "--update" in arguments
    places = [each for each in arguments if each != "--update"]
    root = pathlib.Path(places[0] if places else ".")
    entries, comments = read_list((root / LIST).read_text())
    files = read_files(root)
    failures, over = compare(list(measure(files)), entries)
    if updates:
        try:
            (root / LIST).write_text(written(updated(over, entries), comments))
        except ValueError as error:
            print(f"{LIST} stays as it is: {error}\n" + "\n".join(failures))
            return 1
        return 0
    print("\n".join(failures) or f"structure: ok, {len(files)} files, {len(entries)} exceptions")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
