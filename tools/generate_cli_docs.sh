#!/usr/bin/env bash
# generate_cli_docs.sh QUIRE [--check]: writes docs/cli.md from what `quire VERB --help` and `quire-bench VERB --help`
# print, or fails if the file differs. quire-bench lies beside QUIRE.
set -euo pipefail
cd "$(dirname "$0")/.."
quire=$(realpath "$1")

# What the user has set must not show up as defaults.
for name in $(env | sed -nE 's/^(QUIRE_[A-Z_]+)=.*/\1/p'); do unset "$name"; done

generate() {
  echo "# quire: the command line"
  echo
  echo "Written by \`tools/generate_cli_docs.sh build/release/quire\` from the program's own help; a test"
  echo "compares the two."
  local verbs=("" run serve status generate chat eval model "model list" "model show" "model add" "model remove"
    "model verify" "adapter list" "adapter show" "adapter add" "adapter remove" tokenize detokenize template build new doctor "config show" "kv list" "kv show"
    "kv export" "kv import" "kv delete" "kv verify" "kv gc" "kv tree" "kv why"
    "bench kv" "bench generate" "bench launch" completion)
  for verb in "${verbs[@]}"; do
    section "$quire" "$verb"
  done
  for verb in "" restore pressure sink batching scheduler arrival constraint overhead calls pages; do
    section "$quire-bench" "$verb"
  done
}

# section PROGRAM VERB: the help of one verb, below its name.
section() {
  echo
  echo "## ${1##*/}${2:+ $2}"
  echo
  echo '```text'
  # shellcheck disable=SC2086  # A verb of two words is two arguments.
  "$1" $2 --help | sed -e 's/[[:space:]]*$//' -e '/./,$!d' | cat -s
  echo '```'
}

if [ "${2:-}" = "--check" ]; then
  diff -u docs/cli.md <(generate) || {
    echo "docs/cli.md differs from --help: run tools/generate_cli_docs.sh $1" >&2
    exit 1
  }
else
  generate >docs/cli.md
fi
