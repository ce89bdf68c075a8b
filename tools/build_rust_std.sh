#!/usr/bin/env bash
# Finds or makes a Rust compiler that has the standard library of programs (target wasm32-wasip1), once per
# machine, and prints its path as its last line. Tests of Rust programs use it.
#
# Where rustup's compiler has the library (`rustup target add wasm32-wasip1`), it is that one, and nothing is
# made; --make makes one all the same, and --find only looks for one. Debian has the compiler (rustc-web) and
# the source of its library (rust-web-src), but not the library for this target. So the packages are fetched
# and unpacked, not installed, and cargo compiles the library from source, in under two minutes on two cores.
#
# The result lies outside the checkout, in $QUIRE_CACHE (else ~/.cache/quire), as rust-VERSION, and
# rust-wasm links to it. `quire build` looks there, too, if no other compiler has the target.
set -euo pipefail

searches=true
makes=true
case "${1:-}" in
  "") ;;
  --make) searches=false ;;
  --find) makes=false ;;
  *) echo "build_rust_std.sh: no option \"$1\" (--make, --find)" >&2; exit 2 ;;
esac

readonly target=wasm32-wasip1
readonly host=x86_64-unknown-linux-gnu
readonly libc=/usr/lib/wasm32-wasi  # Of Debian's wasi-libc.
cache=${QUIRE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/quire}

say() { echo "rust: $*" >&2; }
give_up() { say "$*"; exit 1; }

has_target() {
  local library
  library=$("$1" --print target-libdir --target $target 2>/dev/null) && compgen -G "$library/libstd-*.rlib" >/dev/null
}

for candidate in "${RUSTC:-}" "$(command -v rustc || true)" "$HOME/.cargo/bin/rustc"; do
  if $searches && [ -n "$candidate" ] && [ -x "$candidate" ] && has_target "$candidate"; then
    echo "$candidate"
    exit 0
  fi
done
if [ -e "$cache/rust-wasm/complete" ] && $searches; then
  echo "$cache/rust-wasm/bin/rustc"
  exit 0
fi

$makes || give_up "no compiler has $target; tools/setup.sh rust makes one"

cargo=$(command -v cargo || true)
[ -n "$cargo" ] || [ ! -x "$HOME/.cargo/bin/cargo" ] || cargo=$HOME/.cargo/bin/cargo
[ -n "$cargo" ] || give_up "needs cargo; install it with: apt-get install cargo-web (or rustup: https://rustup.rs)"
[ "$(uname -m)" = x86_64 ] || give_up "Debian's packages are fetched for x86-64 only; use rustup target add $target"
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
  give_up "not a Debian machine; use rustup target add $target"
linker=$(command -v wasm-ld-22 || command -v wasm-ld || true)
[ -n "$linker" ] && [ -e $libc/crt1-command.o ] || give_up "needs lld-22 and wasi-libc; install them with apt-get"

version=$(apt-cache policy rustc-web | sed -n 's/^ *Candidate: //p')  # "1.96.0+dfsg1-1~deb12u2"
case "$version" in "" | "(none)") give_up "no package rustc-web is known; apt-get update may help" ;; esac
number=${version%%+*}
minor=${number%.*}

mkdir -p "$cache"
work=$(mktemp -d "$cache/rust-making.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/packages" "$work/unpacked"
say "fetching rustc $number and the source of its library"
(cd "$work/packages" && apt-get -q download "rustc-web=$version" "libstd-rust-web-$minor=$version" \
  "libstd-rust-web-dev=$version" "rust-web-src=$version" >&2) || give_up "the packages cannot be fetched"
for each in "$work"/packages/*.deb; do dpkg-deb -x "$each" "$work/unpacked"; done

made=$work/made
unpacked=$work/unpacked/usr
mkdir -p "$made/bin" "$made/libexec" "$made/lib/rustlib/src"
cp -a "$unpacked/bin/rustc" "$made/libexec/rustc"
cp -a "$unpacked"/lib/*/librustc_driver-*.so "$made/lib/"
find "$unpacked/lib" -maxdepth 2 -name 'libstd-*.so' -exec cp -a {} "$made/lib/" \;
cp -a "$unpacked/lib/rustlib/$host" "$made/lib/rustlib/"
mv "$unpacked/src/rustc-$number" "$work/source"
ln -s "$work/source" "$made/lib/rustlib/src/rust"
mkdir -p "$made/lib/rustlib/$host/bin"
ln -s "$linker" "$made/lib/rustlib/$host/bin/rust-lld"
# The compiler looks for its own library only where it was installed for all.
cat >"$made/bin/rustc" <<'WRAPPER'
#!/bin/sh
home=$(dirname "$(dirname "$(readlink -f "$0")")")
LD_LIBRARY_PATH="$home/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$home/libexec/rustc" --sysroot "$home" "$@"
WRAPPER
chmod +x "$made/bin/rustc"
"$made/bin/rustc" --version >&2 || give_up "the compiler does not run; it needs libllvm22 (apt-get install clang-22)"

# A library for the smallest program; what cargo compiles on the way is the standard library. What Debian's
# package of the source holds is taken, and no registry asked.
library=$made/lib/rustlib/$target/lib
mkdir -p "$library/self-contained" "$work/probe/src" "$work/probe/.cargo"
cp $libc/crt1-command.o $libc/crt1-reactor.o $libc/libc.a "$library/self-contained/"
printf '[package]\nname = "probe"\nversion = "0.0.0"\nedition = "2021"\n' >"$work/probe/Cargo.toml"
printf 'pub fn probe() {}\n' >"$work/probe/src/lib.rs"
cat >"$work/probe/.cargo/config.toml" <<CONFIG
[source.crates-io]
replace-with = "beside-the-library"
[source.beside-the-library]
directory = "$work/source/library/vendor"
CONFIG
say "compiling the standard library for $target"
# With its bitcode, so that programs can be optimized as a whole (lto = true).
(cd "$work/probe" && env RUSTFLAGS="-C embed-bitcode=yes" RUSTC="$made/bin/rustc" RUSTC_BOOTSTRAP=1 CARGO_NET_OFFLINE=true \
  CARGO_TARGET_DIR="$work/target" "$cargo" build --release -Zbuild-std=std,panic_abort --target $target >&2)
cp "$work/target/$target/release/deps/"*.rlib "$library/"
rm -f "$library"/libprobe-*.rlib
rm -f "$made/lib/rustlib/src/rust"
has_target "$made/bin/rustc" || give_up "the library was compiled, and is not where the compiler looks for it"

folder=$cache/rust-$number
rm -rf "$folder"
touch "$made/complete"
mv "$made" "$folder"
ln -sfn "$folder" "$cache/rust-wasm"
echo "$cache/rust-wasm/bin/rustc"
