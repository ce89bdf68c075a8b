// The programs under inferlets/, compiled for this machine with other names for their entries, run
// beside the fake host.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "fake_host.h"

extern "C" std::int32_t run_text_completion();
extern "C" std::int32_t run_text_completion_by_hand();
extern "C" std::int32_t run_chat();
extern "C" std::int32_t run_hello();
extern "C" std::int32_t run_beam_search();
extern "C" std::int32_t run_best_of_n();
extern "C" std::int32_t run_attention_sink();
extern "C" std::int32_t run_tree_of_thought();

namespace quire {
namespace {

using test::host;

class ProgramsTest : public testing::Test {
 protected:
  void SetUp() override {
    host.reset();
    // Counts through the letters and ends after 'z'; less probable, it skips one.
    host.next = [](const std::vector<std::uint32_t>& seen) {
      const std::uint32_t next = seen.back() < 'a' || seen.back() > 'z' ? 'a' : seen.back() + 1;
      return std::vector<std::pair<std::uint32_t, float>>{{next > 'z' ? 2 : next, 0.6f},
                                                          {next + 1 > 'z' ? 2 : next + 1, 0.4f}};
    };
  }
  void TearDown() override { EXPECT_TRUE(host.live_handles().empty()) << "handles were leaked"; }

  static std::string sent() {
    std::string all;
    for (const std::string& each : host.sent) all += each;
    return all;
  }
  // The output of `program` for these arguments.
  static std::string sent_by(std::int32_t (*program)(), std::vector<std::string> arguments) {
    host.sent.clear();
    host.arguments = std::move(arguments);
    EXPECT_EQ(program(), 0) << (host.logged.empty() ? "" : host.logged.back());
    return sent();
  }
};

TEST_F(ProgramsTest, BothFormsOfTextCompletionStreamTheSameText) {
  for (auto* program : {&run_text_completion, &run_text_completion_by_hand}) {
    EXPECT_EQ(sent_by(program, {"--prompt", "u"}), "vwxyz");
    EXPECT_EQ(host.sent.size(), 5u);
    EXPECT_EQ(sent_by(program, {"--prompt", "u", "--max-tokens", "2"}), "vw");
    EXPECT_EQ(sent_by(program, {"--prompt", "a", "--stop", "fg"}), "bcde");
    EXPECT_EQ(sent_by(program, {"--prompt", "x", "--chat", "--system", "s", "--max-tokens", "3"}),
              "bcd");  // After the 'a' with which an answer begins.
  }
}

TEST_F(ProgramsTest, APromptIsAnOptionWordsOrWhatTheClientSends) {
  for (auto* program : {&run_text_completion, &run_text_completion_by_hand}) {
    EXPECT_EQ(sent_by(program, {"one", "w"}), "xyz");
    host.inbox = {"one", "w"};
    EXPECT_EQ(sent_by(program, {"--prompt", "-"}), "xyz");
    host.files_in = {{"story.txt", "text/plain", 6, {"one\n", "w\n"}}};
    EXPECT_EQ(sent_by(program, {"--prompt-file", "story.txt"}), "xyz");
    host.files_in = {{"other.txt", "text/plain", 6, {"one"}}};
    host.arguments = {"--prompt-file", "story.txt"};
    EXPECT_EQ(program(), static_cast<int>(abi::ErrorCode::NotFound));
    EXPECT_NE(host.logged.back().find("the client sent the file other.txt first"),
              std::string::npos);
  }
}

TEST_F(ProgramsTest, BothFormsOfTextCompletionDrawTheSameTokensForASeed) {
  bool differs = false;
  for (int seed = 0; seed < 50; ++seed) {
    const std::vector<std::string> arguments = {
        "--prompt",     "a",      "--max-tokens",      "20", "--temperature", "0.9",
        "--ignore-eos", "--seed", std::to_string(seed)};
    const std::string high = sent_by(&run_text_completion, arguments);
    EXPECT_EQ(high, sent_by(&run_text_completion_by_hand, arguments)) << "seed " << seed;
    differs |= !high.starts_with("bcde");
  }
  EXPECT_TRUE(differs);
}

TEST_F(ProgramsTest, APromptOfManyChunksIsPrefilledWhole) {
  const std::string prompt(1300, 'k');
  EXPECT_EQ(sent_by(&run_text_completion_by_hand, {"--prompt", prompt, "--max-tokens", "3"}),
            "lmn");
}

TEST_F(ProgramsTest, AFullContextEndsAnAnswerWithItsLength) {
  host.context_length = 8;
  for (auto* program : {&run_text_completion, &run_text_completion_by_hand}) {
    EXPECT_EQ(sent_by(program, {"--prompt", "aaaaa"}), "bcde");
    EXPECT_EQ(sent_by(program, {"--prompt", "aaaaaaaa"}), "b");
    host.arguments = {"--prompt", "aaaaaaaaa"};
    EXPECT_EQ(program(), static_cast<int>(abi::ErrorCode::OutOfRange));
  }
  EXPECT_EQ(sent_by(&run_beam_search, {"--prompt", "aaaaa", "--width", "1"}), "bcde");
  host.inbox = {"x"};  // Five tokens, and two that begin the answer.
  EXPECT_EQ(sent_by(&run_chat, {}), "bc\n");
  EXPECT_EQ(host.logged.back(), "the answer was cut at 2 tokens: the context is full");
}

TEST_F(ProgramsTest, WrongArgumentsEndWithAMessageAndAnExitCode) {
  host.arguments = {"--prompt", "x", "--max-tokens", "many"};
  EXPECT_EQ(run_text_completion(), 1);
  EXPECT_NE(host.logged.back().find(
                "--max-tokens must be a whole number from 0 to 4294967295, not \"many\""),
            std::string::npos);
  host.arguments = {};
  EXPECT_EQ(run_text_completion_by_hand(), 1);
  EXPECT_NE(host.logged.back().find("give a prompt"), std::string::npos);
}

TEST_F(ProgramsTest, SamplerArgumentsOutOfTheirRangeAreRefusedByEveryProgramAlike) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"--temperature", "-1"}, "--temperature must be a number from 0 to 1000000, not \"-1\""},
      {{"--temperature", "1e9"}, "--temperature must be a number from 0 to 1000000, not \"1e9\""},
      {{"--top-p", "1.5"}, "--top-p must be a number from 0 to 1, not \"1.5\""},
      {{"--min-p", "2"}, "--min-p must be a number from 0 to 1, not \"2\""},
      {{"--temperature", "nan"}, "--temperature must be a number from 0 to 1000000, not \"nan\""}};
  for (auto* program : {&run_text_completion, &run_text_completion_by_hand, &run_chat}) {
    for (const auto& [arguments, message] : wrong) {
      host.arguments = arguments;
      if (program != &run_chat) {
        host.arguments.insert(host.arguments.end(), {"--prompt", "x"});
      }
      EXPECT_EQ(program(), static_cast<int>(abi::ErrorCode::InvalidArgument));
      EXPECT_EQ(host.logged.back(), std::string("invalid-argument: ") + message);
    }
  }
}

