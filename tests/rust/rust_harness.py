"""Common parts of the tests of Rust programs: the compiler, and a build of each program for all of them.

A test file is `NAME_test.py`; ctest runs it as `rust_NAME` with the build folder as its argument.
"""
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "programs"))
import harness  # noqa: E402

SOURCE = harness.SOURCE
SDK = SOURCE / "sdk" / "rust"
PROGRAMS = SOURCE / "inferlets" / "rust"
BUILD_SECONDS = 280


def find_compiler():
    """A rustc with the target of programs, or None."""
    found = subprocess.run([SOURCE / "tools" / "build_rust_std.sh", "--find"], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, check=False)
    return found.stdout.split()[-1] if found.returncode == 0 else None


COMPILER = find_compiler()
needs_rust = unittest.skipUnless(COMPILER, "no rustc with wasm32-wasip1: tools/setup.sh rust makes one")


def environment():
    """One folder of results for all tests, outside the checkout's sources; no registry is asked."""
    return harness.beside.environment() | {
        "RUSTC": str(COMPILER), "CARGO_NET_OFFLINE": "true", "CARGO_TARGET_DIR": str(harness.BUILD / "rust")}


def quire(*words, seconds=BUILD_SECONDS, env=None, folder=None):
    """`quire WORDS...` to its end."""
    return subprocess.run([harness.BUILD / "quire", *map(str, words)], capture_output=True, text=True, check=False,
                          timeout=seconds, env=environment() | (env or {}), cwd=folder)


def built(project, name=None):
    """The module of a Cargo project, which `quire build` makes."""
    module = harness.BUILD / "rust" / "modules" / f"{name or project.name}.wasm"
    module.parent.mkdir(parents=True, exist_ok=True)
    end = quire("build", project, "-o", module)
    if end.returncode != 0:
        raise RuntimeError(f"quire build {project} ended with {end.returncode}:\n{end.stderr}")
    return module


def main():
    """As harness.main, and says 77 where all was skipped."""
    if COMPILER is None:
        print("skipped: no rustc with wasm32-wasip1: tools/setup.sh rust makes one")
        sys.exit(77)
    harness.main()


