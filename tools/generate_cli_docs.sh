#!/usr/bin/env bash
# generate_cli_docs.sh QUIRE [--check]: writes docs/cli.md from what `quire VERB --help` prints, or
# fails when the file says something else.
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
    "model verify" tokenize detokenize template build new doctor "config show" "kv list" "kv show"
    "kv export" "kv import" "kv delete" "kv verify" "kv gc" "kv tree" "kv why"
    "bench kv" "bench generate" "bench restore" "bench pressure" "bench sink"
    "bench batching" "bench scheduler" "bench arrival" "bench constraint" "bench launch" "bench overhead" "bench calls"
    "bench pages" completion)
  for verb in "${verbs[@]}"; do
    echo
    echo "## quire${verb:+ $verb}"
    echo
    echo '```text'
    # shellcheck disable=SC2086  # A verb of two words is two arguments.
    "$quire" $verb --help | sed -e 's/[[:space:]]*$//' -e '/./,$!d' | cat -s
    echo '```'
  done
}

if [ "${2:-}" = "--check" ]; then
  diff -u docs/cli.md <(generate) || {
    echo "docs/cli.md differs from --help: run tools/generate_cli_docs.sh $1" >&2
    exit 1
  }
else
  generate >docs/cli.md
fi
