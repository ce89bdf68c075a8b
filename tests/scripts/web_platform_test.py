"""The web-platform-tests of what scripts find without an import, if a checkout of them is there.

QUIRE_WPT names the checkout, else it is the folder wpt in the cache. A share of the files runs, since all of them take
minutes; tests/scripts/web_platform_tests.py runs them all.
"""
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import web_platform_tests  # noqa: E402

SMALL = ["console", "timers", "microtasks", "structured-clone", "atob", "abort", "events"]
FILES = [("encoding", "textdecoder-"), ("encoding", "legacy-mb"), ("url", "url-constructor"), ("url", "url-setters"), ("url", "searchparams")]


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent.parent / "build" / "release")
    cache = os.environ.get("QUIRE_CACHE") or pathlib.Path.home() / ".cache" / "quire"
    checkout = pathlib.Path(os.environ.get("QUIRE_WPT") or pathlib.Path(cache) / "wpt")
    if not (checkout / "resources" / "testharness.js").exists():
        print("skipped: web-platform-tests: QUIRE_WPT names no checkout of them")
        return 0
    if not (build / "runtimes" / "javascript.json").exists():
        print("skipped: this build has no runtime of JavaScript (tools/build_quickjs.sh)")
        return 0
    quire = build.resolve() / "quire"
    runs = [(SMALL, "")] + [([part], only) for part, only in FILES]
    counts = [web_platform_tests.run_parts(checkout, quire, parts, only) for parts, only in runs]
    count, passed, unknown = (sum(column) for column in zip(*counts))
    print(f"together: {count} subtests, {passed} passed, {unknown} failed for no known reason")
    return 0 if count > 3000 and unknown == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
