// The options of a rule as a hostile program sends them: a rule within its ranges, which reads back
// as itself, or an error.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/draw_options.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint32_t kVocabularySize = 512;
  const auto rule = quire::parse_draw_options(std::span(data, size), kVocabularySize);
  if (!rule.ok()) return 0;
  if (quire::sampling::out_of_range(rule.value())) std::abort();
  for (const std::uint32_t token : rule.value().dry_breakers) {
    if (token >= kVocabularySize) std::abort();
  }
  for (const quire::LogitBias& each : rule.value().logit_bias) {
    if (each.token >= kVocabularySize) std::abort();
  }
  const auto again = quire::parse_draw_options(quire::draw_options(rule.value()), kVocabularySize);
  if (!again.ok() || !(again.value() == rule.value())) std::abort();
  return 0;
}
