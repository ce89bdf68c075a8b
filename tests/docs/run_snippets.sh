#!/usr/bin/env bash
# run_snippets.sh BUILD_FOLDER: runs the shell blocks of the documents that stand behind a line
# <!-- runnable -->, each in a fresh copy of what it needs, with build/release meaning BUILD_FOLDER.
# A block after <!-- program NAME.cpp --> is the file NAME.cpp there; likewise one in JavaScript or TypeScript.
# Exit code 77 (skipped) where the default model is not there.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)

models="${QUIRE_DATA:-${XDG_DATA_HOME:-$HOME/.local/share}/quire}/models"
if [ ! -e "$models/smollm2-135m-instruct.gguf" ]; then
  echo "the default model is not there: \`make model\` fetches it"
  exit 77
fi

export QUIRE_CONFIG=/dev/null  # Not what the user has set.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/checkout/build"
for each in "$root"/*; do
  [ "$(basename "$each")" = build ] || ln -s "$each" "$work/checkout/"
done
ln -s "$build" "$work/checkout/build/release"

count=0
cd "$root"
while IFS= read -r file; do
  name=${file%.md}
  awk -v folder="$work" -v name="${name//\//_}" '
    /^<!-- program [a-z_]+\.(cpp|js|ts) -->$/ { program = folder "/checkout/" $3; next }
    /^```(cpp|js|ts)$/ && program { printing = program; program = ""; next }
    /^```$/ { printing = "" }
    printing { print > printing }
    /^<!-- runnable -->$/ { wanted = 1; next }
    /^```sh$/ && wanted { inside = 1; wanted = 0; number += 1; next }
    /^```$/ { inside = 0 }
    inside { print > (folder "/" name "-" number ".sh") }
  ' "$file"
done < <(git ls-files '*.md' 2>/dev/null || find . -name '*.md' -not -path './build/*')
for snippet in "$work"/*.sh; do
  [ -e "$snippet" ] || continue
  echo "== $(basename "$snippet")"
  cp -a "$work/checkout" "$work/fresh"
  (cd "$work/fresh" && bash -euo pipefail "$snippet" </dev/null)
  rm -rf "$work/fresh"
  count=$((count + 1))
done
echo "$count snippets ran"
[ "$count" -gt 0 ]
