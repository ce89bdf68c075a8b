#!/usr/bin/env bash
# campaign.sh: all seeds in the release build, all tests under ASan+UBSan and TSan, then every fuzzer
# for QUIRE_FUZZ_SECONDS (60) each. Needs hours rather than minutes on two cores.
set -euo pipefail
source "$(dirname "$0")/common.sh"
export QUIRE_SEED_SHARE=0/1
seconds="${QUIRE_FUZZ_SECONDS:-60}"

tools/run_tests.sh release
for preset in asan tsan; do
  step "$preset" "cmake --preset $preset and build" \
    bash -c "cmake --preset $preset && ninja -C build/$preset -j $JOBS"
  tools/run_tests.sh "$preset"
done

step fuzz "cmake --preset fuzz and build" bash -c "cmake --preset fuzz && ninja -C build/fuzz -j $JOBS"
corpus_root="$QUIRE_CACHE/fuzz"
while IFS= read -r program; do
  name=$(basename "$program")
  mkdir -p "$corpus_root/$name" build/fuzz/findings
  seeds=()
  if [ -d "tests/fuzz/$name" ]; then seeds=("tests/fuzz/$name"); fi
  step "$name" "fuzzing for $seconds s" "$program" -max_total_time="$seconds" -timeout=20 \
    -rss_limit_mb=2048 -artifact_prefix="build/fuzz/findings/$name-" "$corpus_root/$name" "${seeds[@]}"
done < <(find build/fuzz -type f -perm -u+x -name '*_fuzz' | sort)
