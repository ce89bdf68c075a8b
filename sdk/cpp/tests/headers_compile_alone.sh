#!/usr/bin/env bash
# headers_compile_alone.sh SOURCE FOLDER GUEST_COMPILER HOST_COMPILER [LAUNCHER]: fails when a header
# of the SDK or of draw/ needs another one
# to be included first, or warns. What it compiles lies in FOLDER, by the same
# names each time, so that a LAUNCHER that remembers (ccache) knows what has not changed.
set -euo pipefail
source_folder=$1 folder=$2 guest=$3 host=$4 launcher=("${@:5}")
mapfile -t flags <"$source_folder/sdk/cpp/guest_flags.rsp"
mkdir -p "$folder"
check() {  # NAME COMPILER...
  local name=$1 source
  shift
  source=$folder/$(basename "$1")_$name.cpp
  echo "#include \"quire/$name\"" >"$source"
  "${launcher[@]}" "$@" -I"$source_folder/sdk/cpp/include" -I"$source_folder/draw/include" -Wall -Wextra -Wshadow -Werror -std=c++20 -c "$source" \
    -o "$source.o" ||
    { echo "quire/$name does not compile alone with: $*"; return 1; }
}
jobs=()
for header in "$source_folder"/{sdk/cpp,draw}/include/quire/*.h; do
  check "$(basename "$header")" "$guest" "${flags[@]}" & jobs+=($!)
done
for name in annotations.h draw_arithmetic.h draw_rule.h sampling.h stop.h utf8.h; do
  check "$name" "$host" -Wpedantic & jobs+=($!)
done
failed=0
for job in "${jobs[@]}"; do
  wait "$job" || failed=1
done
exit $failed
