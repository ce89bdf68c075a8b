#!/usr/bin/env python3
"""Runs the web-platform-tests of what scripts find without an import.

    tests/scripts/web_platform_tests.py WPT_FOLDER QUIRE [PART...] [--list] [--only TEXT]

WPT_FOLDER is a checkout of https://github.com/web-platform-tests/wpt, and QUIRE the `quire` to test. The parts are
encoding, url, console, timers, microtasks, structured-clone, atob, abort and events. All of them run if none is named.
The script prints for each part how many subtests passed, and each one that failed, below its reason. The known reasons
are in web_platform_failures.json. --list prints the files that are not run, and why. --only runs the files whose path
has that text. The exit status is 1 if a subtest failed for no known reason.

Each file runs in an instance of its own (`quire run web_platform/main.js`). Nothing of the checkout is copied here.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "hostile"))
sys.path.insert(0, str(HERE.parent / "programs"))
import beside  # noqa: E402
import harness  # noqa: E402

PARTS = {
    "encoding": "encoding", "url": "url", "console": "console", "timers": "html/webappapis/timers",
    "microtasks": "html/webappapis/microtask-queuing", "structured-clone": "html/webappapis/structured-clone",
    "atob": "html/webappapis/atob", "abort": "dom/abort", "events": "dom/events",
}
KNOWN = json.loads((HERE / "web_platform_failures.json").read_text())
SECONDS_MAX = 120  # Of one file.
TIMEOUT_MS = 20_000
META = re.compile(r"^// META: (\w+)=(.*)$", re.M)
# Only a browser has these. A file for windows is not run if it uses one, and a file for all globals if it needs requests.
BROWSER = {"a document": r"\bdocument\s*\.", "frames": r"\biframe\b|\bframes\["}
REQUESTS = {"XMLHttpRequest": r"\bXMLHttpRequest\b"}


@dataclasses.dataclass
class File:
    path: str
    variant: str
    scripts: list
    why_not: str = ""

    @property
    def url(self):
        return f"/{self.path}{self.variant}"


@dataclasses.dataclass
class Outcome:
    file: File
    results: list  # (name, status, message)


def needs_browser(path, text):
    patterns = REQUESTS if path.endswith(".any.js") else BROWSER | REQUESTS
    return next((what for what, pattern in patterns.items() if re.search(pattern, text)), "")


def script_of_page(text):
    """The scripts of a page: names of files, and texts."""
    for attributes, body in re.findall(r"<script([^>]*)>(.*?)</script>", text, re.S):
        source = re.search(r"src=[\"']?([^\"'\s>]+)", attributes)
        yield (source[1], None) if source else (None, body)


def resolved(root, path, name):
    return root / name.lstrip("/") if name.startswith("/") else (root / path).parent / name


def read_file(root, path):
    """The runs of one file: one for each variant."""
    text = (root / path).read_text(encoding="utf-8", errors="surrogateescape")
    metas = META.findall(text)
    if path.endswith(".html"):
        parts = [each for each in script_of_page(text) if not (each[0] or "").startswith("/resources/testharness")]
    else:
        parts = [(value, None) for key, value in metas if key == "script"] + [(None, text)]
    if path.endswith(".html") and path not in KNOWN["pages of scripts alone"]:
        yield File(path, "", [], "is a page")
        return
    variants = [value for key, value in metas if key == "variant"] or [""]
    scripts, why_not = [], ""
    if ("global", "shadowrealm") in metas:
        why_not = "is for realms of another kind"
    for name, body in parts:
        if name is not None:
            file = resolved(root, path, name)
            if not file.exists():
                why_not = why_not or f"needs {name}, which is not in the checkout"
                continue
            body = file.read_text(encoding="utf-8", errors="surrogateescape")
        scripts.append(body)
    for variant in variants:
        used = KNOWN["parts of files"].get(path, {})
        browser = "" if used else needs_browser(path, "\n".join(scripts))
        reason = why_not or used.get("not run", {}).get(variant, "") or (browser and f"needs {browser}")
        yield File(path, variant, scripts, reason)


def files_of(root, part):
    folder = root / PARTS[part]
    paths = sorted(str(each.relative_to(root)) for each in folder.rglob("*") if each.is_file())
    for path in paths:
        text = ""
        if path.endswith(".html") and "manual" not in path:
            text = (root / path).read_text(encoding="utf-8", errors="surrogateescape")
        if path.endswith((".any.js", ".window.js")) or "/resources/testharness.js" in text:
            yield from read_file(root, path)


def resources_of(root, file):
    """The resources that a script fetches, by the names that it uses."""
    found = {}
    for text in file.scripts:
        for name in re.findall(r"fetch\(\"([^\"]+)\"", text):
            path = resolved(root, file.path, name)
            if path.exists():
                found[name] = path.read_text(encoding="utf-8")
    return found


def run_file(root, quire, model, file):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("main.js",):
            shutil.copy(HERE / "web_platform" / name, folder)
        test = {"url": file.url, "scripts": [(root / "resources" / "testharness.js").read_text(), *file.scripts],
                "resources": resources_of(root, file), "timeoutMs": TIMEOUT_MS}
        (pathlib.Path(folder) / "test.json").write_text(json.dumps(test), encoding="utf-8")
        command = [str(quire), "run", f"{folder}/main.js", "--model", str(model), "--kv-pages", "64", "--store", f"{folder}/store",
                   "--limit", "cpu_ns_max=300000000000"]
        try:
            ran = subprocess.run(command, env=beside.environment(), capture_output=True, timeout=SECONDS_MAX)
            stdout, stderr = ran.stdout.decode(errors="replace"), ran.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired as late:
            stdout, stderr = (late.stdout or b"").decode(errors="replace"), f"not done after {SECONDS_MAX} s"
    results, has_ended, thrown = [], False, ""
    for line in stdout.splitlines():
        try:
            told = json.loads(line)
        except json.JSONDecodeError:
            continue
        if not isinstance(told, dict):
            continue
        if "name" in told:
            results.append((told["name"], told["status"], told["message"] or ""))
        thrown = told.get("thrown") or thrown
        if "harness" in told:
            has_ended = True
            if told["harness"] == 1:
                thrown = thrown or told["message"] or "the harness failed"
    if not has_ended:
        why = next((line for line in reversed(stderr.splitlines()) if "error" in line), stderr[-300:])
        results.append(("(the whole file)", "FAIL", why))
    elif thrown:
        results.append(("(the whole file)", "FAIL", thrown))
    skipped = KNOWN["parts of files"].get(file.path, {}).get("skip")
    return Outcome(file, [each for each in results if skipped is None or not re.search(skipped, each[0])])


def reason_of(file, name):
    for each in KNOWN["failures"]:
        if re.search(each["file"], file.url) and re.search(each.get("name", ""), name):
            return each["why"]
    return ""


def report(part, outcomes, not_run, is_list):
    """Prints one part, and returns its counts: (subtests, passed, failures without a reason)."""
    rows = [(each.file, *row) for each in outcomes for row in each.results]
    failed = [row for row in rows if row[2] != "PASS"]
    print(f"{part}: {len(rows)} subtests, {len(rows) - len(failed)} passed, {len(failed)} failed"
          f" ({len(outcomes)} files run, {len(not_run)} not run)")
    reasons = {}
    for file, name, status, message in failed:
        reasons.setdefault(reason_of(file, name), []).append(f"{file.url}: {name} [{status}] {message}")
    for why, names in sorted(reasons.items()):
        print(f"  {len(names)} failed: {why or 'for no known reason'}")
        for each in names:
            print(f"    {each[:300]}")
    for file in not_run if is_list else ():
        print(f"  not run: {file.url}: {file.why_not}")
    return len(rows), len(rows) - len(failed), len(reasons.get("", []))


def run_parts(root, quire, parts, only="", is_list=False):
    """Returns the counts of all parts together."""
    totals = [0, 0, 0]
    with tempfile.TemporaryDirectory() as folder:
        model = harness.tiny_chat_model(pathlib.Path(folder))
        for part in parts:
            files = [each for each in files_of(root, part) if only in each.url]
            to_run = [each for each in files if not each.why_not]
            with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
                outcomes = list(pool.map(lambda each: run_file(root, quire, model, each), to_run))
            counts = report(part, outcomes, [each for each in files if each.why_not], is_list)
            totals = [sum(pair) for pair in zip(totals, counts)]
            sys.stdout.flush()
    return totals


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wpt_folder", type=pathlib.Path)
    parser.add_argument("quire", type=pathlib.Path)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], metavar="PART")
    parser.add_argument("--list", action="store_true", help="also print what is not run, and why")
    parser.add_argument("--only", default="", help="run the files whose path has this text")
    options = parser.parse_args()
    if not (options.wpt_folder / "resources" / "testharness.js").exists():
        print(f"skipped: {options.wpt_folder} is not a checkout of the web-platform-tests (it has no resources/testharness.js)")
        return 0
    quire = pathlib.Path(os.path.abspath(options.quire))
    count, passed, unknown = run_parts(options.wpt_folder, quire, options.part or list(PARTS), options.only, options.list)
    share = 100 * passed / count if count else 0
    print(f"together: {count} subtests, {passed} passed ({share:.1f} %), {count - passed} failed, {unknown} of them for no known reason")
    return 1 if unknown or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
