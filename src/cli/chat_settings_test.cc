#include "cli/chat_settings.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace quire::cli {
namespace {

std::string refusal(const std::string& name, const std::string& value) {
  ChatSettings settings;
  const Result<void> done = change_chat_setting(settings, name, value);
  return done.ok() ? "" : std::string(done.error().message());
}

TEST(ChatSettings, AreChangedByTheNamesAndRangesOfTheFlags) {
  ChatSettings settings;
  EXPECT_TRUE(change_chat_setting(settings, "temperature", "0.7").ok());
  EXPECT_TRUE(change_chat_setting(settings, "max-tokens", "0012").ok());
  EXPECT_TRUE(change_chat_setting(settings, "top-p", "1e-1").ok());
  EXPECT_TRUE(change_chat_setting(settings, "seed", "18446744073709551615").ok());
  EXPECT_TRUE(change_chat_setting(settings, "--system", "Be brief, please.").ok());
  EXPECT_EQ(settings.sampling.temperature, 0.7);
  EXPECT_EQ(settings.max_tokens, 12u);
  EXPECT_TRUE(settings.shows_figures());
  EXPECT_TRUE(change_chat_setting(settings, "stats", "off").ok());
  EXPECT_FALSE(settings.shows_figures());
  EXPECT_EQ(settings.sampling.top_p, 0.1);
  EXPECT_EQ(settings.sampling.seed, UINT64_MAX);
  EXPECT_EQ(settings.system, "Be brief, please.");
  EXPECT_TRUE(change_chat_setting(settings, "system", "").ok());
  EXPECT_EQ(settings.system, "");
}

TEST(ChatSettings, AreRefusedBySentenceAndThenStayAsTheyWere) {
  EXPECT_EQ(refusal("temperature", "700"), "temperature must be from 0 to 100, not 700");
  EXPECT_EQ(refusal("stats", "no"), "stats must be on or off, not no");
  EXPECT_EQ(refusal("max-tokens", "0"), "max-tokens must be from 1 to 16777216, not 0");
  EXPECT_EQ(refusal("seed", "x"),
            "seed: \"x\" is not a whole number (it must be from 0 to 18446744073709551615)");
  EXPECT_EQ(refusal("temprature", "1"),
            "there is no setting \"temprature\"; did you mean temperature?");
  EXPECT_EQ(refusal("zzz", "1"), "there is no setting \"zzz\"; /set lists them");
  EXPECT_EQ(refusal("help", "1"), "there is no setting \"help\"; /set lists them");
  ChatSettings settings;
  settings.sampling.temperature = 0.5;
  EXPECT_FALSE(change_chat_setting(settings, "temperature", "nan").ok());
  EXPECT_EQ(settings.sampling.temperature, 0.5);
}

TEST(ChatSettings, AreShownWithTheirValues) {
  ChatSettings settings;
  settings.sampling.temperature = 0.25;
  settings.system = "A pirate.";
  const std::vector<ShownSetting> shown = shown_chat_settings(settings);
  const auto value_of = [&](const std::string& name) {
    const auto at = std::find_if(shown.begin(), shown.end(),
                                 [&](const ShownSetting& each) { return each.name == name; });
    return at == shown.end() ? "(missing)" : at->value;
  };
  EXPECT_EQ(shown.size(), chat_setting_names().size());
  EXPECT_EQ(value_of("temperature"), "0.25");
  EXPECT_EQ(value_of("system"), "A pirate.");
  EXPECT_EQ(value_of("max-tokens"), "1024");
  EXPECT_EQ(value_of("top-p"), "1");
}

}  // namespace
}  // namespace quire::cli
