#include "cli/spelling.h"

#include <gtest/gtest.h>

namespace quire::cli {
namespace {

TEST(Spelling, ADistanceCountsLettersThatAreMissingTooManyWrongOrSwapped) {
  EXPECT_EQ(edit_distance("serve", "serve"), 0u);
  EXPECT_EQ(edit_distance("serv", "serve"), 1u);
  EXPECT_EQ(edit_distance("sserve", "serve"), 1u);
  EXPECT_EQ(edit_distance("sirve", "serve"), 1u);
  EXPECT_EQ(edit_distance("hepl", "help"), 1u);
  EXPECT_EQ(edit_distance("", "help"), 4u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Spelling, ASlipOfTheKeyboardFindsItsWordAndAWildGuessFindsNone) {
  const std::vector<std::string> verbs = {"run", "serve", "generate", "chat", "new"};
  EXPECT_EQ(did_you_mean("serv", verbs), "; did you mean serve?");
  EXPECT_EQ(did_you_mean("genrate", verbs), "; did you mean generate?");
  EXPECT_EQ(did_you_mean("rnu", verbs), "; did you mean run?");
  EXPECT_EQ(did_you_mean("help", verbs), "");
  EXPECT_EQ(did_you_mean("", verbs), "");
}

TEST(Spelling, TheBeginningOfAWordIsAHintIfNothingIsNearer) {
  EXPECT_EQ(did_you_mean("--temp", {"--help", "--temperature", "--tenant"}),
            "; did you mean --temperature?");
  const std::vector<std::string> flags = {"--max-tokens", "--kv-pages", "--kv-memory", "--kv-host",
                                          "--kv-disk"};
  EXPECT_EQ(did_you_mean("--max", flags), "; did you mean --max-tokens?");
  EXPECT_EQ(did_you_mean("--kv-", flags), "; did you mean --kv-pages, --kv-memory or --kv-host?");
}

}  // namespace
}  // namespace quire::cli
