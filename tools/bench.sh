#!/usr/bin/env bash
# bench.sh: measures this machine: generation speed, then paged against basic. Nothing else should run.
set -euo pipefail
source "$(dirname "$0")/common.sh"
quire=build/release/quire
"$quire" doctor | sed -n '2,4p'
echo
"$quire" bench generate "$@"
echo
"$quire" bench kv "$@"
echo
"$quire" bench restore
echo
"$quire" bench pressure
echo
"$quire" bench sink
