#!/usr/bin/env bash
# campaign.sh [PART...]: what `make test` takes a share of, in full. Parts, by default all in this
# order, each a line per step with its time:
#   release   all tests with all seeds, release build; programs that mean harm on the default model,
#             whose server's memory may grow by a twentieth and no more, and beside which the
#             victim's p99 between tokens is at most 1.5 times that alone, and so a stream's beside
#             another tenant's floods of output and of grammars; a thousand launches of a script
#             that takes 100 MiB
#   engines   the Rust tests of engines/, and that no crate of theirs has an open advisory
#   asan      all tests under ASan and UBSan, with the day's share of the seeds (all of them
#             take the scalar kernels' bits alone three minutes without sanitizers), and a million
#             random host calls
#   tsan      all tests below the sandbox under TSan, with a sixty-fourth of the seeds (with an eighth
#             the scalar kernels' bits alone take more than half an hour)
#   fuzz      every fuzzer for QUIRE_FUZZ_SECONDS (60) under ASan and UBSan
#   coverage  what the fuzzers' inputs reach of the parsers' lines, at least 85 %
# Each part builds what it needs, stops at its first failure, and can be run again alone.
set -euo pipefail
source "$(dirname "$0")/common.sh"
export QUIRE_SEED_SHARE=0/1
seconds="${QUIRE_FUZZ_SECONDS:-60}"

build_preset() {  # PRESET TARGET...
  cmake --preset "$1" && ninja -C "build/$1" -j "$JOBS" "${@:2}"
}

tests_of() {  # PRESET
  step "$1" "cmake --preset $1 and build" build_preset "$1"
  tools/run_tests.sh "$1"
}

release() {
  tests_of release
  step hostile "programs that mean harm, beside a victim on the default model" \
    tests/hostile/hostile_test.py build/release --model smollm2-135m-instruct
  step hostile "how long the victim waits beside each, at most 1.5 times as long as alone" \
    tests/hostile/hostile_test.py build/release --judge --model smollm2-135m-instruct
  step victim "one tenant's stream beside floods of output and grammars of another, at most 1.5 times" \
    python3 tests/security/victim_test.py build/release
  step launches "a thousand launches of a script that takes 100 MiB, beside another tenant's completions" \
    env QUIRE_LAUNCHES=1000 python3 tests/security/launches_test.py build/release
}
asan() (
  # All random calls, a million of them; of the other seeds the day's share.
  step wild "cmake --preset asan and build" build_preset asan
  step wild "a million random host calls beside a victim" \
    tests/hostile/wild_test.py build/asan
  unset QUIRE_SEED_SHARE
  tests_of asan
)
tsan() (
  export QUIRE_SEED_SHARE="$(($(date -u +%s) / 86400 % 64))/64"
  tests_of tsan
)

engines() {
  step advisories "tools/check_advisories.py" python3 tools/check_advisories.py
  step engines "cargo test of engines/, on the build's own target folder" tools/build_engines.sh --test
}

fuzz() {
  step fuzz "cmake --preset fuzz and build" build_preset fuzz fuzzers
  local program name seeds
  while IFS= read -r program; do
    name=$(basename "$program")
    mkdir -p "$QUIRE_CACHE/fuzz/$name" build/fuzz/findings
    seeds=()
    if [ -d "tests/fuzz/$name" ]; then seeds=("tests/fuzz/$name"); fi
    step "$name" "fuzzing for $seconds s" "$program" -max_total_time="$seconds" -timeout=20 \
      -rss_limit_mb=2048 -artifact_prefix="build/fuzz/findings/$name-" \
      "$QUIRE_CACHE/fuzz/$name" "${seeds[@]}"
  done < <(find build/fuzz -type f -perm -u+x -name '*_fuzz' | sort)
}

coverage() { tools/fuzz_coverage.sh; }

all=(release engines asan tsan fuzz coverage)
parts=("$@")
if [ "$#" -eq 0 ]; then parts=("${all[@]}"); fi
for part in "${parts[@]}"; do
  case " ${all[*]} " in
    *" $part "*) ;;
    *)
      echo "campaign.sh: no part \"$part\" (${all[*]})" >&2
      exit 2
      ;;
  esac
done
begun=$SECONDS
for part in "${parts[@]}"; do
  part_begun=$SECONDS
  "$part"
  printf '%-10s %6d s  in all: part %s is green\n' campaign "$((SECONDS - part_begun))" "$part"
done
printf '%-10s %6d s  %s\n' campaign "$((SECONDS - begun))" "${parts[*]}: green"
