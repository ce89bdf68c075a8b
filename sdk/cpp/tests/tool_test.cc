#include "quire/tool.h"

#include <gtest/gtest.h>

#include "fake_host.h"
#include "quire/main.h"
#include "tool_templates.h"

namespace quire {
namespace {

using test::host;

constexpr const char* kSchema =
    R"({"properties":{"a":{"type":"integer"},"t":{"type":"string"}},"required":["a"]})";

// The model of these tests writes what `turns` say, one turn after the other.
class ToolTest : public testing::Test {
 protected:
  void SetUp() override {
    host.reset();
    host.token_texts[2] = "<|end|>";
    host.render_chat = test::render_hermes;
    host.context_length = 1 << 16;
    host.next = [this](const std::vector<std::uint32_t>& seen) {
      const std::string text(seen.begin(), seen.end());  // Tokens are bytes.
      constexpr std::string_view kMark = "<|assistant|>";
      std::size_t turn = 0;
      std::size_t begin = 0;
      for (std::size_t at = text.find(kMark); at != std::string::npos;
           at = text.find(kMark, begin)) {
        begin = at + kMark.size();
        ++turn;
      }
      const std::string now = turn == 0 || turn > turns.size() ? "" : turns[turn - 1];
      const std::size_t at = text.size() - begin;
      const std::uint32_t next = at < now.size() ? static_cast<std::uint8_t>(now[at]) : 2;
      return std::vector<std::pair<std::uint32_t, float>>{{next, 1.0f}};
    };
    add.name = "add";
    add.description = "Adds.";
    add.schema = kSchema;
    add.run = [this](Json arguments) -> Task<std::string> {
      asked.push_back(arguments.str());
      co_return "sum " + json_number(co_await arguments.number("a") + 1);
    };
  }
  void TearDown() override { EXPECT_TRUE(host.live_handles().empty()) << "handles were leaked"; }

  static std::string call(const std::string& name, const std::string& arguments) {
    return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments +
           "}\n</tool_call>";
  }

  // The outcome of a conversation with the question "q"; `text` and `conversation` are filled in.
  Result<void> answered(ToolOptions options = {}, GenerateOptions generate = {.max_tokens = 500}) {
    answer = {};
    shown.clear();
    const auto program = [&]() -> Task<> {
      Context context = co_await Context::create();
      std::vector<Tool> list;
      list.push_back(add);
      const Tools tools = co_await Tools::offer(context, std::move(list), options);
      context.user("q");
      const auto show = [&](std::string_view text) { shown += text; };
      answer = co_await tools.answer(context, generate, show);
      const auto& held = host.contexts.at(context.handle());
      conversation = std::string(held.computed.begin(), held.computed.end());
    };
    return run(program());
  }
  // The text that the model read after its first call.
  std::string response() const {
    const std::size_t begin = conversation.find("<tool_response>\n");
    if (begin == std::string::npos) return "";
    const std::size_t first = begin + 16;
    return conversation.substr(first, conversation.find("\n</tool_response>", first) - first);
  }

