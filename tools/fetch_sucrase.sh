#!/usr/bin/env bash
# Fetches sucrase (MIT), which takes the types of TypeScript away, from the npm registry: once per
# machine, into $QUIRE_CACHE/sucrase-VERSION (else ~/.cache/quire); prints that folder as its last
# line. The runtime of scripts (sdk/javascript) has its modules inside, and is left out of a build
# where they are missing.
set -euo pipefail

readonly version=3.35.1
readonly sha512=DhuTmvZWux4H1UOnWMB3sk0sbaCVOoQZjv8u1rDoTV0HTdGem9hkAZtl4JZy8P2z4Bg0nT+YMeOFyVr4zcG5Tw==
folder=${QUIRE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/quire}/sucrase-$version

mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"
flock 9
if [ -e "$folder/complete" ]; then
  echo "$folder"
  exit 0
fi
for tool in npm openssl tar; do
  command -v "$tool" >/dev/null || { echo "sucrase: needs $tool" >&2; exit 1; }
done
work=$(mktemp -d "$folder.part.XXXXXX")
trap 'rm -rf "$work"' EXIT

echo "sucrase: fetching $version ..." >&2
(cd "$work" && npm pack --silent "sucrase@$version" >/dev/null)
archive=$work/sucrase-$version.tgz
found=$(openssl dgst -sha512 -binary "$archive" | base64 -w0)
[ "$found" = "$sha512" ] || {
  echo "sucrase: $version is not the one that is expected: SHA-512 $found" >&2
  exit 1
}
tar -xzf "$archive" -C "$work"
mv "$work/package/dist/esm" "$work/done"
cp "$work/package/LICENSE" "$work/done/"
touch "$work/done/complete"
rm -rf "$folder"
mv "$work/done" "$folder"
echo "$folder"
