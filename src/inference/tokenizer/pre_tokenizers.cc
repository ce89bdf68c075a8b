// Tables: the patterns, and which names ask for which.
#include "inference/tokenizer/pre_tokenizers.h"

#include <algorithm>
#include <string>

namespace quire::inference {
namespace {

#define QUIRE_GPT2 \
  R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)re"
#define QUIRE_CONTRACTION R"re((?:'[sSdDmMtT]|'[rR][eE]|'[vV][eE]|'[lL][lL]))re"

constexpr std::string_view kLlama3[] = {
    QUIRE_CONTRACTION
    R"re(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)re"
    R"re(\s+(?!\S)|\s+)re"};
constexpr std::string_view kDigits[] = {R"re(\p{N})re", QUIRE_GPT2};
constexpr std::string_view kGpt2[] = {QUIRE_GPT2};
constexpr std::string_view kQwen2[] = {
    QUIRE_CONTRACTION
    R"re(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|)re"
    R"re(\s+)re"};
constexpr std::string_view kDefault[] = {R"re([\p{P}\$\+<=>\^~\|]+)re", QUIRE_GPT2, R"re(\p{N}+)re",
                                         R"re([0-9][0-9][0-9])re"};

#undef QUIRE_GPT2
#undef QUIRE_CONTRACTION

// What a name asks for besides its patterns.
enum Extras : std::uint32_t {
  kIgnoresMerges = 1,    // A word that is a token is that token.
  kAddsBos = 2,          // If the file does not say.
  kRawText = 4,          // Tokens are spelled as text, not in GPT-2's alphabet.
  kEscapesSpaces = 8,    // A space is U+2581.
  kWholeLineEnds = 16,   // Line ends in a row that are a token are that token.
  kMaskTakesSpaces = 32  // "<mask>" takes the white space before it along.
};

struct Row {
  std::string_view name;
  std::span<const std::string_view> patterns;
  std::uint32_t extras = 0;
};

constexpr Row kRows[] = {
    {"default", kDefault},
    {"llama3", kLlama3, kIgnoresMerges | kAddsBos},
    {"llama-v3", kLlama3, kIgnoresMerges | kAddsBos},
    {"llama-bpe", kLlama3, kIgnoresMerges | kAddsBos},
    {"gpt-2", kGpt2},
    {"qwen2", kQwen2},
    {"smollm", kDigits},
};

std::string supported_names() {
  std::string names;
  for (const Row& row : kRows) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

}  // namespace

Result<PreTokenizer> find_pre_tokenizer(std::string_view name) {
  if (name.empty()) {
    return Error(ErrorCode::NotSupported, "tokenizer: the file names no pre-tokenizer");
  }
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& each) { return each.name == name; });
  if (row == std::end(kRows)) {
    return Error(ErrorCode::NotSupported, "tokenizer: unknown pre-tokenizer \"" +
                                              std::string(name) +
                                              "\" (supported: " + supported_names() + ")");
  }
  const auto has = [row](Extras extra) { return (row->extras & extra) != 0; };
  return PreTokenizer{.patterns = row->patterns,
                      .ignore_merges = has(kIgnoresMerges),
                      .adds_bos = has(kAddsBos),
                      .is_raw = has(kRawText),
                      .escapes_spaces = has(kEscapesSpaces),
                      .whole_line_ends = has(kWholeLineEnds),
                      .mask_takes_spaces = has(kMaskTakesSpaces)};
}

std::vector<std::string_view> pre_tokenizer_names() {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) names.push_back(row.name);
  return names;
}

}  // namespace quire::inference
