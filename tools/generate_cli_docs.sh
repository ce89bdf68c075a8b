#!/usr/bin/env bash
# generate_cli_docs.sh QUIRE [--check]: writes docs/reference/cli.md from what `quire VERB --help` and `quire-bench VERB --help`
# print, with what --help-all adds to it once, or fails if the file differs. quire-bench lies beside QUIRE.
set -euo pipefail
cd "$(dirname "$0")/.."
quire=$(realpath "$1")

# The width of help where there is no terminal.
export COLUMNS=100
# What the user has set must not show up as defaults.
for name in $(env | sed -nE 's/^(QUIRE_[A-Z_]+)=.*/\1/p'); do unset "$name"; done

generate() {
  echo "# quire: the command line"
  echo
  echo "Written by \`tools/generate_cli_docs.sh build/release/quire\` from the program's own help; a test"
  echo "compares the two."
  local verbs=("" run serve status ps attach send abort generate chat eval model "model list" "model show" "model add" "model remove"
    "model verify" "adapter list" "adapter show" "adapter add" "adapter remove" tokenize detokenize template build new doctor "config show" "kv list" "kv show"
    "kv export" "kv import" "kv delete" "kv verify" "kv gc" "kv tree" "kv why"
    "keys add" "keys list" "keys revoke" usage "bench kv" "bench generate" "bench launch" completion help)
  for verb in "${verbs[@]}"; do
    section "$quire" "$verb"
  done
  echo
  echo "## Limits"
  echo
  echo "\`quire run\` and \`quire serve\` take these flags, and print them with \`--help-all\`. Those of \`quire run\`:"
  part run Limits
  echo
  echo "Those of \`quire serve\`:"
  part serve Limits
  echo
  echo "## Flags of the engine"
  echo
  echo "Each verb that starts an engine takes these flags, and prints them with \`--help-all\`. Only \`quire run\` and"
  echo "\`quire serve\` take \`--store\`, \`--kv-host\`, \`--kv-disk\` and \`--no-store\`."
  part run Engine
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

# part VERB HEADING: one paragraph of what --help-all prints.
part() {
  echo
  echo '```text'
  "$quire" "$1" --help-all | awk -v RS= -v head="$2:" 'index($0, head) == 1'
  echo '```'
}

if [ "${2:-}" = "--check" ]; then
  diff -u docs/reference/cli.md <(generate) || {
    echo "docs/reference/cli.md differs from --help: run tools/generate_cli_docs.sh $1" >&2
    exit 1
  }
else
  generate >docs/reference/cli.md
fi
