#!/usr/bin/env python3
"""Fails when files of one folder call each other in a circle.

    check_call_cycles.py BUILD [ROOT]    reads the objects of BUILD, a build whose QUIRE_UNITY is off

A file calls another one if its object needs a function that the other object defines. Symbols that
several objects define (inline functions, templates) say nothing and do not count. The program reads
only the folders below. It allows the files in a circle that tools/structure_exceptions.txt names
with the kind "cycle". That list only shrinks.
"""
import collections
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from check_structure import LIST, read_list

FOLDERS = ["src/control"]


def symbols_of(objects):
    """{object: (functions that it defines alone, symbols that it needs)}."""
    nm = shutil.which("llvm-nm-22") or "nm"
    result = {}
    for each in objects:
        defined, needed = set(), set()
        text = subprocess.run([nm, "--format=posix", "--no-sort", str(each)], check=True, capture_output=True, text=True).stdout
        for line in text.splitlines():
            name, kind = line.split()[:2]
            (needed if kind == "U" else defined if kind == "T" else set()).add(name)
        result[each] = (defined, needed)
    return result


def calls_within(symbols):
    """{object: the other objects that it calls}."""
    homes = collections.defaultdict(list)
    for each, (defined, _) in symbols.items():
        for name in defined:
            homes[name].append(each)
    return {each: {homes[name][0] for name in needed if len(homes.get(name, [])) == 1} - {each}
            for each, (_, needed) in symbols.items()}


def circles(calls):
    """The groups of more than one that reach each other (Tarjan, without recursion)."""
    number, low, stack, groups = {}, {}, [], []
    for root in calls:
        work = [(root, iter(sorted(calls[root])))] if root not in number else []
        if work:
            number[root] = low[root] = len(number)
            stack.append(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in number:
                    number[other] = low[other] = len(number)
                    stack.append(other)
                    work.append((other, iter(sorted(calls[other]))))
                    break
                if other in stack:
                    low[node] = min(low[node], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    at = stack.index(node)
                    groups.append(sorted(stack[at:]))
                    del stack[at:]
    return [group for group in groups if len(group) > 1]


def source_of(each, build):
    """The source of an object, by its place in the build: src/control/CMakeFiles/TARGET.dir/pages/page_pool.cc.o."""
    parts = each.relative_to(build).with_suffix("").parts
    at = parts.index("CMakeFiles")
    return "/".join(parts[:at] + parts[at + 2:])


def check(build, allowed):
    """Returns what is wrong, a line each, and how many objects were read."""
    folders = collections.defaultdict(dict)
    count = 0
    for root in FOLDERS:
        for each in sorted((build / root).rglob("*.cc.o")):
            source = source_of(each, build)
            if "generated" in source:
                return [f"{each} has many files in one: configure a build with -DQUIRE_UNITY=OFF"], 0
            if not source.endswith(("_test.cc", "_fuzz.cc")):
                folders[source.rsplit("/", 1)[0]][source] = each
                count += 1
    failures, in_circles = [], set()
    for folder, sources in sorted(folders.items()):
        names = {each: source for source, each in sources.items()}
        for group in circles(calls_within(symbols_of(names))):
            files = [names[each] for each in group]
            in_circles.update(files)
            news = [file for file in files if file not in allowed]
            if news:
                short = ", ".join(file.rsplit("/", 1)[1] for file in files)
                failures.append(f"{folder}: {short} call each other in a circle; new in it: {', '.join(news)}")
    failures += [f"{LIST}: \"cycle {file}\" no longer applies: remove the entry" for file in sorted(allowed - in_circles)]
    if count == 0:
        failures.append(f"{build} has no objects of {', '.join(FOLDERS)}: build it first")
    return failures, count


def main(build, root="."):
    entries, _ = read_list((pathlib.Path(root) / LIST).read_text())
    failures, count = check(pathlib.Path(build).resolve(), {key[1] for key in entries if key[0] == "cycle"})
    print("\n".join(failures) or f"cycles: ok, {count} files")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
