#!/usr/bin/env bash
# Builds engines/ (wasmtime, tokenizers, minijinja: one Rust static library) once per machine, and
# prints as its last line the folder that holds libquire_engines.a and include/.
#
# The folder lies outside the checkout, in $QUIRE_CACHE (else ~/.cache/quire), and is named by a
# hash of the crate's sources, its lock file and the compiler, so that checkouts share it.
set -euo pipefail
cd "$(dirname "$0")/../engines"

readonly version_wanted=95  # 1.95: what wasmtime 48 asks for.
cache=${QUIRE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/quire}

say() { echo "engines: $*" >&2; }

# rustup's compiler where there is one, else Debian's rustc-web, which installs into /usr/bin.
found=
for candidate in "${RUSTC:-}" "$(command -v rustc || true)" "$HOME/.cargo/bin/rustc" /usr/bin/rustc; do
  [ -n "$candidate" ] && [ -x "$candidate" ] || continue
  version=$("$candidate" --version 2>/dev/null) || continue  # "rustc 1.95.0 (59807616e 2026-04-14)"
  found="$found $candidate is ${version#rustc };"
  number=${version#rustc }; number=${number%%[ -]*}
  IFS=. read -r major minor _ <<<"$number"
  if [ "$major" -gt 1 ] || { [ "$major" -eq 1 ] && [ "$minor" -ge $version_wanted ]; }; then
    rustc=$candidate
    break
  fi
done
if [ -z "${rustc:-}" ]; then
  say "needs rustc 1.$version_wanted or newer;${found:- none was found}"
  say "install it with: apt-get install rustc-web cargo-web   (or rustup: https://rustup.rs)"
  exit 1
fi

hash=$({ echo "$version"; cat Cargo.toml Cargo.lock src/*.rs include/*.h ../tools/build_engines.sh; } |
  sha256sum | cut -c1-16)
folder=$cache/engines-$hash
if [ -e "$folder/complete" ]; then
  echo "$folder"
  exit 0
fi

cargo=${CARGO:-$(dirname "$rustc")/cargo}
for tool in "$cargo" cmake cc flock; do
  command -v "$tool" >/dev/null || {
    say "needs $tool; install it with: apt-get install cargo-web cmake build-essential util-linux"
    exit 1
  }
done

mkdir -p "$cache"
exec 9>"$cache/engines.lock"
flock -n 9 || { say "another build is running; waiting for it"; flock 9; }
if [ -e "$folder/complete" ]; then
  echo "$folder"
  exit 0
fi

# One target folder per compiler: a change in our own sources then rebuilds only our own crate.
export CARGO_TARGET_DIR=$cache/engines-target-$number
log=$cache/engines-build.log
messages=$cache/engines-build.json
crates=$(grep -c '^\[\[package\]\]' Cargo.lock)
say "building with rustc $number (about 4 minutes on two cores, once per machine) ..."
started=$SECONDS
RUSTC=$rustc "$cargo" build --release --locked --message-format=json-render-diagnostics \
  >"$messages" 2>"$log" 9>&- &
build=$!
trap 'kill $build 2>/dev/null || true' EXIT
while kill -0 $build 2>/dev/null; do
  sleep 1
  if [ $(((SECONDS - started) % 20)) -eq 0 ]; then
    say "$((SECONDS - started)) s: $(grep -c '^ *Compiling' "$log" || true) of at most $crates crates begun"
  fi
done
trap - EXIT
if ! wait $build; then
  tail -n 40 "$log" >&2
  say "the build failed after $((SECONDS - started)) s; the whole log is $log"
  exit 1
fi

# wasmtime's build script has written its headers, with a conf.h that says which features are in.
headers=$(grep '"build-script-executed"' "$messages" | grep 'wasmtime-c-api-impl' |
  sed -n 's/.*"out_dir":"\([^"]*\)".*/\1/p')
[ -f "$headers/include/wasmtime/conf.h" ] || { say "wasmtime's headers are not in '$headers'"; exit 1; }

part=$folder.part
rm -rf "$part" "$folder"
mkdir -p "$part/include"
cp "$CARGO_TARGET_DIR/release/libquire_engines.a" "$part/"
cp -r "$headers/include/." include/quire_engines.h "$part/include/"
touch "$part/complete"
mv "$part" "$folder"
say "built in $((SECONDS - started)) s: $folder"
echo "$folder"
