#!/usr/bin/env python3
"""documented_files.py: lists, one a line, the files that an installed Quire has for its readers. These are the
documents, the clients without their tests, and the files to which both link. So links work away from a checkout."""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\(([^)#\s]+)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
FOLDERS = ["docs", "clients"]
MADE = {"__pycache__", "node_modules", "build", "dist"}  # By tools, in a checkout that git may not read, as under sudo.
FILES = ["README.md", "CHANGELOG.md", "LICENSE"]


def tracked(folder):
    """Files of the checkout."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", folder],
                            cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        return listed.stdout.splitlines()
    files = [each.relative_to(ROOT) for each in (ROOT / folder).rglob("*") if each.is_file()]
    return [str(each) for each in files if not MADE.intersection(each.parts) and ".egg-info" not in str(each)]


def links_of(name):
    """The files of the checkout to which a document links; of a folder, its README."""
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in LINK.findall(CODE.sub("", text)):
        if "://" in target or target.startswith("mailto:"):
            continue
        path = ((ROOT / name).parent / target).resolve()
        if not path.is_relative_to(ROOT):
            continue
        yield str((path / "README.md" if path.is_dir() else path).relative_to(ROOT))


def main():
    files = {each for folder in FOLDERS for each in tracked(folder) if "/tests/" not in each}
    files |= {each for each in FILES if (ROOT / each).is_file()}
    linked = {target for each in files if each.endswith(".md") for target in links_of(each)}
    for each in sorted(files | linked):
        if (ROOT / each).is_file():
            print(each)


if __name__ == "__main__":
    main()