TEST_F(ProgramsTest, ChatAnswersEachLineUntilTheClientEnds) {
  host.inbox = {"first\n", "\n", "second"};
  EXPECT_EQ(sent_by(&run_chat, {"--max-tokens", "3", "--system", "be"}), "bcd\nbcd\n");
}

TEST_F(ProgramsTest, AChatWithANameGoesOnInItsNextRun) {
  host.inbox = {"first"};
  sent_by(&run_chat, {"--max-tokens", "3", "--system", "be", "--name", "ann"});
  const std::size_t first = host.snapshots.at("ann").context.computed.size();
  host.inbox = {"second"};
  EXPECT_EQ(sent_by(&run_chat, {"--max-tokens", "3", "--system", "be", "--name", "ann"}), "bcd\n");
  const auto& both = host.snapshots.at("ann").context.computed;
  const std::string text(both.begin(), both.end());
  ASSERT_GT(text.size(), first);
  EXPECT_EQ(text.find("be"), text.rfind("be")) << "the instructions are there once: " << text;
  EXPECT_LT(text.find("first"), text.find("second"));
}

TEST_F(ProgramsTest, HelloNamesItsModels) {
  host.arguments = {"--name", "you"};
  EXPECT_EQ(run_hello(), 3);  // The fake lists a model that it does not serve.
  EXPECT_EQ(host.logged.back(), "not-found: no model \"other\"");
}

TEST_F(ProgramsTest, BestOfNGivesTheMostProbableOfItsAnswers) {
  // The text of each seed alone, and its probability.
  host.next = [](const std::vector<std::uint32_t>& seen) {
    using Next = std::vector<std::pair<std::uint32_t, float>>;
    if (seen.back() == 'a') return Next{{'x', 0.4f}, {'y', 0.35f}, {'z', 0.25f}};
    if (seen.back() == 'z') return Next{{'!', 0.99f}, {'?', 0.01f}};
    return Next{{'!', 0.5f}, {'?', 0.5f}};
  };
  std::set<std::string> alone;
  for (int seed = 0; seed < 12; ++seed) {
    alone.insert(sent_by(&run_best_of_n,
                         {"q", "--n", "1", "--max-tokens", "2", "--seed", std::to_string(seed)}));
  }
  ASSERT_TRUE(alone.contains("z!"));
  ASSERT_GT(alone.size(), 2u);
  // ln(0.25 x 0.99) is above ln(0.4 x 0.5).
  EXPECT_EQ(sent_by(&run_best_of_n, {"q", "--n", "12", "--max-tokens", "2"}), "z!");
  host.arguments = {"q", "--n", "0"};
  EXPECT_EQ(run_best_of_n(), static_cast<int>(abi::ErrorCode::InvalidArgument));
}

