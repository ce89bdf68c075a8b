#!/usr/bin/env python3
"""Fails when a comment, a text of the program or a document breaks a rule of plain English that a script can count.

    check_prose.py [ROOT]                 fails, and names each place
    check_prose.py --update [ROOT]        lowers tools/prose_exceptions.txt to what is measured now
    check_prose.py --list FILE...         prints each finding of some files, also those that the list allows

There are four rules:
- phrase: The text has a phrase that STYLE.md replaces by a plainer one.
- long: A sentence has over 35 words.
- spread: Over a tenth of the sentences of a file have more than 25 words.
- start: A comment on lines of its own begins with a fragment ("Of", "Those") instead of a sentence with a subject.
The texts are comments of code, string literals of src/ (helps and errors), and paragraphs, list items and cells of
documents. Code within a text counts as one word. Generated files are exempt, because their sources are checked.

tools/prose_exceptions.txt names what broke a rule when the rule came. A line has the rule, the file and the number of
places that it may have. The list only shrinks: no number may be exceeded, and an entry that no longer applies is an error.
--update removes such entries and lowers numbers, also if a file was moved. It never lets a rule have a larger sum.
"""
import collections
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

LIST = "tools/prose_exceptions.txt"
RULES = ("phrase", "long", "spread", "start")
WORDS_MAX = 35
WORDS_P90 = 25
SENTENCES_MIN = 10  # Fewer have no meaningful 90th percentile.
CODE = (".h", ".cc", ".cpp", ".rs", ".wit", ".js", ".ts", ".mjs", ".py")
SKIPPED = re.compile(r"^(?:docs/reference/cli\.md$|interface/generated/|tests/.*\.(?:md|txt)$|CHANGELOG\.md$)")
GENERATED = re.compile(r"(?:Written|Generated|Made) by (?:tools/|CMake|`?tools/)", re.I)

# The table of STYLE.md: a pattern, and what to write instead.
PHRASES = [(re.compile(pattern, re.I), instead) for pattern, instead in (
    (r"\bnobody(?:'s)?\b", "no program, no client, no one (of people)"),
    (r"\bwho(?:ever|soever)(?:'s)?\b|\bwhosever\b", "a client that, each tenant that"),
    (r"\bsomebody(?:'s)?\b|\banybody(?:'s)?\b", "another program, a client"),
    (r"(?<!the )(?<!all )(?<!and )\bothers\b(?!')|\bothers'", "another tenant, other programs"),
    (r"\bbesides\b", "also"),
    (r"\bfor ever\b", "forever"),
    (r"\bbehind\b(?! (?:(?:a|an|the|its|one|another|their|this|that) )?(?:\w+ )?"
     r"(?:locks?|mutex|prox(?:y|ies)|walls?|firewall|TLS|NAT|pointer|interface|flag)\b)", "after, next"),
    (r"\blast words?\b", "last output, last state"),
    (r"\b(?:tells?|telling|told)\b(?! (?:\w+ ){0,3}apart)", "report, return, output, state"),
    (r"(?<!there )(?<!There )\b(?:is|are|was|were) no (?!longer|more\b|less\b|fewer|later|earlier|one\b|other\b)", "is not a, invalid"),
    (r"(?<!out of )(?:" + "|".join(rf"(?<=\b{word} )bound\b" for word in "a the no its this that each one has of by".split()) +
     r"|(?<!array )\bbounds\b)", "limit"),
    (r"\bin vain\b", "without success"),
    (r"\b(?:be|is|are) taken for\b", "be treated as"),
    (r"\b\w*(?:colour|behaviour|honour|favour|neighbour|labour)\w*|\b(?:cancelled|cancelling|labelled|modelled|travelled|"
     r"licence|defence|grey|catalogue|analyse[ds]?|afterwards)\b|\b(?:initial|serial|optim|recogn|organ|normal|real|synchron)is(?:e|ed|es|ing)\b",
     "the American spelling"),
)]
START = re.compile(r"(?:Of|Those|Likewise|Also|What|Which|Who|Whose|Whoever|Where|Then|Nor|Them|They|Their|It|Its|Mostly)\b(?!')")
# "Where to start" and "What to do" are headings; a question has its own verb.
START_ALLOWED = re.compile(r"\w+ to \w+\b|[^.]*\?")

