#!/usr/bin/env bash
# Fetches what the tokenizer tests compare with and is too large for the repository: vocabularies
# and chat templates out of the source package of llama-cpp-python (MIT). Once per machine, into
# $QUIRE_CACHE/goldens (else ~/.cache/quire/goldens); prints that folder as its last line. Tests
# that need it are skipped, by name, where it is missing.
set -euo pipefail

readonly version=0.3.36
readonly sha256=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
folder=${QUIRE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/quire}/goldens

if [ -e "$folder/complete-2" ]; then
  echo "$folder"
  exit 0
fi
mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9
if [ -e "$folder/complete-2" ]; then
  echo "$folder"
  exit 0
fi

work=$(mktemp -d "$folder/part.XXXXXX")
trap 'rm -rf "$work"' EXIT
archive=$work/llama_cpp_python-$version.tar.gz
echo "goldens: fetching the source of llama-cpp-python $version (73 MiB) ..." >&2
# pip also fetches what the package needs to tell its metadata; nothing is compiled.
python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary llama-cpp-python \
  --dest "$work" "llama-cpp-python==$version" >&2
echo "$sha256  $archive" | sha256sum --check --quiet >&2

models=llama_cpp_python-$version/vendor/llama.cpp/models
tar -xzf "$archive" -C "$work" "$models"
for name in command-r deepseek-coder deepseek-llm falcon gemma-4 gpt-2 llama-bpe llama-spm mpt \
  phi-3 qwen2 qwen35 refact starcoder; do
  mv "$work/$models/ggml-vocab-$name.gguf" "$folder/$name.gguf"
done
rm -rf "$folder/templates"
mv "$work/$models/templates" "$folder/templates"
touch "$folder/complete-2"
echo "$folder"
