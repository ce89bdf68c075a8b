#!/usr/bin/env bash
# fuzz_coverage.sh: what the fuzzers' inputs reach of the lines of our parsers, as clang counts them.
# Each fuzzer runs for QUIRE_COVERAGE_SECONDS (20) from its seeds (tests/fuzz) and from what earlier
# runs found ($QUIRE_CACHE/fuzz, which stays as it is). Fails where a parser's lines are reached to
# less than 85 %, or any of its files is not reached at all.
set -euo pipefail
source "$(dirname "$0")/common.sh"
PERCENT_MIN=85
seconds="${QUIRE_COVERAGE_SECONDS:-20}"

# A parser: its name, the fuzzers that feed it (with commas), and the files whose lines count: those
# that read bytes from outside. Files that only carry out calls of others, and those that need a
# folder on disk or a network (model_files.cc, model_store.cc, download.cc, safetensors_folder.cc),
# have tests instead.
parsers() {
  # From the file's bytes to metadata and a tensor directory, then to the spec and the tensors' roles.
  echo "gguf gguf_fuzz
    src/inference/weights/gguf_file.cc src/inference/weights/gguf_metadata.cc
    src/inference/architectures/gguf_model.cc src/inference/architectures/tensor_binding.cc"
  # The header of a safetensors file.
  echo "safetensors safetensors_fuzz src/inference/weights/safetensors_file.cc"
  # JSON that refuses depth, repeats and size, and config.json, its largest reader.
  echo "strict_json safetensors_fuzz
    src/base/json.cc src/inference/weights/strict_json.cc src/inference/architectures/model_config.cc"
  # Adapters: the configuration of PEFT with its expressions, and GGUF files.
  echo "adapters peft_config_fuzz,adapter_gguf_fuzz
    src/inference/adapters/peft_config.cc src/inference/adapters/module_pattern.cc
    src/inference/adapters/gguf_adapter.cc src/inference/adapters/stored_pair.cc"
  # All that turns a tokenizer's files into a codec, and the codec itself: it reads hostile texts.
  # Three fuzzers: the two kinds of file meet only in the codec, and templates have one of their own.
  # engines/ is Rust, and safe.
  echo "tokenizer tokenizer_json_fuzz,tokenizer_gguf_fuzz,chat_template_fuzz
    src/inference/tokenizer/make_text_codec.cc src/inference/tokenizer/model_files_codec.cc
    src/inference/tokenizer/model_codec.cc src/inference/tokenizer/vocabulary.cc
    src/inference/tokenizer/special_tokens.cc src/inference/tokenizer/sentence_piece.cc
    src/inference/tokenizer/engine_encoder.cc src/inference/tokenizer/pre_tokenizers.cc
    src/inference/tokenizer/chat_template.cc src/inference/tokenizer/template_files.cc
    src/inference/tokenizer/utf8.cc"
  # Pages, page spaces and records, as page files and export files hold them.
  echo "page_store export_file_fuzz,page_file_fuzz
    src/control/store/page_image.cc src/control/store/page_space.cc
    src/control/store/record_codec.cc"
  # What users and hubs write of models: references, lists of files, heads of answers.
  echo "hub hub_fuzz
    src/inference/model_store/model_reference.cc src/inference/model_store/hub_listing.cc
    src/inference/model_store/hub_choice.cc src/inference/model_store/hub_answer.cc"
  # Frames of the server's protocol.
  echo "wire frame_codec_fuzz
    src/wire/fields.cc src/wire/request_codec.cc src/wire/server_frame_codec.cc"
  # URLs and headers of programs, heads and bodies of servers.
  echo "http transfer_fuzz
    src/application/net/url.cc src/application/net/http_message.cc
    src/application/net/zlib_decoder.cc src/application/net/ip_address.cc"
  # Requests of HTTP clients to the server's endpoints.
  echo "http_server http_reader_fuzz src/application/server/http_reader.cc"
  # Their bodies, if these have a coding.
  echo "http_bodies body_decoder_fuzz
    src/application/server/body_decoder.cc src/application/server/zstd_decoder.cc
    src/application/net/zlib_decoder.cc"
  # The options of rules for drawing tokens, as programs send them.
  echo "draw_options draw_options_fuzz src/base/draw_options.cc"
  # A program's words and the options that it declares.
  echo "options option_reader_fuzz sdk/cpp/include/quire/options.h"
  # What a model wrote, with calls of tools in it.
  echo "tool_calls tool_calls_fuzz sdk/cpp/include/quire/tool_calls.h"
  # Modules as linkers make them, their names and their declared options.
  echo "modules module_fuzz
    src/main/modules/module_sections.cc src/main/modules/function_names.cc
    src/main/modules/declared_options.cc src/main/modules/program_words.cc"
  # Scripts as clients bring them.
  echo "scripts script_bundle_fuzz src/application/sandbox/script_bundle.cc"
  # Our own reader of Wasm modules; what it lets through goes to wasmtime.
  echo "wasm_entry wasm_entry_fuzz src/application/sandbox/module_check.cc"
}