  Tool add;
  std::vector<std::string> asked;  // The arguments of each call.
  std::vector<std::string> turns;
  ToolAnswer answer;
  std::string shown;
  std::string conversation;
};

TEST_F(ToolTest, TheModelCallsReadsTheResultAndAnswers) {
  turns = {"I add.\n" + call("add", R"({"a": 4})"), "It is 5."};
  ASSERT_TRUE(answered().ok());
  EXPECT_EQ(asked, std::vector<std::string>{R"({"a":4})"});
  EXPECT_EQ(answer.text, "It is 5.");
  EXPECT_EQ(shown, "I add.\nIt is 5.");
  EXPECT_EQ(response(), "sum 5");
  ASSERT_EQ(answer.runs.size(), 1u);
  EXPECT_EQ(answer.runs[0].result.value(), "sum 5");
}

TEST_F(ToolTest, AnAnswerWithoutACallIsTheWholeOfIt) {
  turns = {"Just text."};
  ASSERT_TRUE(answered().ok());
  EXPECT_EQ(answer.text, "Just text.");
  EXPECT_TRUE(answer.runs.empty());
}

TEST_F(ToolTest, CallsOfATurnRunSideBySide) {
  add.run = [](Json arguments) -> Task<std::string> {
    co_await sleep(std::chrono::seconds(10));
    co_return "after " + json_number(co_await arguments.number("a"));
  };
  turns = {call("add", R"({"a": 1})") + "\n" + call("add", R"({"a": 2})"), "Done."};
  ASSERT_TRUE(answered().ok());
  ASSERT_EQ(answer.runs.size(), 2u);
  EXPECT_EQ(answer.runs[1].result.value(), "after 2");
  EXPECT_EQ(host.clock_ns, 10'000'000'000);
}

TEST_F(ToolTest, EachTurnComputesItsOwnTokensOnly) {
  turns = {call("add", R"({"a": 1})"), call("add", R"({"a": 2})"), "Done."};
  std::size_t context_count = 0;
  const auto program = [&]() -> Task<> {
    Context context = co_await Context::create();
    std::vector<Tool> list;
    list.push_back(add);
    const Tools tools = co_await Tools::offer(context, std::move(list));
    context.user("q");
    const std::int32_t first = context.handle();
    co_await tools.answer(context, {.max_tokens = 200});
    EXPECT_EQ(context.handle(), first);  // Not begun anew.
    context_count = host.contexts.size();
  };
  EXPECT_TRUE(run(program()).ok());
  EXPECT_EQ(context_count, 1u);
}

TEST_F(ToolTest, ATurnEndsWithItsFirstCallIfOneIsWanted) {
  turns = {"First.\n" + call("add", R"({"a": 1})") + "\nI guess that it is 7.", "It is 2."};
  ASSERT_TRUE(answered({.one_call_a_turn = true}).ok());
  EXPECT_EQ(answer.text, "It is 2.");
  EXPECT_EQ(shown, "First.\nIt is 2.");
  EXPECT_EQ(conversation.find("I guess"), std::string::npos);
  EXPECT_NE(conversation.find("</tool_call>\x02"), std::string::npos);
}

TEST_F(ToolTest, ACallInAnotherFormIsInTheConversationAsTheTemplateWritesIt) {
  turns = {"```json\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n```", "It is 2."};
  ASSERT_TRUE(answered().ok());
  EXPECT_EQ(answer.text, "It is 2.");
  EXPECT_EQ(conversation.find("```"), std::string::npos);
  EXPECT_NE(conversation.find("<tool_call>\n{\"name\": \"add\""), std::string::npos);
}

TEST_F(ToolTest, AnExampleOfACallIsInTheConversation) {
  const auto program = [&]() -> Task<> {
    Context context = co_await Context::create();
    std::vector<Tool> list;
    list.push_back(add);
    const Tools tools = co_await Tools::offer(context, std::move(list));
    context.user("example");
    co_await tools.show(context, "I add.", "add", R"({"a": 6})", "sum 7");
    context.user("q");
    co_await context.prefill();
    const auto& held = host.contexts.at(context.handle());
    conversation = std::string(held.computed.begin(), held.computed.end());
  };
  for (const bool has_tools : {true, false}) {
    if (!has_tools) host.render_chat = test::render_plain;
    EXPECT_TRUE(run(program()).ok());
    EXPECT_NE(
        conversation.find("I add.\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\":6}}"),
        std::string::npos)
        << conversation;
    EXPECT_EQ(response(), "sum 7");
  }
}

TEST_F(ToolTest, WhatGoesWrongIsReadByTheModel) {
  const auto after = [&](const std::string& written) {
    turns = {written, "Sorry."};
    const Result<void> done = answered();
    EXPECT_TRUE(done.ok()) << done.error().text();
    EXPECT_EQ(answer.text, "Sorry.");
    return response();
  };
  EXPECT_EQ(after(call("jump", "{}")),
            "error: not-found: there is no tool \"jump\"; there are: add");
  EXPECT_EQ(after(call("add", "{}")), "error: invalid-argument: the argument \"a\" is missing");
  EXPECT_EQ(after(call("add", R"({"a": "x"})")),
            "error: invalid-argument: the argument \"a\" must be of type integer");
  EXPECT_EQ(after(call("add", R"({"a": 1.5})")),
            "error: invalid-argument: the argument \"a\" must be of type integer");
  EXPECT_EQ(after(call("add", "[1]")),
            "error: invalid-argument: the arguments are not a JSON object");
  EXPECT_TRUE(asked.empty());
  EXPECT_EQ(after(call("add", R"({"a": "41"})")), "sum 42");  // As models write numbers.
  add.run = [](Json) -> Task<std::string> {
    co_await fail(ErrorCode::Unavailable, "the server is away");
    co_return "";
  };
  EXPECT_EQ(after(call("add", R"({"a": 1})")), "error: unavailable: the server is away");
}

TEST_F(ToolTest, ACallThatCannotBeReadIsReportedToTheModel) {
  turns = {"<tool_call>\n{\"name\": \"add\", \"argu\n</tool_call>", "Sorry."};
  ASSERT_TRUE(answered().ok());
  EXPECT_NE(conversation.find("error: the call cannot be read: JSON: "), std::string::npos)
      << conversation;
  EXPECT_EQ(answer.text, "Sorry.");
  EXPECT_EQ(shown, "Sorry.");
}

TEST_F(ToolTest, AToolThatHangsIsDroppedAfterItsTime) {
  add.run = [](Json) -> Task<std::string> {
    co_await sleep(std::chrono::hours(24));
    co_return "late";
  };
  turns = {call("add", R"({"a": 1})"), "Sorry."};
  ASSERT_TRUE(answered({.time_max = std::chrono::milliseconds(2500)}).ok());
  EXPECT_EQ(answer.runs[0].result.error().code, ErrorCode::Timeout);
  EXPECT_EQ(response(), "error: timeout: the tool add took more than 2.5 s");
  EXPECT_EQ(host.clock_ns, 2'500'000'000);
}

TEST_F(ToolTest, AResultThatIsTooLongIsCutAtACharacter) {
  add.run = [](Json) -> Task<std::string> { co_return "abc\xc3\xa9" + std::string(95, 'x'); };
  turns = {call("add", R"({"a": 1})"), "Thanks."};
  ASSERT_TRUE(answered({.result_bytes_max = 4}).ok());
  EXPECT_EQ(answer.runs[0].result_bytes, 100u);
  EXPECT_TRUE(response().starts_with("abc")) << response();
  EXPECT_TRUE(response().ends_with("[cut: the first 4 of 100 bytes]")) << response();
  EXPECT_EQ(valid_utf8(conversation), conversation);
}

TEST_F(ToolTest, LimitsOfTurnsAndOfCallsInATurnAreErrors) {
  turns.assign(3, call("add", R"({"a": 1})"));
  Result<void> done = answered({.rounds_max = 3});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::OutOfRange);
  EXPECT_EQ(done.error().message, "the model still calls tools after 3 turns (rounds_max)");
  EXPECT_EQ(asked.size(), 3u);
  asked.clear();
  turns[0] += "\n" + turns[0] + "\n" + turns[0];
  done = answered({.calls_max = 2});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::OutOfRange);
  EXPECT_EQ(done.error().message,
            "the model calls tools 3 times in one turn, and calls_max allows 2");
  EXPECT_TRUE(asked.empty());
}

TEST_F(ToolTest, ACallThatMaxTokensCutIsAnError) {
  turns = {call("add", R"({"a": 1})")};
  const Result<void> done = answered({}, {.max_tokens = 30});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::OutOfRange);
  EXPECT_NE(done.error().message.find("cut at max_tokens (30)"), std::string::npos)
      << done.error().message;
  EXPECT_EQ(shown, "");
}

TEST_F(ToolTest, WithEndsAtErrorTheErrorOfAToolIsTheProgrammes) {
  turns = {call("jump", "{}"), "Sorry."};
  std::vector<std::string> seen;
  const auto observe = [&](const ToolRun& run) { seen.push_back(run.call.name); };
  const Result<void> done = answered({.ends_at_error = true, .observe = observe});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::NotFound);
  EXPECT_EQ(seen, std::vector<std::string>{"jump"});
}

