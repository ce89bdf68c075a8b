// A source and a text, both hostile: the first byte is the kind, the second and third how many bytes the
// text has, and the source follows it. Whatever compiles must keep what api/grammar.h says of fits: a
// text that the masks lead to fits; of another kind than JSON schemas nothing else does; blanks
// between the parts of JSON change no verdict.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "inference/grammar/grammar_test_support.h"
#include "inference/grammar/make_grammar_compiler.h"

using namespace quire::inference;
namespace test = quire::test;

namespace {

struct Setting {
  std::unique_ptr<TextCodec> codec = test::small_codec();
  std::unique_ptr<GrammarCompiler> compiler = make_grammar_compiler(*codec, {test::kStop});
};

void check(bool holds) {
  if (!holds) std::abort();
}

// The verdict, unless the text is beyond a limit.
enum class Verdict { Fits, DoesNotFit, NotKnown };
Verdict verdict_of(const Grammar& grammar, std::string_view text) {
  const quire::Result<bool> fits = grammar.fits(text);
  if (fits.ok()) return fits.value() ? Verdict::Fits : Verdict::DoesNotFit;
  const quire::ErrorCode code = fits.error().code();
  check(code == quire::ErrorCode::TooLarge || code == quire::ErrorCode::Timeout);
  return Verdict::NotKnown;
}

Verdict verdict_of_masks(const Grammar& grammar, std::string_view text) {
  const auto made = grammar.matcher();
  check(made.ok());
  Matcher& matcher = *made.value();
  const auto accepted = matcher.accept(test::byte_tokens(text));
  if (accepted.ok()) return matcher.may_end() ? Verdict::Fits : Verdict::DoesNotFit;
  const bool is_refused = accepted.error().code() == quire::ErrorCode::InvalidArgument;
  return is_refused ? Verdict::DoesNotFit : Verdict::NotKnown;
}

// Blanks around each bracket, comma and colon outside of strings.
std::string spaced(std::string_view text) {
  std::string out;
  bool is_string = false;
  bool is_escaped = false;
  for (const char each : text) {
    const bool is_part =
        !is_string && std::string_view("[]{},:").find(each) != std::string_view::npos;
    if (is_part) out += " \n";
    out += each;
    if (is_part) out += "\t";
    if (each == '"' && !is_escaped) is_string = !is_string;
    is_escaped = is_string && each == '\\' && !is_escaped;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kHeadBytes = 3;
  if (size < kHeadBytes) return 0;
  static const Setting setting;  // Sorting the vocabulary for each input would be most of the time.
  const auto kind = static_cast<GrammarKind>(data[0] % 3);
  const std::string_view rest(reinterpret_cast<const char*>(data) + kHeadBytes, size - kHeadBytes);
  const std::size_t text_bytes = std::min<std::size_t>(rest.size(), data[1] | data[2] << 8);
  const std::string_view text = rest.substr(0, text_bytes);
  const auto grammar = setting.compiler->compile(kind, rest.substr(text_bytes));
  if (!grammar.ok()) return 0;
  const Verdict verdict = verdict_of(*grammar.value(), text);
  const Verdict of_masks = verdict_of_masks(*grammar.value(), text);
  if (verdict == Verdict::NotKnown || of_masks == Verdict::NotKnown) return 0;
  if (of_masks == Verdict::Fits) check(verdict == Verdict::Fits);
  if (kind != GrammarKind::JsonSchema) {
    check(verdict == of_masks);
    return 0;
  }
  const Verdict again = verdict_of(*grammar.value(), spaced(text));
  check(again == verdict || again == Verdict::NotKnown);
  return 0;
}
