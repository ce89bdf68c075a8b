#!/usr/bin/env bash
# sample_test.sh BUILD_FOLDER: the output that README.md shows of `make run` is what is printed. Runs the
# command of `make run` and compares the first words of the answer, and the closing line with each number
# as #. Exit code 77 (skipped) where the default model is not there.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)

models="${QUIRE_DATA:-${XDG_DATA_HOME:-$HOME/.local/share}/quire}/models"
if [ ! -e "$models/smollm2-135m-instruct.gguf" ]; then
  echo "the default model is not there: \`make model\` fetches it"
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk '/^What you will see of `make run`/ { wanted = 1 }
     /^```/ { if (inside) exit; if (wanted) inside = 1; next }
     inside' "$root/README.md" >"$work/sample"
prompt=$(sed -n 's/^PROMPT ?= //p' "$root/Makefile")
arguments=$(sed -nE 's/^\t@\$\(QUIRE\) run \$\(PROGRAM\) -- (.*) --prompt "\$\(PROMPT\)"$/\1/p' "$root/Makefile")
[ -n "$prompt" ] && [ -n "$arguments" ] || { echo "the Makefile runs something else" >&2; exit 1; }

# shellcheck disable=SC2086  # The flags are words.
QUIRE_NO_STORE=1 "$build/quire" run "$build/inferlets/text_completion.wasm" -- $arguments \
  --prompt "$prompt" >"$work/answer" 2>"$work/log"

masked() { sed -E 's/[0-9]+(\.[0-9]+)?/#/g'; }
# The answer, to where the sample leaves something out; the sample breaks its lines.
sample_answer=$(sed -n '/^The /,/\[\.\.\.\]/p' "$work/sample" | tr '\n' ' ' | sed 's/ \[\.\.\.\].*//')
answer=$(tr '\n' ' ' <"$work/answer")
failed=0
if [ -z "$sample_answer" ] || [ "${answer#"$sample_answer"}" = "$answer" ]; then
  printf 'README.md shows the answer:\n  %s\nand it is:\n  %s\n' "$sample_answer" "$answer" >&2
  failed=1
fi
sample_line=$(tail -1 "$work/sample" | masked)
line=$(tail -1 "$work/log" | masked)
if [ "$sample_line" != "$line" ]; then
  printf 'README.md shows the closing line:\n  %s\nand it is:\n  %s\n' "$sample_line" "$line" >&2
  failed=1
fi
# The steps of the set-up, by their names.
steps=$(sed -nE 's/^\t@tools\/setup\.sh (packages engines model answer)$/\1/p' "$root/Makefile" | head -1)
[ -n "$steps" ] || { echo "the Makefile has other steps" >&2; exit 1; }
for step in ${steps/answer/configure build}; do
  grep -q "^$step  *[0-9.]* s  " "$work/sample" || { echo "README.md shows no step $step" >&2; failed=1; }
done
exit $failed
