#!/usr/bin/env python3
"""Fails where code under src/ makes a thread without start_thread() (src/base/start_thread.h).

The system may have no thread left (RLIMIT_NPROC, a container's pids.max). Then a bare std::thread throws, and a program
that catches nothing ends with all that it serves. start_thread() returns an Error instead. Tests may make their own.

A file and its header are read together: a thread that the header declares is also started by the constructor's list of
members in the .cc, and one of a vector by emplace_back().
"""
import pathlib
import re
import sys

HOME = "base/start_thread.h"
COMMENT = re.compile(r"//.*")
# Each of these makes a thread, wherever it stands.
MAKES = re.compile(r"std::async\b|std::jthread\b|\bpthread_create\b|\bthrd_create\b|"
                   r"std::thread\s*[({](?!\s*\))|std::thread\s+\w+\s*[({](?!\s*\))")
MEMBER = re.compile(r"std::thread(?:>+)?\s+(\w+)\s*(?:;|\{\}|=)")
NOT_READ = ("_test.cc", "_test_support.h", "_fuzz.cc")


def makes_one_of(names):
    """A pattern for the start of a thread whose variable has one of these names, by a lambda or a function."""
    name = "|".join(sorted(map(re.escape, names)))
    return re.compile(rf"\b(?:{name})\s*[({{]\s*(?:\[|&)|\b(?:{name})\.(?:emplace_back|push_back|emplace)\(\s*(?:\[|&)|"
                      rf"\b(?:{name})\s*=\s*std::thread")


def lines_of(file):
    return [COMMENT.sub("", line) for line in file.read_text().splitlines()]


def failures_of(source):
    failures = []
    for file in sorted(p for p in source.rglob("*") if p.suffix in {".h", ".cc"}):
        name = file.relative_to(source).as_posix()
        if name == HOME or name.endswith(NOT_READ):
            continue
        own = lines_of(file)
        header = file.with_suffix(".h")
        declared = own + (lines_of(header) if file.suffix == ".cc" and header.is_file() else [])
        members = {match for line in declared for match in MEMBER.findall(line)}
        patterns = [MAKES, *([makes_one_of(members)] if members else [])]
        failures += [f"src/{name}:{number}: use start_thread(), which returns an Error where no thread is left"
                     for number, line in enumerate(own, 1) if any(pattern.search(line) for pattern in patterns)]
    return failures


def main(root):
    failures = failures_of(pathlib.Path(root) / "src")
    print("\n".join(failures) or "threads: ok")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "."))
