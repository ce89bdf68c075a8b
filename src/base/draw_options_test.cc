#include "base/draw_options.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <string>
#include <utility>

namespace quire {
namespace {

using Bytes = std::vector<std::uint8_t>;

DrawRule full_rule() {
  return {.temperature = 0.8,
          .top_k = 40,
          .top_p = 0.95,
          .min_p = 0.05,
          .typical_p = 0.9,
          .top_n_sigma = 1.5,
          .xtc_probability = 0.5,
          .xtc_threshold = 0.2,
          .dry_multiplier = 0.8,
          .dry_base = 1.5,
          .dry_allowed_length = 3,
          .dry_window = 0,
          .dry_breakers = {1, 99, 5},
          .repetition_penalty = 1.1,
          .presence_penalty = -0.5,
          .frequency_penalty = 0.25,
          .penalty_window = 64,
          .penalty_first = 1000,
          .logit_bias = {{7, -100.0f}, {3, 2.5f}}};
}

Bytes option(std::uint32_t key, const Bytes& value) {
  Bytes out;
  sampling::write_little_endian(out, key, 4);
  sampling::write_little_endian(out, value.size(), 4);
  out.insert(out.end(), value.begin(), value.end());
  return out;
}
Bytes number(double value) {
  Bytes out;
  sampling::write_little_endian(out, std::bit_cast<std::uint64_t>(value), 8);
  return out;
}
Bytes words(const std::vector<std::uint32_t>& values) {
  Bytes out;
  for (const std::uint32_t each : values) sampling::write_little_endian(out, each, 4);
  return out;
}
std::string refusal(const Bytes& options, ErrorCode code = ErrorCode::InvalidArgument) {
  const Result<DrawRule> rule = parse_draw_options(options, 100);
  if (rule.ok()) return "no error";
  EXPECT_EQ(rule.error().code(), code);
  return std::string(rule.error().message());
}

TEST(DrawOptions, AWrittenRuleIsReadAsItWas) {
  const DrawRule rule = full_rule();
  EXPECT_EQ(parse_draw_options(draw_options(rule), 100).value(), rule);
  EXPECT_TRUE(draw_options(DrawRule{}).empty());
  EXPECT_EQ(parse_draw_options({}, 100).value(), DrawRule{});
}

TEST(DrawOptions, EachOptionAloneHasItsKeyAndItsBytes) {
  const DrawRule rule = full_rule();
  for (std::uint32_t key = 1; key <= 19; ++key) {
    DrawRule one;
    for (const DrawNumber& each : kDrawNumbers) {
      if (static_cast<std::uint32_t>(each.key) == key) one.*each.field = rule.*each.field;
    }
    for (const DrawCount& each : kDrawCounts) {
      if (static_cast<std::uint32_t>(each.key) == key) one.*each.field = rule.*each.field;
    }
    if (key == 13) one.dry_breakers = rule.dry_breakers;
    if (key == 18) one.logit_bias = rule.logit_bias;
    const Bytes written = draw_options(one);
    ASSERT_GE(written.size(), 12u) << key;
    EXPECT_EQ(written[0], key);
    EXPECT_EQ(written[4] + 8u, written.size()) << key;
    EXPECT_EQ(parse_draw_options(written, 100).value(), one) << key;
  }
}

TEST(DrawOptions, TheFormIsTheOneThatTheTableSays) {
  DrawRule rule;
  rule.temperature = 0.5;
  rule.logit_bias = {{2, 1.0f}};
  EXPECT_EQ(draw_options(rule), (Bytes{1,  0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f,
                                       18, 0, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0x80, 0x3f}));
}

TEST(DrawOptions, AnUnknownKeyIsNotSupportedByItsNumber) {
  EXPECT_EQ(refusal(option(20, number(1)), ErrorCode::NotSupported),
            "option 20 of a rule is not known; this host knows 1 to 19");
  EXPECT_EQ(refusal(option(0, {}), ErrorCode::NotSupported),
            "option 0 of a rule is not known; this host knows 1 to 19");
  EXPECT_EQ(refusal(option(0xffff'ffff, {}), ErrorCode::NotSupported),
            "option 4294967295 of a rule is not known; this host knows 1 to 19");
}

TEST(DrawOptions, AValueOfTheWrongSizeIsRefusedByName) {
  EXPECT_EQ(refusal(option(1, words({1}))), "temperature takes 8 bytes, not 4");
  EXPECT_EQ(refusal(option(2, number(1))), "top_k takes 4 bytes, not 8");
  EXPECT_EQ(refusal(option(12, {})), "dry_window takes 4 bytes, not 0");
  EXPECT_EQ(refusal(option(13, {1, 2, 3})), "dry_breakers takes a multiple of 4 bytes, not 3");
  EXPECT_EQ(refusal(option(18, words({1}))), "logit_bias takes a multiple of 8 bytes, not 4");
}

TEST(DrawOptions, AListThatEndsWithinAnOptionIsRefused) {
  const Bytes whole = draw_options(full_rule());
  std::uint32_t ends = 0;
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    const Result<DrawRule> rule = parse_draw_options(std::span(whole).first(bytes), 100);
    if (rule.ok()) {
      ++ends;
      continue;
    }
    EXPECT_EQ(rule.error().message().find("the options end within"), 0u) << bytes;
  }
  EXPECT_EQ(ends, 20u);  // After each of 19 options, and the empty list.
  EXPECT_EQ(refusal({1, 0, 0, 0, 8}),
            "the options end within the head of an option: 5 of 8 bytes at offset 0");
  EXPECT_EQ(refusal({1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0}),
            "the options end within option 1: 1 of its 4294967295 bytes are there");
}

TEST(DrawOptions, AKeyThatOccursTwiceIsRefused) {
  Bytes twice = option(1, number(0.5));
  twice.insert(twice.end(), twice.begin(), twice.begin() + 16);
  EXPECT_EQ(refusal(twice), "option 1 occurs twice");
}

TEST(DrawOptions, NumbersOutOfTheirRangeAreRefusedByNameAndValue) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const DrawNumber& each : kDrawNumbers) {
    const auto key = static_cast<std::uint32_t>(each.key);
    const double least = each.least - 0.5 * (each.least > 0 ? each.least : 1.0);
    for (const double wrong : {least, each.most * 1.5, infinity, -infinity}) {
      EXPECT_EQ(refusal(option(key, number(wrong))).find(std::string(each.name) + " must be "), 0u)
          << each.name << " " << wrong;
    }
    EXPECT_EQ(refusal(option(key, number(std::numeric_limits<double>::quiet_NaN()))),
              std::string(each.name) + " must be " + each.range + ", not nan");
    for (const double right : {each.least, each.most}) {
      EXPECT_TRUE(parse_draw_options(option(key, number(right)), 100).ok()) << each.name;
    }
  }
  EXPECT_EQ(refusal(option(3, number(1.25))), "top_p must be from 0 to 1, not 1.25");
}

TEST(DrawOptions, ListsAreCheckedEntryByEntry) {
  EXPECT_EQ(refusal(option(13, words({1, 100}))),
            "dry_breakers names token 100 of a vocabulary of 100");
  EXPECT_EQ(refusal(option(18, words({100, 0}))),
            "logit_bias names token 100 of a vocabulary of 100");
  EXPECT_EQ(refusal(option(18, words({1, 0, 2, 0, 1, 0}))), "logit_bias names token 1 twice");
  EXPECT_EQ(refusal(option(18, words({1, 0x7fc00000}))),
            "logit_bias must be from -1000000 to 1000000, not nan");
  EXPECT_EQ(refusal(option(18, words({1, std::bit_cast<std::uint32_t>(-2e6f)}))),
            "logit_bias must be from -1000000 to 1000000, not -2000000");
  EXPECT_EQ(refusal(option(13, words(std::vector<std::uint32_t>(257, 1)))),
            "dry_breakers has 257 entries; at most 256 are allowed");
  EXPECT_EQ(refusal(option(18, words(std::vector<std::uint32_t>(2050, 1)))),
            "logit_bias has 1025 entries; at most 1024 are allowed");
}

}  // namespace
}  // namespace quire
