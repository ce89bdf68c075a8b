# Shared by the scripts in tools/: where things are, and one printed line for each step.
# Source it; it changes to the root of the checkout.
cd "$(dirname "${BASH_SOURCE[0]}")/.."

QUIRE_CACHE="${QUIRE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/quire}"
export QUIRE_CACHE
# One compiler cache for all checkouts of this user: paths inside the checkout are hashed as relative.
export CCACHE_DIR="${CCACHE_DIR:-$QUIRE_CACHE/ccache}"
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}"
export CCACHE_NOHASHDIR=1
# What ccache asks for before it serves a file that reads a precompiled header, and that it takes the digest of
# such a header from the file .sum beside it (cmake/Inferlets.cmake).
export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros}"
export CCACHE_PCH_EXTSUM=1
export CCACHE_MAXSIZE="${CCACHE_MAXSIZE:-4G}"
# A cache that cannot be written must not stop a build.
if ! mkdir -p "$CCACHE_DIR" 2>/dev/null || ! [ -w "$CCACHE_DIR" ]; then
  export CCACHE_DISABLE=1
fi

LOG_FOLDER="$PWD/build/logs"
JOBS="${JOBS:-$(nproc)}"

seconds_now() { date +%s.%N; }

# What a log says of how much is done: ninja's "[12/345]", or the crates that the engines' build has begun.
progress_of() {
  tail -c 4000 "$1" | grep -oE '^\[[0-9]+/[0-9]+\]|[0-9]+ of at most [0-9]+ crates' | tail -1 || true
}

# watch_step NAME WHAT LOG: until it is ended, shows what the log says is done: in place on a terminal, else a
# line a minute.
watch_step() {
  local seconds=0 pause=60
  if [ -t 1 ]; then pause=1; fi
  while sleep "$pause" >/dev/null 2>&1; do  # Not holding the output of the script once it is over.
    seconds=$((seconds + pause))
    if [ -t 1 ]; then
      printf '\r\033[K%-10s %s ... %s' "$1" "$2" "$(progress_of "$3")"
    else
      printf '%-10s %6d s  so far: %s\n' "$1" "$seconds" "$(progress_of "$3")"
    fi
  done
}

# step NAME WHAT COMMAND...: runs the command with its output in build/logs/NAME.log and prints one
# line with the time it took, and before that what is done of it. On failure the end of the log follows, and the
# script ends.
step() {
  local name=$1 what=$2 begin end watcher code=0
  shift 2
  mkdir -p "$LOG_FOLDER"
  begin=$(seconds_now)
  : >"$LOG_FOLDER/$name.log"
  watch_step "$name" "$what" "$LOG_FOLDER/$name.log" &
  watcher=$!
  "$@" >"$LOG_FOLDER/$name.log" 2>&1 </dev/null || code=$?
  kill "$watcher" 2>/dev/null || true
  wait "$watcher" 2>/dev/null || true
  end=$(seconds_now)
  if [ -t 1 ]; then printf '\r\033[K'; fi
  if [ "$code" -ne 0 ]; then
    printf '%-10s FAILED after %.1f s: %s\n' "$name" "$(echo "$end $begin" | awk '{print $1-$2}')" "$what"
    tail -n 40 "$LOG_FOLDER/$name.log" | sed 's/^/  | /'
    echo "The whole output is in build/logs/$name.log"
    exit "$code"
  fi
  printf '%-10s %6.1f s  %s\n' "$name" "$(echo "$end $begin" | awk '{print $1-$2}')" "$what"
}
