#!/usr/bin/env bash
# tools/trace_hashes.sh COUNT [BUILD]: the hash of the trace of each of the first COUNT seeds of the
# simulation, a line each, on standard output. Two commits with the same lines behave alike, event by
# event: run it before and after a change that is to change no behavior, and compare.
#
#   tools/trace_hashes.sh 2000 >before; ...; tools/trace_hashes.sh 2000 | diff before -
#
# A seed that fails has a line on standard error instead, and the others follow. A seed that ends the
# process is the last, and is named there too. The exit status is not 0 if a seed failed.
set -euo pipefail
cd "$(dirname "$0")/.."
count=${1:?"how many seeds?"}
build=${2:-build/release}
simulation=$build/tests/simulation/quire_simulation_test
if [ ! -x "$simulation" ]; then
  echo "$simulation is missing: build the target quire_simulation_test first" >&2
  exit 2
fi
QUIRE_SIMULATION_HASHES=$count "$simulation" \
  --gtest_filter='World.PrintsTheHashesOfTheFirstSeedsThatAreAskedFor' |
  awk -v count="$count" -v simulation="$simulation" '
    /^hash of seed / { ++seen; print; fflush() }
    /^failure of seed / { ++seen; print >"/dev/stderr" }
    END {
      if (seen >= count) exit 0
      print "seed " seen + 0 " did not end: replay it with QUIRE_SIMULATION_SEED=" seen + 0, \
        simulation " --gtest_filter=World.ReplaysTheSeedThatIsAskedFor" >"/dev/stderr"
      exit 1
    }'
