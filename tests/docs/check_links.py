#!/usr/bin/env python3
"""Links of documents lead somewhere: to a file, and to a heading where they name one.

So do the paths that ARCHITECTURE.md has in `code`, the documents that any file names, and the tests that documents name.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = {"build", ".git", "target", "node_modules", "__pycache__"}
BLOCK = re.compile(r"^ *```.*?^ *```", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)")
OUR_PATH = re.compile(r"`((?:src|tests|tools|docs|interface|sdk|inferlets|engines)/[\w./-]*)`")
DOCUMENT = re.compile(r"\bdocs/[A-Za-z_/]+\.(?:md|svg|json)\b")
TEST_NAME = re.compile(r"`([A-Z][A-Za-z0-9]+)\.([A-Z][A-Za-z0-9]+)`")
TEST = re.compile(r"TEST(?:_[FP])?\((\w+), (\w+)\)")
MADE_UP = {"tools/check_prose_test.py"}  # It names documents that are not there.


def files(folder=ROOT):
    for path in folder.iterdir():
        if path.name in SKIPPED or path.is_symlink():
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def slug(heading):
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(text):
    found = set()
    for heading in re.findall(r"^#+ (.*)$", BLOCK.sub("", text), re.M):
        name, number = slug(heading), 0
        while (name if number == 0 else f"{name}-{number}") in found:
            number += 1
        found.add(name if number == 0 else f"{name}-{number}")
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def broken_links(path, text, texts):
    for target, anchor in LINK.findall(BLOCK.sub("", text)):
        if "://" in target or target.startswith("mailto:"):
            continue
        file = (path.parent / target).resolve() if target else path
        if not file.exists():
            yield f"the link {target} leads nowhere"
        elif anchor and file in texts and file.suffix == ".md" and anchor not in anchors(texts[file]):
            yield f"{target or 'the page'} has no heading for #{anchor}"


def main():
    texts = {}
    for path in files():
        try:
            texts[path] = path.read_text()
        except UnicodeDecodeError:
            pass  # Weights, archives and pictures name no document.
    tests = {name for text in texts.values() for name in TEST.findall(text)}
    failures = []
    for path, text in sorted(texts.items()):
        name = path.relative_to(ROOT).as_posix()
        found = []
        if path.suffix == ".md":
            found += broken_links(path, text, texts)
        if name == "ARCHITECTURE.md":
            found += [f"{each} is not there" for each in OUR_PATH.findall(text) if not (ROOT / each).exists()]
        if name not in MADE_UP:
            found += [f"there is no {each}" for each in sorted(set(DOCUMENT.findall(text))) if not (ROOT / each).exists()]
        if name.startswith("docs/") or name in ("README.md", "ARCHITECTURE.md"):
            found += [f"there is no test {'.'.join(each)}" for each in TEST_NAME.findall(text) if each not in tests]
        failures += [f"{name}: {each}" for each in found]
    print("\n".join(failures) or f"links: ok, {len(texts)} files")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
