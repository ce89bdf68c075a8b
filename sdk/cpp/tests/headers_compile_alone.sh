#!/usr/bin/env bash
# headers_compile_alone.sh SDK GUEST_COMPILER HOST_COMPILER: fails when a header needs another one
# to be included first, or warns.
set -euo pipefail
sdk=$1 guest=$2 host=$3
mapfile -t flags <"$sdk/guest_flags.rsp"
check() {  # NAME COMPILER...
  local name=$1
  shift
  echo "#include \"quire/$name\"" |
    "$@" -I"$sdk/include" -Wall -Wextra -Wshadow -Werror -std=c++20 -fsyntax-only -x c++ - ||
    { echo "quire/$name does not compile alone with: $*"; return 1; }
}
jobs=()
for header in "$sdk"/include/quire/*.h; do
  check "$(basename "$header")" "$guest" "${flags[@]}" & jobs+=($!)
done
for name in sampling.h stop.h utf8.h; do
  check "$name" "$host" -Wpedantic & jobs+=($!)
done
failed=0
for job in "${jobs[@]}"; do
  wait "$job" || failed=1
done
exit $failed
