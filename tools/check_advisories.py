#!/usr/bin/env python3
"""Fails if a crate of a Cargo.lock has an open advisory of RustSec.

    check_advisories.py [ROOT]                  compares with tools/advisories.txt, without a network
    check_advisories.py --update CLONE [ROOT]   makes tools/advisories.txt from a clone of github.com/rustsec/advisory-db

tools/advisories.txt is a copy of what the database says of our crates, with the date of its last commit. A line has the
id, the crate, the kind (vulnerability, unsound, unmaintained or notice), the patched versions and those that were never
affected; ranges are separated by "|", and "-" is none. A crate that the copy was not made for is a failure too: update.
Only vulnerabilities and unsound code fail; other kinds are printed. What was withdrawn is left out. The advisories are
in the public domain (CC0-1.0).
"""
import pathlib
import re
import subprocess
import sys
import tomllib

LIST = "tools/advisories.txt"
FAILING = ("vulnerability", "unsound")


def version_of(text):
    """(1, 2, 3, rank, pre): a release ranks above its candidates."""
    core, _, pre = text.strip().split("+")[0].partition("-")
    numbers = [int(each) for each in core.split(".")]
    return (*(numbers + [0, 0])[:3], 0 if pre else 1, pre)


def bounds_of(comparison):
    """The least version of a comparison, and the first one above it; None: without an end."""
    operator, text = re.fullmatch(r"\s*(>=|<=|>|<|=|\^|~)?\s*(\d\S*)\s*", comparison).groups()
    version = version_of(text)
    if operator in (">=", "<", ">", "<="):
        return operator, version, None
    major, minor, patch = version[:3]
    parts = text.split("-")[0].count(".") + 1
    if operator == "=" and parts == 3:
        above = (major, minor, patch, 1, "above")
    elif operator in ("=", "~"):
        above = (major, minor + 1, 0, 0, "") if parts > 1 else (major + 1, 0, 0, 0, "")
    elif major or parts == 1:  # "^", and what has no operator.
        above = (major + 1, 0, 0, 0, "")
    else:
        above = (0, minor + 1, 0, 0, "") if minor or parts == 2 else (0, 0, patch + 1, 0, "")
    return "in", version, above


def matches(version, requirement):
    for comparison in requirement.split(","):
        operator, bound, above = bounds_of(comparison)
        if not {"in": lambda: bound <= version < above, ">=": lambda: version >= bound, ">": lambda: version > bound,
                "<=": lambda: version <= bound, "<": lambda: version < bound}[operator]():
            return False
    return True


def is_open(version, patched, unaffected):
    return not any(matches(version_of(version), each) for each in (*patched, *unaffected))


def crates_of(root):
    """(crate, version, the lock file that has it)."""
    locks = subprocess.run(["git", "-C", root, "ls-files", "*Cargo.lock"], stdout=subprocess.PIPE, text=True, check=True)
    return [(package["name"], package["version"], lock) for lock in locks.stdout.split()
            for package in tomllib.loads((root / lock).read_text())["package"] if "source" in package]


def advisory_of(text):
    entry = tomllib.loads(re.search(r"```toml\n(.*?)```", text, re.S)[1])
    advisory, versions = entry["advisory"], entry.get("versions", {})
    return (advisory["id"], advisory["package"], advisory.get("informational", "vulnerability"),
            versions.get("patched", []), versions.get("unaffected", [])), "withdrawn" in advisory


def update(root, clone):
    def git(*words):
        return subprocess.run(["git", "-C", clone, *words], stdout=subprocess.PIPE, text=True, check=True).stdout

    lines = [f"# Made by tools/check_advisories.py --update from github.com/rustsec/advisory-db of {git('log', '-1', '--format=%cs').strip()}."]
    names = sorted({name for name, _, _ in crates_of(root)})
    lines += ["crate " + name for name in names]
    for path in git("ls-tree", "-r", "--name-only", "HEAD", "crates").split():
        if path.split("/")[1] not in names or not path.endswith(".md"):
            continue
        (number, crate, kind, patched, unaffected), is_withdrawn = advisory_of(git("show", "HEAD:" + path))
        if not is_withdrawn:
            columns = [("|".join(each) or "-").replace(" ", "") for each in (patched, unaffected)]
            lines.append(" ".join([number, crate, kind, *columns]))
    (root / LIST).write_text("\n".join(lines) + "\n")


def read_list(text):
    known, advisories = set(), {}
    for line in text.splitlines():
        words = line.split()
        if line.startswith("crate "):
            known.add(words[1])
        elif words and not line.startswith("#"):
            number, crate, kind, *ranges = words
            patched, unaffected = ([] if each == "-" else each.split("|") for each in ranges)
            advisories.setdefault(crate, []).append((number, kind, patched, unaffected))
    return known, advisories


def findings_of(crates, text):
    """The lines that fail, and those that are only printed."""
    known, advisories = read_list(text)
    failures, notes = [], []
    for name, version, lock in crates:
        if name not in known:
            failures.append(f"{lock}: {name}: {LIST} was not made for this crate; run tools/check_advisories.py --update CLONE")
        for number, kind, patched, unaffected in advisories.get(name, []):
            if is_open(version, patched, unaffected):
                said = f"{lock}: {name} {version}: {number} ({kind}); patched: {', '.join(patched) or 'nowhere'}"
                (failures if kind in FAILING else notes).append(said)
    return failures, notes


def main(arguments):
    clone = arguments[1] if arguments[:1] == ["--update"] else None
    rest = arguments[2:] if clone else arguments
    root = pathlib.Path(rest[0] if rest else ".")
    if clone:
        update(root, clone)
    text = (root / LIST).read_text()
    crates = crates_of(root)
    failures, notes = findings_of(crates, text)
    print("\n".join([*notes, *failures, f"advisories: {len(crates)} crates, {len(failures)} open; {text.splitlines()[0][2:]}"]))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
