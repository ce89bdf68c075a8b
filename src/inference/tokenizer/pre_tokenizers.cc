#include "inference/tokenizer/pre_tokenizers.h"

#include <string>

namespace quire::inference {
namespace {

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kEachDigit = R"(\p{N})";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

}  // namespace

Result<PreTokenizer> find_pre_tokenizer(std::string_view name) {
  if (name == "gpt-2") return PreTokenizer{.patterns = {kGpt2}};
  if (name == "smollm") return PreTokenizer{.patterns = {kEachDigit, kGpt2}};
  if (name == "qwen2") return PreTokenizer{.patterns = {kQwen2}};
  if (name == "llama-bpe" || name == "llama3" || name == "llama-v3") {
    return PreTokenizer{.patterns = {kLlama3}, .ignore_merges = true, .adds_bos = true};
  }
  if (name == "default") {
    return PreTokenizer{
        .patterns = {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}};
  }
  if (name.empty()) {
    return Error(ErrorCode::NotSupported, "tokenizer: the file names no pre-tokenizer");
  }
  return Error(ErrorCode::NotSupported, "tokenizer: unknown pre-tokenizer \"" + std::string(name) +
                                            "\" (supported: smollm, llama-bpe, llama3, llama-v3, "
                                            "qwen2, gpt-2, default)");
}

}  // namespace quire::inference
