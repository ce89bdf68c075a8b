#!/usr/bin/env bash
# build_presets.sh [PRESET...]: builds the programs of presets that no daily run builds: asan, tsan and fuzz. Without an
# argument it builds the one whose turn it is: each has one day of seven (QUIRE_PRESET_DAY, 0 to 6, repeats a day),
# and on the other four there is nothing to do. It runs none of them: tools/campaign.sh does.
set -euo pipefail
source "$(dirname "$0")/common.sh"

preset_of_day() {  # DAY
  case "$1" in
    0) echo asan ;;
    2) echo tsan ;;
    4) echo fuzz ;;
  esac
}

# Tests compile what they test, so a preset is whole if they build. The fuzzers are one target.
targets_of() {  # PRESET
  if [ "$1" = fuzz ]; then
    echo fuzzers
  else
    ninja -C "build/$1" -t targets all | sed -nE 's/^(quire_[a-z0-9_]+_test|[a-z0-9_]+_fuzz): phony$/\1/p' | sort -u
  fi
}

build_preset() {  # PRESET
  local targets
  cmake --preset "$1"
  mapfile -t targets < <(targets_of "$1")
  [ "${#targets[@]}" -gt 0 ] || { echo "the preset $1 has no tests"; return 1; }
  ninja -C "build/$1" -j "$JOBS" "${targets[@]}"
}

presets=("$@")
if [ "$#" -eq 0 ]; then
  mapfile -t presets < <(preset_of_day "${QUIRE_PRESET_DAY:-$(($(date -u +%s) / 86400 % 7))}")
fi
for preset in "${presets[@]}"; do
  step "$preset" "cmake --preset $preset and build its tests" build_preset "$preset"
done
