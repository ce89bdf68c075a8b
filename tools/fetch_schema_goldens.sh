#!/usr/bin/env bash
# Fetches JSON-Schema-Test-Suite (MIT), draft 2020-12, out of the source package of jsonschema. Once
# per machine, into $QUIRE_CACHE/goldens/json_schema (else ~/.cache/quire/goldens/json_schema); prints
# that folder as its last line. The test that needs it is skipped, by name, where it is missing.
set -euo pipefail

readonly version=4.26.0
readonly sha256=0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326
goldens=${QUIRE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/quire}/goldens
folder=$goldens/json_schema

mkdir -p "$goldens"
exec 9>"$goldens/lock"
flock 9
if [ -e "$folder/complete-$version" ]; then
  echo "$folder"
  exit 0
fi

work=$(mktemp -d "$goldens/part.XXXXXX")
trap 'rm -rf "$work"' EXIT
archive=$work/jsonschema-$version.tar.gz
echo "goldens: fetching the source of jsonschema $version (0.4 MiB) ..." >&2
# pip also fetches what the package needs to tell its metadata; nothing is compiled.
python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary jsonschema \
  --dest "$work" "jsonschema==$version" >&2
echo "$sha256  $archive" | sha256sum --check --quiet >&2

tar -xzf "$archive" -C "$work" "jsonschema-$version/json/tests/draft2020-12" \
  "jsonschema-$version/json/LICENSE"
rm -rf "$folder"
mkdir "$folder"
mv "$work/jsonschema-$version/json/tests/draft2020-12" "$work/jsonschema-$version/json/LICENSE" "$folder"
touch "$folder/complete-$version"
echo "$folder"