TEST_F(ToolTest, ThoughtsAreNotShownAndCallsInThemDoNotRun) {
  turns = {"<think>\nShould I " + call("add", R"({"a": 1})") + "?\n</think>\nNo."};
  ASSERT_TRUE(answered().ok());
  EXPECT_EQ(shown, "No.");
  EXPECT_EQ(answer.text, "No.");
  EXPECT_TRUE(answer.reasoning.starts_with("Should I ")) << answer.reasoning;
  EXPECT_TRUE(asked.empty());
}

TEST_F(ToolTest, ATemplateWithoutToolsIsToldOfThemInASystemTurn) {
  host.render_chat = test::render_plain;
  turns = {call("add", R"({"a": 1})"), "It is 2."};
  ASSERT_TRUE(answered().ok());
  EXPECT_EQ(answer.text, "It is 2.");
  EXPECT_NE(conversation.find("You can call tools."), std::string::npos);
  EXPECT_EQ(response(), "sum 2");
}

TEST_F(ToolTest, ToolsThatCannotBeOfferedAreRefused) {
  const auto refused = [&](const std::string& name, const std::string& schema) {
    add.name = name;
    add.schema = schema;
    const Result<void> done = answered();
    EXPECT_FALSE(done.ok());
    return done.ok() ? "" : done.error().message;
  };
  EXPECT_NE(refused("a b", kSchema).find("letters, digits, '_' and '-', not \"a b\""),
            std::string::npos);
  EXPECT_NE(refused("", kSchema).find("not \"\""), std::string::npos);
  EXPECT_NE(refused("add", "[]").find("the schema of the tool add must be a JSON object"),
            std::string::npos);
  EXPECT_NE(refused("add", "{").find("must be a JSON object: JSON: "), std::string::npos);
}

}  // namespace
}  // namespace quire
