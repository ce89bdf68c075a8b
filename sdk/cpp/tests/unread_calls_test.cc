// What AnswerReader gives of calls that it cannot read, and how a model is told of tools.
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
