#!/usr/bin/env bash
# setup.sh STEP...: brings a machine to where Quire builds and runs. Steps: packages, engines, quickjs,
# rust, model, goldens, answer, build, build_tests. One line for each with its time, and while it runs what is
# done of it; a step that has nothing to do says so.
# Nothing is asked. Packages are installed as root or through passwordless sudo; otherwise the exact
# list is printed and the script ends.
set -euo pipefail
source "$(dirname "$0")/common.sh"

RUST_MINOR_MIN=95  # rustc 1.95

# True when a rustc that is new enough, with its cargo, is on the path or in rustup's folder.
rust_is_new_enough() {
  local folder version
  for folder in "" "${CARGO_HOME:-$HOME/.cargo}/bin/"; do
    command -v "${folder}rustc" >/dev/null && command -v "${folder}cargo" >/dev/null || continue
    version=$("${folder}rustc" --version 2>/dev/null | sed -nE 's/^rustc 1\.([0-9]+)\..*/\1/p')
    [ "${version:-0}" -ge "$RUST_MINOR_MIN" ] && return 0
  done
  return 1
}

# Debian's rustc-web installs beside Debian's rustc under the name rustc; cargo-web likewise.
missing_packages() {
  local package
  grep -Ev '^(#|$)' tools/packages.txt | while read -r package; do
    dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || echo "$package"
  done
  rust_is_new_enough || printf 'rustc-web\ncargo-web\n'
}

install_packages() {
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@")
  # The lists of a fresh machine are often empty or old: one update, and once more.
  "${as_root[@]}" "${install[@]}" || {
    "${as_root[@]}" apt-get update
    "${as_root[@]}" "${install[@]}"
  }
}

packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "packages   not a Debian machine: what is needed is listed in tools/packages.txt; going on"
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages)
  if [ "${#missing[@]}" -eq 0 ]; then
    step packages "all there" true
  elif [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; then
    step packages "installing ${#missing[@]} packages with apt-get" install_packages "${missing[@]}"
  else
    echo "packages   ${#missing[@]} are missing and this user may not install them. As root, run:"
    echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
    exit 1
  fi
}

engines() {
  step engines "engines/: wasmtime, tokenizers, templates (the first time: 2 to 5 minutes)" \
    tools/build_engines.sh
}

# For scripts and one program: a machine that cannot fetch it has the rest.
quickjs() {
  (step quickjs "QuickJS, for scripts and agent_codeact (the first time: a minute)" tools/build_quickjs.sh) ||
    echo "quickjs    going on without: scripts and the program agent_codeact are left out"
  (step sucrase "sucrase, for scripts in TypeScript" tools/fetch_npm.sh sucrase) ||
    echo "sucrase    going on without: scripts in TypeScript are left out"
}

# For tests of Rust programs alone: where it cannot be made they are skipped by name.
rust() {
  (step rust "Rust for programs: its standard library for wasm32-wasip1 (the first time: two minutes)" \
    tools/build_rust_std.sh) ||
    echo "rust       going on without: the tests of Rust programs are skipped by name"
}

model() {
  step model "SmolLM2-135M-Instruct Q4_1, SHA-256 checked" tools/fetch_model.sh
}

# Reference vocabularies and templates, too large for the repository. Tests that need them are
# skipped by name where they cannot be fetched, so that a machine without a network still tests.
goldens() {
  (step typescript "TypeScript, for tests of the types of scripts" tools/fetch_npm.sh typescript) ||
    echo "typescript going on without: the tests that need it are skipped by name"
  (step goldens "reference tokenizers and chat templates" tools/fetch_tokenizer_goldens.sh) ||
    echo "goldens    going on without: the tests that need them are skipped by name"
  (step goldens "JSON-Schema-Test-Suite" tools/fetch_schema_goldens.sh) ||
    echo "goldens    going on without: the test that needs it is skipped by name"
}

configure() { cmake --preset release; }

# What the first answer needs: the program, and one inferlet.
answer() {
  step configure "cmake --preset release" configure
  step build "build/release/quire and its first program (make build makes the others)" \
    ninja -C build/release -j "$JOBS" quire inferlets/text_completion.wasm
}

# Everything but the test programs.
build() {
  step configure "cmake --preset release" configure
  step build "build/release/quire, quire-bench, inferlets, the runtime of scripts and manual pages" \
    ninja -C build/release -j "$JOBS" quire quire-bench bench_guests inferlets runtimes share
}

build_tests() {
  step configure "cmake --preset release" configure
  step build "everything, with the tests" ninja -C build/release -j "$JOBS"
}

for each in "$@"; do
  case "$each" in
    packages | engines | quickjs | rust | model | goldens | answer | build | build_tests) "$each" ;;
    *)
      echo "setup.sh: no step \"$each\" (packages, engines, quickjs, rust, model, goldens, answer, build, build_tests)" >&2
      exit 2
      ;;
  esac
done