build() { cmake --preset coverage && ninja -C build/coverage -j "$JOBS" fuzzers; }

program_of() { find build/coverage -type f -perm -u+x -name "$1"; }

run_fuzzer() {  # NAME
  local corpora=("build/coverage/found/$1")
  rm -rf "${corpora[0]}"
  mkdir -p "${corpora[0]}"
  for folder in "$QUIRE_CACHE/fuzz/$1" "tests/fuzz/$1"; do
    if [ -d "$folder" ]; then corpora+=("$folder"); fi
  done
  LLVM_PROFILE_FILE="build/coverage/$1.profraw" "$(program_of "$1")" -max_total_time="$seconds" \
    -timeout=20 -artifact_prefix="build/coverage/$1-" "${corpora[@]}"
}

# Prints a line for each file and one for the parser; fails below the limit.
report() {  # PARSER FUZZERS FILE...
  local parser=$1 fuzzers profiles=() objects=()
  IFS=, read -ra fuzzers <<<"$2"
  shift 2
  for name in "${fuzzers[@]}"; do
    profiles+=("build/coverage/$name.profraw")
    objects+=(-object "$(program_of "$name")")
  done
  llvm-profdata-22 merge -sparse "${profiles[@]}" -o "build/coverage/$parser.profdata"
  llvm-cov-22 export -summary-only -instr-profile "build/coverage/$parser.profdata" \
    "${objects[@]:1}" "$@" >"build/coverage/$parser.json"
  python3 - "$parser" "$PERCENT_MIN" "build/coverage/$parser.json" "$PWD" "$@" <<'PYTHON'
import json, sys
parser, percent_min, summary, root, *wanted = sys.argv[1:]
files = json.load(open(summary))["data"][0]["files"]
lines = {each["filename"].removeprefix(root + "/"): each["summary"]["lines"] for each in files}
covered = count = 0
missed = []
for name in wanted:
    of_file = lines.get(name, {"covered": 0, "count": 0})
    if of_file["covered"] == 0:
        missed.append(name)
    covered += of_file["covered"]
    count += of_file["count"]
    print(f"{'':10s} {100 * of_file['covered'] / max(1, of_file['count']):6.1f} %  {name}")
percent = 100 * covered / max(1, count)
print(f"{parser:11s}{percent:6.1f} %  of {count} lines, {percent_min} % wanted")
if missed:
    sys.exit(f"not reached at all: {', '.join(missed)}")
sys.exit(percent < float(percent_min))
PYTHON
}

step coverage "cmake --preset coverage and build" build
for name in $(parsers | grep -oE '\b[a-z0-9_]+_fuzz\b' | sort -u); do
  step "${name}_lines" "fuzzing for $seconds s, counting lines" run_fuzzer "$name"
done
failed=()
while read -r parser fuzzers files; do
  # shellcheck disable=SC2086  # Files have no spaces.
  report "$parser" "$fuzzers" $files || failed+=("$parser")
done < <(parsers | awk '/^[^ ]/ && NR > 1 {print ""} {printf "%s ", $0} END {print ""}')
if [ "${#failed[@]}" -ne 0 ]; then
  echo "below $PERCENT_MIN %: ${failed[*]}. To see the lines:"
  echo "  llvm-cov-22 show -instr-profile build/coverage/PARSER.profdata build/coverage/.../FUZZER FILE"
  exit 1
fi
