#!/usr/bin/env bash
# tools/trace_hashes.sh COUNT [BUILD]: the hash of the trace of each of the first COUNT seeds of the
# simulation, a line each, on standard output. Two commits with the same lines behave alike, event by
# event: run it before and after a change that is to change no behavior, and compare.
#
#   tools/trace_hashes.sh 2000 >before; ...; tools/trace_hashes.sh 2000 | diff before -
set -euo pipefail
cd "$(dirname "$0")/.."
count=${1:?"how many seeds?"}
build=${2:-build/release}
output=$(mktemp)
trap 'rm -f "$output"' EXIT
QUIRE_SIMULATION_HASHES=$count "$build/tests/simulation/quire_simulation_test" \
  --gtest_filter='World.PrintsTheHashesOfTheFirstSeedsThatAreAskedFor' >"$output" ||
  { cat "$output" >&2; exit 1; }
grep '^hash of seed' "$output"
