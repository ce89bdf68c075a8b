#!/usr/bin/env bash
# install.sh PREFIX: installs what build/release has, and builds first only if something is missing or older than its
# sources. The build's own cache is used, also for another user, as under sudo. Files of an earlier installation that
# this one does not have go.
# install.sh --remove PREFIX: removes exactly the files that the last installation wrote, and the folders that are
# empty then. Models, stores, chats and caches stay.
set -euo pipefail
source "$(dirname "$0")/common.sh"

LIST=share/quire/installed_files.txt  # Below PREFIX; the files, each relative to it.
TARGETS=(quire inferlets runtimes share)

# The cache that has the engines of the build; empty without a build.
cache_of_build() {
  local engines
  engines=$(grep -m 1 -oE '/[^ ]*/engines-[0-9a-f]+/libquire_engines\.a' build/release/build.ninja 2>/dev/null) || return 0
  dirname "$(dirname "$engines")"
}

# Nothing, if the build is there and newer than its sources.
build_missing() {
  local cache
  cache=$(cache_of_build)
  export QUIRE_CACHE=${cache:-$QUIRE_CACHE}
  if [ -n "$cache" ]; then
    ninja -C build/release -j "$JOBS" "${TARGETS[@]}"
    # What root wrote there would keep the checkout's user from building.
    [ "$(id -u)" -ne 0 ] || chown --reference=Makefile build/release/.ninja_log build/release/.ninja_deps
  else
    tools/setup.sh packages engines quickjs build
  fi
}

# remove_files PREFIX LIST...: each file, and each folder on the way to it that is empty then.
remove_files() {
  local prefix=$1 file folder
  shift
  for file in "$@"; do
    rm -f -- "$prefix/$file"
    folder=$(dirname "$file")
    while [ "$folder" != . ] && rmdir -- "$prefix/$folder" 2>/dev/null; do folder=$(dirname "$folder"); done
  done
}

install_into() {
  local prefix=$1 list="$1/$LIST" before=() now=() gone=()
  build_missing
  if [ -f "$list" ]; then mapfile -t before <"$list"; fi
  cmake --install build/release --prefix "$prefix"
  mapfile -t now < <(sed "s|^$prefix/||" build/release/install_manifest.txt; echo "$LIST")
  rm -f build/release/install_manifest.txt  # Root's would keep this checkout's user from the next one.
  printf '%s\n' "${now[@]}" | sort >"$list"
  mapfile -t gone < <(comm -23 <(printf '%s\n' "${before[@]}" | grep . | sort) "$list")
  remove_files "$prefix" "${gone[@]}"
}

remove_from() {
  local prefix=$1 list="$1/$LIST" files=()
  if [ ! -f "$list" ]; then
    echo "install.sh: $list is not there, so nothing says what to remove; PREFIX names another place" >&2
    exit 1
  fi
  mapfile -t files <"$list"
  remove_files "$prefix" "${files[@]}"
  echo "uninstalled ${#files[@]} files from $prefix; models, stores and caches stay (quire's docs/guide/install.md)"
}

case "${1:-}" in
  --remove) remove_from "$(realpath -m "${2:?install.sh --remove PREFIX}")" ;;
  "" | -*) echo "install.sh: give PREFIX, or --remove PREFIX" >&2; exit 2 ;;
  *) install_into "$(realpath -m "$1")" ;;
esac
