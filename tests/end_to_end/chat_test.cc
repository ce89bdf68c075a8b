// quire chat: a history in one context, and Ctrl-C that stops a reply and not the chat.
#include <regex>

#include "end_to_end/support.h"

namespace quire::test {
namespace {

struct Turn {
  std::uint32_t token_count = 0;
  std::uint32_t prompt_count = 0;
  std::uint32_t found_count = 0;
  std::uint32_t context_count = 0;
  bool stopped = false;
};

// The line after each reply.
std::vector<Turn> turns_of(const std::string& text) {
  const std::regex line(
      R"(\[(stopped, )?(\d+) tokens, [\d.]+ tokens/s, first after \d+ ms; (\d+) prompt tokens, )"
      R"((\d+) found in cache; context (\d+) of \d+\])");
  std::vector<Turn> turns;
  for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at) {
    const auto number = [&](int group) {
      return static_cast<std::uint32_t>(std::stoul((*at)[static_cast<std::size_t>(group)]));
    };
    turns.push_back({number(2), number(3), number(4), number(5), (*at)[1].matched});
  }
  return turns;
}

TEST(EndToEndChat, EachTurnComputesOnlyItsOwnTokens) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  for (const char* mode : {"paged", "basic"}) {
    const ProcessResult result =
        run_quire({"chat", "--model", default_model, "--kv", mode, "--max-tokens", "12"},
                  {.input = "Name a colour.\nAnother one.\nAnd one more.\n"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.err.find(std::string("kv cache ") + mode), std::string::npos) << result.err;
    const std::vector<Turn> turns = turns_of(result.err);
    ASSERT_EQ(turns.size(), 3u) << result.err;
    EXPECT_GT(turns[0].prompt_count, 20u);  // With the template's system message.
    for (std::size_t i = 1; i < turns.size(); ++i) {
      EXPECT_LT(turns[i].prompt_count, 20u) << "turn " << i;
      EXPECT_EQ(turns[i].found_count, 0u) << "nothing was computed before in another context";
      // The token that was sampled last is appended by the next turn, or never when it ended the
      // reply.
      EXPECT_GE(turns[i].context_count + 1,
                turns[i - 1].context_count + turns[i].prompt_count + turns[i].token_count);
    }
  }
}

TEST(EndToEndChat, InterruptStopsTheReplyAndNotTheChat) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  const ProcessResult result =
      run_quire({"chat", "--model", default_model, "--max-tokens", "2000"},
                {.input = "Tell me a very long story.\n/quit\n", .interrupt_after_bytes = 40});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<Turn> turns = turns_of(result.err);
  ASSERT_EQ(turns.size(), 1u) << result.err;
  EXPECT_TRUE(turns[0].stopped);
  EXPECT_LT(turns[0].token_count, 2000u);
}

TEST(EndToEndChat, OneMessageIsAnsweredAndTheSystemMessageCounts) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  const ProcessResult result = run_quire({"chat", "--model", default_model, "--max-tokens", "8",
                                          "--system", "You are a pirate.", "Hello"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(result.out.empty());
  EXPECT_EQ(turns_of(result.err).size(), 1u) << result.err;
}

TEST(EndToEndChat, AModelWithoutATemplateSaysSo) {
  const ProcessResult result =
      run_quire({"chat", "--model", golden_path("tiny_llama"), "--kv-pages", "64", "Hello"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("no chat template"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace quire::test
