// Tests of AnswerReader's output for calls that it cannot read, and of the description of tools for
// a model.
#include <gtest/gtest.h>

#include "quire/tool_calls.h"

namespace quire {
namespace {

constexpr const char* kGood =
    "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>";

WrittenAnswer read(std::string_view written) {
  return AnswerReader(CallForm{}, {"add"}).read(written);
}

TEST(UnreadCalls, AWholeCallLeavesNothingUnread) {
  const WrittenAnswer answer = read(std::string("Sure.\n") + kGood);
  EXPECT_EQ(answer.text, "Sure.");
  EXPECT_EQ(answer.calls.size(), 1u);
  EXPECT_EQ(answer.unread, "");
}

TEST(UnreadCalls, ACallThatIsCutIsGivenAsItWasWritten) {
  const std::string cut = "<tool_call>\n{\"name\": \"add\", \"argum";
  const WrittenAnswer answer = read("Sure.\n" + cut);
  EXPECT_EQ(answer.text, "Sure.");
  ASSERT_EQ(answer.calls.size(), 1u);
  EXPECT_NE(answer.calls[0].fault, "");
  EXPECT_EQ(answer.unread, cut);
}

TEST(UnreadCalls, WhatFollowsAWholeCallIsUnreadWithoutIt) {
  const std::string cut = "\n<tool_call>\n{\"name\": \"add\"";
  const WrittenAnswer answer = read(kGood + cut);
  ASSERT_EQ(answer.calls.size(), 2u);
  EXPECT_EQ(answer.calls[0].name, "add");
  EXPECT_EQ(answer.calls[1].name, "");
  EXPECT_EQ(answer.unread.find("\"a\": 1"), std::string::npos);
  EXPECT_TRUE(answer.unread.ends_with("{\"name\": \"add\"")) << answer.unread;
}

TEST(UnreadCalls, AMarkWithoutACallIsUnread) {
  EXPECT_EQ(read("<tool_call>\nnothing").unread, "<tool_call>\nnothing");
}

TEST(UnreadCalls, NoMarkOfACallThatWasReadIsShown) {
  // However much of a second call is there.
  const std::string second = std::string("\n") + kGood;
  for (std::size_t bytes = 0; bytes <= second.size(); ++bytes) {
    const WrittenAnswer answer = read("Sure.\n" + (kGood + second.substr(0, bytes)));
    EXPECT_EQ(answer.calls[0].name, "add") << bytes;
    EXPECT_EQ(answer.text, "Sure.") << bytes;
    const bool is_whole = bytes == second.size();
    EXPECT_TRUE(is_whole || answer.unread.find("</tool_call>") == std::string::npos)
        << bytes << ": " << answer.unread;
  }
  EXPECT_EQ(read(std::string(kGood) + "\n</tool_call>\nDone.").text, "Done.");
}

TEST(UnreadCalls, ACallMayLeaveOutItsArguments) {
  for (const char* written :
       {"<tool_call>\n{\"name\": \"add\"}\n</tool_call>",
        "<tool_call>{\"name\":\"add\",\"arguments\":null}",
        "<tool_call>\n{\"name\": \"add\", \"arguments\": \"\"}\n</tool_call>",
        "<tool_call>\n{\"name\": \"add\", \"arguments\": {}}\n</tool_call>"}) {
    const WrittenAnswer answer = read(written);
    ASSERT_EQ(answer.calls.size(), 1u) << written;
    EXPECT_EQ(answer.calls[0].name, "add");
    EXPECT_EQ(answer.calls[0].arguments.str(), "{}") << written;
    EXPECT_EQ(answer.calls[0].fault + answer.unread + answer.text, "") << written;
  }
  EXPECT_NE(read("<tool_call>\n{\"name\": \"unknown\"}\n</tool_call>").unread, "");
}

TEST(UnreadCalls, ANameAloneIsACallIfItsMarkFollows) {
  CallForm form;
  form.kind = CallForm::Kind::NameThenJson;
  form.before = form.between = "[CALL]";
  form.name_end = "[ARGS]";
  form.after = "";
  const AnswerReader reader(form, {"add"});
  EXPECT_EQ(reader.read("[CALL]add[ARGS]").calls[0].arguments.str(), "{}");
  EXPECT_EQ(reader.read("[CALL]add[ARGS][CALL]add[ARGS]{\"a\":1}").calls.size(), 2u);
  EXPECT_FALSE(reader.has_call("[CALL]add[ARGS]"));
  EXPECT_NE(reader.read("[CALL]add[ARGS]{\"a\":").unread, "");
}

TEST(DescribedTools, SaysHowTheFormWritesACall) {
  CallForm form;
  form.kind = CallForm::Kind::NameThenJson;
  form.before = "[CALL]";
  form.name_end = "[ARGS]";
  form.after = "";
  const std::string text = described_tools("[]", form);
  EXPECT_NE(text.find("[CALL]<name>[ARGS]<object>"), std::string::npos) << text;
  EXPECT_NE(described_tools("[7]", CallForm{}).find("<tools>\n[7]\n</tools>"), std::string::npos);
}

}  // namespace
}  // namespace quire