// A step that is "g" leads to the answer; the model finds "b" more probable, and judges both.
TEST_F(ProgramsTest, TreeOfThoughtFollowsTheStepsThatTheModelJudgesBest) {
  host.next = [](const std::vector<std::uint32_t>& seen) {
    using Next = std::vector<std::pair<std::uint32_t, float>>;
    const std::string text(seen.begin(), seen.end());
    const std::size_t turn = text.rfind('\1');
    const std::string asked = text.substr(text.rfind('\1', turn - 1));
    const std::string written = text.substr(turn + 2);  // After the role's letter.
    if (asked.starts_with("\1uTake")) {
      return written.empty() ? Next{{'b', 0.6f}, {'g', 0.4f}} : Next{{2, 1.0f}};
    }
    if (asked.starts_with("\1uDoes")) {
      const bool is_good = text.find("\1ag") != std::string::npos;
      return Next{{'s', is_good ? 0.8f : 0.1f}, {'n', is_good ? 0.2f : 0.9f}, {'m', 0.0f}};
    }
    const bool is_good = text.find("\1ag") != std::string::npos;
    return written.empty() ? Next{{is_good ? std::uint32_t{'Y'} : std::uint32_t{'N'}, 1.0f}}
                           : Next{{2, 1.0f}};
  };
  std::map<std::string, int> answers;
  for (int seed = 0; seed < 20; ++seed) {
    answers[sent_by(&run_tree_of_thought, {"why?", "--depth", "1", "--width", "6", "--keep", "1",
                                           "--seed", std::to_string(100 * seed)})] += 1;
  }
  // Six tries miss "g" in 5 % of the cases.
  EXPECT_GE(answers["Y"], 15);
  EXPECT_EQ(sent_by(&run_tree_of_thought, {"why?", "--depth", "2", "--width", "6"}), "Y");
}

// After 'a', 'b' is more probable than 'c'; two tokens are more probable by way of 'c'.
TEST_F(ProgramsTest, BeamSearchFindsATextThatGreedyDecodingMisses) {
  host.next = [](const std::vector<std::uint32_t>& seen) {
    using Next = std::vector<std::pair<std::uint32_t, float>>;
    if (seen.back() == 'a') return Next{{'b', 0.6f}, {'c', 0.4f}};
    if (seen.back() == 'b') return Next{{'d', 0.5f}, {'e', 0.5f}};
    return Next{{'f', 0.9f}, {2, 0.1f}};
  };
  const std::vector<std::string> greedy = {"--prompt", "a", "--max-tokens", "2", "--width", "1"};
  EXPECT_EQ(sent_by(&run_beam_search, greedy), "bd");
  EXPECT_EQ(sent_by(&run_text_completion, {"--prompt", "a", "--max-tokens", "2"}), "bd");
  EXPECT_EQ(sent_by(&run_beam_search, {"--prompt", "a", "--max-tokens", "2", "--width", "2"}),
            "cf");
}

TEST_F(ProgramsTest, BeamSearchComparesTextsThatEndedWithTheirLength) {
  host.next = [](const std::vector<std::uint32_t>& seen) {
    using Next = std::vector<std::pair<std::uint32_t, float>>;
    if (seen.back() == 'a') return Next{{'b', 0.7f}, {2, 0.3f}};
    return Next{{seen.back() + 1, 0.7f}, {2, 0.3f}};
  };
  const std::vector<std::string> arguments = {"--prompt", "a", "--max-tokens", "4", "--width", "2"};
  EXPECT_EQ(sent_by(&run_beam_search, arguments), "b");  // Two ended: nothing, and "b".
  std::vector<std::string> whole_texts = arguments;
  whole_texts.insert(whole_texts.end(), {"--length-penalty", "0"});
  EXPECT_EQ(sent_by(&run_beam_search, whole_texts), "");
  std::vector<std::string> on_and_on = arguments;
  on_and_on.push_back("--ignore-eos");
  EXPECT_EQ(sent_by(&run_beam_search, on_and_on), "bcde");
}

TEST_F(ProgramsTest, BeamSearchRefusesNoBeams) {
  host.arguments = {"--prompt", "a", "--width", "0"};
  EXPECT_EQ(run_beam_search(), static_cast<int>(abi::ErrorCode::InvalidArgument));
}

TEST_F(ProgramsTest, AttentionSinkHoldsTheSamePagesHoweverMuchItGenerates) {
  host.next = [](const std::vector<std::uint32_t>&) {
    return std::vector<std::pair<std::uint32_t, float>>{{'x', 1.0f}};
  };
  // The page of the sink, those that a window of 32 lies in, and the one that is written.
  EXPECT_EQ(
      sent_by(&run_attention_sink, {"--prompt", "p", "--window", "32", "--max-tokens", "512"}),
      std::string(512, 'x') + "\n[513 tokens in 3 pages, at most 4]\n");
  EXPECT_EQ(sent_by(&run_attention_sink, {"--prompt", "p", "--max-tokens", "3"}),
            "xxx\n[4 tokens in 1 pages, at most 1]\n");
  EXPECT_EQ(sent_by(&run_attention_sink, {"--prompt", "p", "--max-tokens", "0"}),
            "\n[1 tokens in 0 pages, at most 0]\n");
}

TEST_F(ProgramsTest, AttentionSinkRefusesAnEmptyWindow) {
  host.arguments = {"--window", "0"};
  EXPECT_EQ(run_attention_sink(), static_cast<int>(abi::ErrorCode::InvalidArgument));
}

}  // namespace
}  // namespace quire