LIST_ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)]|[A-Z]{1,3}\d{1,2}(?=[ .:]))\s+")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]`*_]*\s+(?=[\"'(\[`*_]*[A-Z0-9`])")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|approx|no|No|resp)\.(?=\s)")
QUOTED = re.compile(r"``[^`]*``|`[^`]*`")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
URL = re.compile(r"\bhttps?://\S+")
WORD = re.compile(r"[^\s]*[A-Za-z0-9][^\s]*")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
TOKENS = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'|//[^\n]*|/\*.*?\*/', re.S)
RUST_TOKENS = re.compile(r'r(#*)".*?"\1|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'|//[^\n]*|/\*.*?\*/', re.S)
SCRIPT_TOKENS = re.compile(r'(`)(?:[^`\\]|\\.)*`|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*.*?\*/', re.S)


PYTHON_TOKENS = re.compile(r'("""|\'\'\').*?\1|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|#[^\n]*', re.S)


class Finding:
    def __init__(self, rule, file, line, says, count=1):
        self.rule, self.file, self.line, self.text, self.count = rule, file, line, says, count

    def says(self):
        return f"{self.file}:{self.line}: {self.text}" if self.line else f"{self.file}: {self.text}"


class Text:
    """A paragraph: its first line, its words, and whether a comment begins with it."""

    def __init__(self, line, words, is_start=False):
        self.line, self.words, self.is_start = line, words, is_start


def plain(text):
    """The text with code as one word, links as their names."""
    text = QUOTED.sub("X", text)
    text = LINK.sub(r"\1", text)
    return URL.sub("X", text)


def sentences_of(words):
    return [each for each in SENTENCE_END.split(ABBREVIATION.sub(r"\1", words)) if each.strip()]


def paragraphs_of(lines):
    """Texts of numbered lines of prose: a list item, a row "Name   what it is" and an empty line begin one."""
    start, words, texts = 0, [], []

    def close():
        if words:
            texts.append(Text(start, " ".join(words)))

    for number, line in lines:
        content = line.strip()
        item = LIST_ITEM.match(line)
        is_row = re.match(r"\s*\S+(?: \S+){0,2}\s{3,}\S", line) or re.match(r"(?:\w+|\w+ \w+):\s", content)
        if not content or item or is_row or re.match(r"[@\\]\w+|[-=~#]{3,}|<", content):
            close()
            words = []
            content = line[item.end():].strip() if item else content
            if re.match(r"[-=~#]{3,}", content):
                content = ""
        if content:
            if not words:
                start = number
            words.append(content)
    close()
    return texts


def is_code(line):
    return bool(re.search(r"[;{}]\s*$|^\s*[#$]|=>|::\w+\(|^\s{4,}\S", line))


def comment_blocks(text, tokens):
    """Blocks of comments: (whether it has lines of its own, [(line number, words), ...])."""
    blocks, position, line, last_line = [], 0, 1, -2
    for match in tokens.finditer(text):
        token = match[0]
        is_line = token.startswith(("//", "#"))
        if not is_line and not token.startswith(("/*", '"""')):
            continue
        line += text.count("\n", position, match.start())
        position = match.start()
        begin = text.rfind("\n", 0, position) + 1
        is_alone = not text[begin:position].strip()
        if is_line:
            words = token.lstrip("/#").lstrip("!").rstrip()
            words = words[1:] if words.startswith(" ") else words
            if is_alone and last_line == line - 1:
                blocks[-1][1].append((line, words))
            else:
                blocks.append((is_alone, [(line, words)]))
            last_line = line
        else:
            inner = [re.sub(r"^\s*\*? ?", "", each) for each in token.strip("/\"").strip("*!").split("\n")]
            blocks.append((is_alone, [(line + at, words) for at, words in enumerate(inner)]))
            last_line = -2
    return blocks


def texts_of_comments(text, tokens):
    for is_alone, block in comment_blocks(text, tokens):
        kept, in_fence = [], False
        for number, words in block:
            if words.strip().startswith("```"):
                in_fence = not in_fence
                words = ""
            is_plain = not in_fence and not is_code(words) and "NOLINT" not in words and "clang-format" not in words
            kept.append((number, words if is_plain else ""))
        paragraphs = paragraphs_of(kept)
        for at, each in enumerate(paragraphs):
            each.is_start = is_alone and at == 0
            yield each


def texts_of_literals(text):
    """Sentences in string literals; literals that stand next to each other are one."""
    pending, end, line, position = [], -1, 1, 0
    for match in TOKENS.finditer(text):
        token = match[0]
        if not token.startswith('"'):
            continue
        if pending and text[end:match.start()].strip():
            yield Text(line, "".join(pending))
            pending = []
        if not pending:
            line += text.count("\n", position, match.start())
            position = match.start()
        pending.append(re.sub(r"\\n|\\t", " ", token[1:-1]).replace('\\"', "'"))
        end = match.end()
    if pending:
        yield Text(line, "".join(pending))


def texts_of_markdown(text):
    lines, in_fence = [], False
    for number, line in enumerate(text.split("\n"), 1):
        content = line.strip()
        if content.startswith("```"):
            in_fence = not in_fence
            lines.append((number, ""))
        elif in_fence or content.startswith(("#", "<!--", "<")) or line.startswith("    "):
            lines.append((number, ""))
        elif content.startswith("|"):
            for cell in QUOTED.sub("X", content).strip("|").split("|"):
                lines += [(number, ""), (number, cell.strip()), (number, "")]
        else:
            lines.append((number, line.lstrip("> ")))
    return paragraphs_of(lines)


def texts_of(path, text):
    if path.endswith(".md"):
        yield from texts_of_markdown(text)
        return
    is_cpp = path.endswith((".h", ".cc", ".cpp", ".wit"))
    tokens = TOKENS if is_cpp else RUST_TOKENS if path.endswith(".rs") else \
        PYTHON_TOKENS if path.endswith(".py") else SCRIPT_TOKENS
    yield from texts_of_comments(text, tokens)
    if path.startswith("src/") and is_cpp and not re.search(r"_(?:test|fuzz|bench)\.\w+$|/test_support/", path):
        for each in texts_of_literals(text):
            if len(each.words.split()) >= 3:
                yield each


def measure_file(path, text):
    counts, longest = [], []
    for each in texts_of(path, text):
        words = plain(each.words)
        for pattern, instead in PHRASES:
            for match in pattern.finditer(words):
                yield Finding("phrase", path, each.line, f'"{match[0]}": write {instead}')
        if each.is_start and START.match(words) and not START_ALLOWED.match(words):
            yield Finding("start", path, each.line, f'a comment begins with "{START.match(words)[0]}": name the subject')
        for sentence in sentences_of(words):
            count = len(WORD.findall(sentence))
            if count > WORDS_MAX:
                yield Finding("long", path, each.line, f"a sentence of {count} words: {' '.join(sentence.split()[:8])} ...")
            if count >= 3:
                counts.append(count)
    counts.sort()
    if len(counts) >= SENTENCES_MIN and counts[len(counts) * 9 // 10] > WORDS_P90:
        yield Finding("spread", path, 0, f"a tenth of its sentences have {counts[len(counts) * 9 // 10]} words or more, "
                      f"at most {WORDS_P90}")


def measure(files):
    for path, text in files.items():
        if not SKIPPED.match(path) and not GENERATED.search(text[:400]):
            yield from measure_file(path, text)


def read_list(text):
    """{(rule, file): number} of the list, and its lines of comments."""
    entries, comments = {}, []
    for line in text.splitlines():
        words = line.split()
        if line.startswith("#") or not words:
            comments.append(line)
        else:
            entries[(words[0], words[1])] = int(words[2])
    return entries, comments


def compare(findings, entries):
    """The places that the list does not allow, and what was found: {(rule, file): number}."""
    found = collections.defaultdict(list)
    for each in findings:
        found[(each.rule, each.file)].append(each)
    failures = []
    for key, places in found.items():
        allowed = entries.get(key, 0)
        if len(places) > allowed:
            failures += [each.says() for each in places]
            if allowed:
                failures.append(f"{key[1]}: {len(places)} places of \"{key[0]}\"; {LIST} allows {allowed}, and no more")
    for key in entries:
        if key not in found:
            failures.append(f"{LIST}: \"{' '.join(key)}\" no longer applies: remove the entry")
    return failures, {key: len(places) for key, places in found.items()}


def updated(over, entries):
    """The new entries; ValueError if a rule would allow more places than before."""
    for rule in RULES:
        before = sum(count for key, count in entries.items() if key[0] == rule)
        after = sum(count for key, count in over.items() if key[0] == rule)
        if entries and after > before:
            raise ValueError(f"{rule}: {after} places; the list allows {before}, and may only shrink")
    return over


def written(entries, comments):
    return "\n".join(comments + [f"{rule} {file} {count}" for (rule, file), count in sorted(entries.items())]) + "\n"


def read_files(root):
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, check=True,
                           capture_output=True, text=True).stdout.split("\0")
    wanted = sorted({name for name in names if name.endswith((*CODE, ".md"))})
    return {name: (root / name).read_text() for name in wanted if (root / name).is_file()}


def print_findings(root, names):
    files = {name: text for name, text in read_files(root).items() if not names or name.startswith(tuple(names))}
    print("\n".join(f"{each.rule:6} {each.says()}" for each in measure(files)))
    return 0


def main(arguments):
    if arguments[:1] == ["--list"]:
        return print_findings(pathlib.Path("."), arguments[1:])
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
    print("\n".join(failures) or f"prose: ok, {len(files)} files, {sum(entries.values())} places in {len(entries)} exceptions")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
