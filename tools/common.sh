# Shared by the scripts in tools/: where things are, and one printed line for each step.
# Source it; it changes to the root of the checkout.
cd "$(dirname "${BASH_SOURCE[0]}")/.."

QUIRE_CACHE="${QUIRE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/quire}"
export QUIRE_CACHE
# One compiler cache for all checkouts of this user: paths inside the checkout are hashed as relative.
export CCACHE_DIR="${CCACHE_DIR:-$QUIRE_CACHE/ccache}"
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}"
export CCACHE_NOHASHDIR=1
export CCACHE_MAXSIZE="${CCACHE_MAXSIZE:-4G}"
# A cache that cannot be written must not stop a build.
if ! mkdir -p "$CCACHE_DIR" 2>/dev/null || ! [ -w "$CCACHE_DIR" ]; then
  export CCACHE_DISABLE=1
fi

LOG_FOLDER="$PWD/build/logs"
JOBS="${JOBS:-$(nproc)}"

seconds_now() { date +%s.%N; }

# step NAME WHAT COMMAND...: runs the command with its output in build/logs/NAME.log and prints one
# line with the time it took. On failure the end of the log follows, and the script ends.
step() {
  local name=$1 what=$2 begin end code=0
  shift 2
  mkdir -p "$LOG_FOLDER"
  begin=$(seconds_now)
  if [ -t 1 ]; then printf '%-10s %s ...' "$name" "$what"; fi
  "$@" >"$LOG_FOLDER/$name.log" 2>&1 </dev/null || code=$?
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
