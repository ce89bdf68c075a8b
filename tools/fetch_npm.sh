#!/usr/bin/env bash
# fetch_npm.sh PACKAGE: fetches one of the packages below from the npm registry, once per machine, into
# $QUIRE_CACHE/PACKAGE-VERSION (else ~/.cache/quire); prints that folder as its last line.
#
#   sucrase      (MIT) takes the types of TypeScript away; a part of the runtime of scripts (sdk/javascript),
#                which refuses TypeScript where it was built without
#   typescript   (Apache-2.0) checks types; tests of sdk/javascript/quire.d.ts alone need it
set -euo pipefail

readonly name=${1:-}
case $name in
  sucrase)
    version=3.35.1
    sha512=DhuTmvZWux4H1UOnWMB3sk0sbaCVOoQZjv8u1rDoTV0HTdGem9hkAZtl4JZy8P2z4Bg0nT+YMeOFyVr4zcG5Tw==
    part=dist/esm
    ;;
  typescript)
    version=5.9.3
    sha512=jl1vZzPDinLr9eUt3J/t7V6FgNEw9QjvBPdysz9KfQDD41fQrC2Y4vKQdiaUpFT4bXlb1RHhLpp8wtm6M5TgSw==
    part=lib
    ;;
  *)
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
folder=${QUIRE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/quire}/$name-$version

mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"
flock 9
if [ -e "$folder/complete" ]; then
  echo "$folder"
  exit 0
fi
for tool in openssl tar; do
  command -v "$tool" >/dev/null || { echo "$name: needs $tool" >&2; exit 1; }
done
work=$(mktemp -d "$folder.part.XXXXXX")
trap 'rm -rf "$work"' EXIT

echo "$name: fetching $version ..." >&2
# npm knows which registry this machine uses; without it, the public one is asked.
if command -v npm >/dev/null; then
  (cd "$work" && npm pack --silent "$name@$version" >/dev/null)
else
  registry=${NPM_CONFIG_REGISTRY:-https://registry.npmjs.org}
  curl -fsSL --max-time 120 -o "$work/$name-$version.tgz" "${registry%/}/$name/-/$name-$version.tgz" || {
    echo "$name: cannot be fetched from $registry: install npm, or set NPM_CONFIG_REGISTRY" >&2
    exit 1
  }
fi
archive=$work/$name-$version.tgz
found=$(openssl dgst -sha512 -binary "$archive" | base64 -w0)
[ "$found" = "$sha512" ] || {
  echo "$name: $version is not the one that is expected: SHA-512 $found" >&2
  exit 1
}
tar -xzf "$archive" -C "$work"
mv "$work/package/$part" "$work/done"
cp "$work"/package/LICENSE* "$work/done/"
touch "$work/done/complete"
rm -rf "$folder"
mv "$work/done" "$folder"
echo "$folder"
