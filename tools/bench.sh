#!/usr/bin/env bash
# bench.sh [OPTION...]: measures this machine, every `quire bench` in turn, each under the command that
# it is: generation and the page store, then scheduling and programs. A quarter of an hour; nothing
# else should run. The options go to those that load a model.
set -euo pipefail
source "$(dirname "$0")/common.sh"
quire=build/release/quire
bench() {
  echo
  echo "quire bench $*"
  "$quire" bench "$@"
}
"$quire" doctor | sed -n '2,4p'
bench generate "$@"
bench kv "$@"
bench restore "$@"
bench pressure "$@"
bench sink "$@"
bench pages
bench scheduler
bench batching --device simulated
bench batching --device cpu "$@"
bench arrival "$@"
bench calls "$@"
bench overhead "$@"
bench launch "$@" build/release/bench/first_message.wasm -- --prompt x
