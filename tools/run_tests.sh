#!/usr/bin/env bash
# run_tests.sh PRESET [CTEST ARGUMENTS]: runs the tests of a build and ends with the line
# `N passed, N failed, N skipped`.
#
# Seeded campaigns run a share of their seeds that changes from day to day, and say which: set
# QUIRE_SEED_SHARE=3/8 to repeat one, 0/1 to run them all. The suite needs no network.
set -euo pipefail
source "$(dirname "$0")/common.sh"
preset=$1
shift

SHARE_COUNT=8
: "${QUIRE_SEED_SHARE:=$(($(date -u +%s) / 86400 % SHARE_COUNT))/$SHARE_COUNT}"
export QUIRE_SEED_SHARE
echo "seeds      share $QUIRE_SEED_SHARE (repeat it with QUIRE_SEED_SHARE=$QUIRE_SEED_SHARE)"

mkdir -p "$LOG_FOLDER"
log="$LOG_FOLDER/ctest-$preset.log"
# Two at a time: many tests drive an engine with threads of its own.
code=0
ctest --test-dir "build/$preset" -j "${TEST_JOBS:-2}" --output-on-failure --no-tests=error \
  --test-output-size-failed 20000 "$@" >"$log" 2>&1 || code=$?

failed=$(sed -nE 's/.* tests passed, ([0-9]+) tests? failed out of [0-9]+$/\1/p' "$log")
total=$(sed -nE 's/.* tests passed, [0-9]+ tests? failed out of ([0-9]+)$/\1/p' "$log")
skipped=$(grep -cE '\*\*\*Skipped|\*\*\*Not Run \(Disabled\)' "$log" || true)
if [ -z "$total" ]; then
  tail -n 60 "$log"
  echo "ctest did not finish (exit code $code); the whole output is in $log"
  echo "0 passed, 1 failed"
  exit 1
fi
if [ "$failed" -ne 0 ]; then
  grep -vE ' +Passed +[0-9.]+ sec$|^ +Start +[0-9]+:' "$log"
fi
if [ "$skipped" -ne 0 ]; then
  echo "skipped:"
  grep -E '\*\*\*Skipped|\*\*\*Not Run \(Disabled\)' "$log" | sed -E 's/^.*Test +#[0-9]+: ([^ ]+).*/  \1/'
fi
sed -nE 's/^Total Test time \(real\) = +(.*) sec$/tests      \1 s/p' "$log"
echo "$((total - failed - skipped)) passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$code" -eq 0 ]
