#include "inference/adapters/module_pattern.h"

#include <gtest/gtest.h>

namespace quire::inference {
namespace {

ModulePattern parsed(const std::string& expression) {
  auto pattern = ModulePattern::parse(expression, "test");
  if (!pattern.ok()) ADD_FAILURE() << pattern.error().message();
  return std::move(pattern).take();
}

bool is_match(const std::string& expression, const std::string& name) {
  return parsed(expression).matches(name);
}

constexpr const char* kQuery = "model.layers.3.self_attn.q_proj";

TEST(ModulePattern, MatchesWholeNamesAsPythonDoes) {
  EXPECT_TRUE(is_match(".*", kQuery));
  EXPECT_TRUE(is_match(R"(.*\.(q_proj|v_proj))", kQuery));
  EXPECT_FALSE(is_match(R"(.*\.(k_proj|v_proj))", kQuery));
  EXPECT_FALSE(is_match(R"(q_proj)", kQuery));
  EXPECT_TRUE(is_match(R"(model\.layers\.[0-3]\.self_attn\.[qkv]_proj)", kQuery));
  EXPECT_FALSE(is_match(R"(model\.layers\.[^0-3]\.self_attn\.[qkv]_proj)", kQuery));
  EXPECT_TRUE(is_match(R"(model\.layers\.\d+\.(?:self_attn|mlp)\..*proj)", kQuery));
  EXPECT_TRUE(is_match(R"(^model.*$)", kQuery));
  EXPECT_TRUE(is_match(R"((?P<all>.*)proj)", kQuery));
  EXPECT_FALSE(is_match(R"(model\.layers\.\d\.)", kQuery));
  EXPECT_TRUE(is_match(R"(.*?\bself_attn\b.*?)", kQuery));
  EXPECT_FALSE(is_match(R"(.*\battn\b.*)", kQuery));
  EXPECT_TRUE(is_match("model.layers.3.self_attn.q_proj", kQuery));
  EXPECT_TRUE(is_match("model.layers.3.self_attn.q.proj", kQuery));
  EXPECT_TRUE(is_match(R"([]a]+)", "a]a"));
  EXPECT_TRUE(is_match(R"([a\-z]+)", "a-z"));
  EXPECT_TRUE(is_match(R"([a-]+)", "-a"));
  EXPECT_TRUE(is_match(R"(a{b})", "a{b}"));
  EXPECT_TRUE(is_match(R"([\d]{1,})", "42"));
  EXPECT_TRUE(is_match("|a", ""));
  EXPECT_TRUE(is_match("(a|)b", "b"));
  EXPECT_TRUE(is_match("(a*)*", "aaa"));
  EXPECT_FALSE(is_match("", "a"));
}

TEST(ModulePattern, CountsRepeats) {
  for (const auto& [expression, least, most] :
       std::vector<std::tuple<std::string, int, int>>{{"a?", 0, 1},
                                                      {"a*", 0, 9},
                                                      {"a+", 1, 9},
                                                      {"a{3}", 3, 3},
                                                      {"a{2,4}", 2, 4},
                                                      {"a{2,}", 2, 9},
                                                      {"a{,2}", 0, 2},
                                                      {"a{0}", 0, 0},
                                                      {"(?:aa){1,2}", 2, 4}}) {
    for (int count = 0; count <= 9; ++count) {
      const bool fits = count >= least && count <= most &&
                        (expression.find("aa") == std::string::npos || count % 2 == 0);
      EXPECT_EQ(is_match(expression, std::string(static_cast<std::size_t>(count), 'a')), fits)
          << expression << " " << count;
    }
  }
}

TEST(ModulePattern, MatchesEndsAfterDots) {
  EXPECT_TRUE(parsed("q_proj").matches_end(kQuery));
  EXPECT_TRUE(parsed("self_attn.q_proj").matches_end(kQuery));
  EXPECT_FALSE(parsed("proj").matches_end(kQuery));
  EXPECT_TRUE(parsed("[qk]_proj").matches_end(kQuery));
  EXPECT_TRUE(parsed(".*_proj").matches_end(kQuery));
  EXPECT_FALSE(parsed("_proj|self_attn").matches_end(kQuery));
  EXPECT_TRUE(parsed(R"(^model\.layers\.3\..*)").matches_end(kQuery));
  EXPECT_FALSE(parsed(R"(^layers\.3\..*)").matches_end(kQuery));
  EXPECT_TRUE(parsed(kQuery).matches_end(kQuery));
}

TEST(ModulePattern, RefusesByNameWhatItLacks) {
  const auto refused = [](const std::string& expression) {
    auto pattern = ModulePattern::parse(expression, "test");
    return pattern.ok() ? std::string("no error") : std::string(pattern.error().message());
  };
  EXPECT_EQ(refused("(?!vision).*"),
            "test: the expression \"(?!vision).*\" has a group of the kind (?!v; groups, (?:) and "
            "(?P<name>) are supported (character 2)");
  EXPECT_NE(refused("a++").find("possessive"), std::string::npos);
  EXPECT_NE(refused(R"((a)\1)").find(R"(the escape \1)"), std::string::npos);
  EXPECT_NE(refused("a**").find("quantifier of a quantifier"), std::string::npos);
  EXPECT_NE(refused("a{2}{3}").find("quantifier of a quantifier"), std::string::npos);
  EXPECT_NE(refused("*a").find("quantifier of nothing"), std::string::npos);
  EXPECT_NE(refused("(a").find("a ( without its )"), std::string::npos);
  EXPECT_NE(refused("a)").find("a ) without its ("), std::string::npos);
  EXPECT_NE(refused("[a").find("a [ without its ]"), std::string::npos);
  EXPECT_NE(refused("[b-a]").find("range"), std::string::npos);
  EXPECT_NE(refused("a{3,2}").find("least count"), std::string::npos);
  EXPECT_NE(refused("a\\").find("a \\ at its end"), std::string::npos);
  EXPECT_NE(refused("((a{900}){900}){900}").find("more than 4096 steps"), std::string::npos);
  EXPECT_NE(refused(std::string(40, '(') + std::string(40, ')')).find("deep"), std::string::npos);
  EXPECT_NE(refused("(" + std::string(20000, 'a') + ")").find("at most 16384"), std::string::npos);
  EXPECT_NE(refused("\xc3\xa4").find("outside of ASCII"), std::string::npos);
}

}  // namespace
}  // namespace quire::inference
