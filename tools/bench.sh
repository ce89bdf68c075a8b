#!/usr/bin/env bash
# bench.sh [OPTION...]: runs every measurement of quire-bench in turn, each under its command: generation and the page
# store, then scheduling and programs. It takes a quarter of an hour, in which nothing else should run. The options go to
# the measurements that load a model.
set -euo pipefail
source "$(dirname "$0")/common.sh"
quire=build/release/quire
bench() {
  echo
  echo "quire-bench $*"
  build/release/quire-bench "$@"
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
