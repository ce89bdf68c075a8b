#!/usr/bin/env bash
# Builds engines/ (wasmtime, tokenizers, templates: one Rust static library) once per machine, and
# prints as its last line the folder that holds libquire_engines.a and include/.
#
# The folder lies outside the checkout, in $QUIRE_CACHE (else ~/.cache/quire), and is named by a
# hash of the crate's sources, its lock file and the compiler, so that checkouts share it. Of the
# folders of other sources only the one used last stays.
#
# With --test it runs the crate's own tests instead, in the target folder of the build, so that its
# dependencies are compiled once.
set -euo pipefail
cd "$(dirname "$0")/../engines"

task=build
case "${1:-}" in
  "") ;;
  --test) task=test ;;
  *) echo "build_engines.sh: no option \"$1\" (--test)" >&2; exit 2 ;;
esac

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

hash=$({ echo "$version"; cat Cargo.toml Cargo.lock src/*.rs src/*/*.rs include/*.h ../tools/build_engines.sh; } |
  sha256sum | cut -c1-16)
folder=$cache/engines-$hash

# Prints the folder, if it is there, and ends; `used` orders the folders when one has to go.
give_folder() {
  [ -e "$folder/complete" ] || return 0
  touch "$folder/used" 2>/dev/null || true  # A cache that is only readable serves too.
  echo "$folder"
  exit 0
}
[ "$task" = test ] || give_folder

# A build that still names a folder that went is configured anew (cmake/Engines.cmake).
remove_old_folders() {
  local stamp other
  find "$cache" -maxdepth 1 -type d -regextype posix-extended \
    -regex '.*/engines-[0-9a-f]{16}' ! -path "$folder" | while IFS= read -r other; do
    stamp=$other/used
    [ -e "$stamp" ] || stamp=$other
    printf '%s %s\n' "$(stat -c %Y "$stamp")" "$other"
  done | sort -rn | tail -n +2 | cut -d' ' -f2- | while IFS= read -r other; do
    say "removing $other: other sources, not used last"
    rm -rf "$other"
  done
}

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
# One target folder per compiler: a change in our own sources then rebuilds only our own crate.
export CARGO_TARGET_DIR=$cache/engines-target-$number
if [ "$task" = test ]; then
  RUSTC=$rustc "$cargo" test --release --locked 9>&-
  exit
fi
give_folder

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
touch "$part/complete" "$part/used"
mv "$part" "$folder"
remove_old_folders
say "built in $((SECONDS - started)) s: $folder"
echo "$folder"
