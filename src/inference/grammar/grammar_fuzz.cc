// A grammar's source, hostile: its first byte is the kind, its second steers a walk. Whatever compiles
// must keep what api/grammar.h says: a token is accepted exactly if its bit is set, and rolling back
// gives the mask back.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "inference/grammar/grammar_test_support.h"
#include "inference/grammar/make_grammar_compiler.h"

using namespace quire::inference;
namespace test = quire::test;

namespace {

constexpr std::uint32_t kStepCount = 24;

struct Setting {
  std::unique_ptr<TextCodec> codec = test::small_codec();
  std::unique_ptr<GrammarCompiler> compiler = make_grammar_compiler(*codec, {test::kStop});
};

void check(bool holds) {
  if (!holds) std::abort();
}

bool is_set(std::span<const std::uint32_t> words, std::uint32_t id) {
  return (words[id / 32] >> (id % 32) & 1) != 0;
}

// A matcher that reached a limit stays there.
bool fill(Matcher& matcher, std::span<std::uint32_t> words) {
  const auto filled = matcher.fill_mask(words);
  if (!filled.ok()) check(!matcher.fill_mask(words).ok());
  return filled.ok();
}

void walk(Matcher& matcher, std::uint32_t token_count, std::uint32_t choice) {
  std::vector<std::uint32_t> words(token_count / 32 + 1);
  std::vector<std::uint32_t> again(words.size());
  for (std::uint32_t step = 0; step < kStepCount; ++step) {
    if (!fill(matcher, words)) return;
    check(is_set(words, static_cast<std::uint32_t>(test::kStop)) == matcher.may_end());
    for (const TokenId token : matcher.forced(1)) {
      check(is_set(words, static_cast<std::uint32_t>(token)));
    }
    // The token to go on with, and the next that is not allowed.
    std::uint32_t next = token_count;
    std::uint32_t refused = token_count;
    for (std::uint32_t at = 0; at < token_count; ++at) {
      const std::uint32_t id = (at + choice * 31 + step * 7) % token_count;
      std::uint32_t& found = is_set(words, id) ? next : refused;
      if (found == token_count) found = id;
    }
    if (refused != token_count) {
      const TokenId token{refused};
      if (matcher.accept({&token, 1}).error().code() == quire::ErrorCode::Timeout) return;
    }
    if (next == token_count) return;
    const TokenId token{next};
    const auto taken = matcher.accept({&token, 1});
    if (!taken.ok()) return check(taken.error().code() != quire::ErrorCode::InvalidArgument);
    if (!matcher.roll_back(1).ok() || !fill(matcher, again)) return;
    check(again == words);
    if (!matcher.accept({&token, 1}).ok()) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static const Setting setting;  // Sorting the vocabulary for each input would be most of the time.
  const auto kind = static_cast<GrammarKind>(data[0] % 3);
  const std::string_view source(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto grammar = setting.compiler->compile(kind, source);
  if (!grammar.ok()) {
    check(!grammar.error().message().empty());
    // A build without engines/ supports none; else nothing here may go wrong inside.
    check(grammar.error().code() != quire::ErrorCode::Internal);
    return 0;
  }
  const auto matcher = grammar.value()->matcher();
  check(matcher.ok());
  walk(*matcher.value(), setting.codec->vocabulary_size(), data[1]);
  return 0;
}
