#include "main/verbs/text/reply_line.h"

#include <gtest/gtest.h>

namespace quire {
namespace {

TEST(ReplyLine, LeavesOutWhatMattersLeastUntilItFitsTheTerminal) {
  const ReplyFigures figures{.token_count = 101,
                             .first_s = 0.22,
                             .decode_s = 2.0,
                             .prompt_count = 40,
                             .found_count = 7,
                             .context = "context 141 of 8192"};
  const std::string all =
      "[101 tokens, 50.0 tokens/s, first after 220 ms; 40 prompt tokens, 7 found in cache; context "
      "141 of 8192]";
  EXPECT_EQ(reply_line(figures, 0), all);
  EXPECT_EQ(reply_line(figures, static_cast<std::uint32_t>(all.size())), all);
  EXPECT_EQ(reply_line(figures, 80),
            "[101 tokens, 50.0 tokens/s, first after 220 ms; context 141 of 8192]");
  EXPECT_EQ(reply_line(figures, 50), "[101 tokens, 50.0 tokens/s; context 141 of 8192]");
  EXPECT_EQ(reply_line(figures, 30), "[101 tokens, 50.0 tokens/s]");
}

TEST(ReplyLine, SaysWhenTheFirstPartCameIfTheServerCountsNoTokens) {
  EXPECT_EQ(reply_line({.is_stopped = true, .first_s = 0.5}, 20), "[stopped, first after 500 ms]");
}

}  // namespace
}  // namespace quire
