#include "main/verbs/text/chat_input.h"

#include <gtest/gtest.h>

#include <deque>

#include "main/verbs/text/chat_commands.h"
#include "support/process.h"

namespace quire::chat_input_test {
namespace {

using Kind = ChatEntry::Kind;
using Texts = std::vector<std::string>;

class GivenLines final : public ChatLines {
 public:
  explicit GivenLines(std::deque<std::string> lines) : lines_(std::move(lines)) {}
  Got read(const std::string& prompt, std::string& line) override {
    prompts += prompt;
    if (lines_.empty()) return Got::End;
    line = lines_.front();
    lines_.pop_front();
    return line == "^C" ? Got::Interrupted : Got::Line;
  }
  void remember(const std::string& entry) override { remembered.push_back(entry); }

  std::string prompts;
  Texts remembered;

 private:
  std::deque<std::string> lines_;
};

Texts entries_of(GivenLines& lines, bool is_terminal) {
  ChatInput input(lines, is_terminal);
  Texts all;
  while (true) {
    const ChatEntry entry = input.next();
    if (entry.kind == Kind::End) return all;
    const char* kind = entry.kind == Kind::Command       ? "command "
                       : entry.kind == Kind::Interrupted ? "interrupted"
                                                         : "message ";
    all.push_back(kind + entry.text);
  }
}

TEST(ChatInput, TakesASlashAndAWordForACommandAndAPathForAMessage) {
  GivenLines lines({"/set temperature 0.7 ", "/etc/hosts is a file", "/", "/1", "/quit", " /quit",
                    "/load a\nb"});
  EXPECT_EQ(entries_of(lines, true),
            (Texts{"command set temperature 0.7", "message /etc/hosts is a file", "message /",
                   "message /1", "command quit", "message  /quit", "message /load a\nb"}));
}

TEST(ChatInput, MakesOneMessageOfLinesBetweenQuotationMarks) {
  GivenLines lines(
      {R"(""")", "one  ", "", "/quit", R"(""")", R"("""two)", R"(three""")", R"("""/etc""")"});
  EXPECT_EQ(entries_of(lines, true),
            (Texts{"message one\n\n/quit", "message two\nthree", "message /etc"}));
  EXPECT_EQ(lines.prompts, "> . . . . > . > > ");
  EXPECT_EQ(lines.remembered,
            (Texts{"\"\"\"one\n\n/quit\"\"\"", "\"\"\"two\nthree\"\"\"", R"("""/etc""")"}));
  // A remembered line gives the same message when it comes back.
  GivenLines again({lines.remembered[0]});
  EXPECT_EQ(entries_of(again, true), Texts{"message one\n\n/quit"});
}

TEST(ChatInput, GivesUpAMessageOfSeveralLinesOnCtrlC) {
  GivenLines lines({R"(""")", "one", "^C", "two"});
  EXPECT_EQ(entries_of(lines, true), (Texts{"interrupted", "message two"}));
}

TEST(ChatInput, WithoutATerminalKnowsThreeCommandsAndTakesAllElseAsItIs) {
  GivenLines lines({"/set x", "\"\"\"", "/clear", "/clear ", "/help", "/quit", " x "});
  EXPECT_EQ(entries_of(lines, false),
            (Texts{"message /set x", "message \"\"\"", "command clear", "message /clear ",
                   "command help", "command quit", "message  x "}));
  EXPECT_TRUE(lines.remembered.empty());
}

// ---- What the commands do. ----------------------------------------------------------------------

class Parrot final : public ChatPartner {
 public:
  Result<void> turn(const std::string& message) override {
    messages_.push_back({ChatRole::User, message});
    messages_.push_back({ChatRole::Assistant, message});
    return {};
  }
  const ChatMessages& messages() const override { return messages_; }
  const std::string& model() const override { return model_; }
  void clear() override { messages_.clear(); }
  void restore(ChatMessages messages) override { messages_ = std::move(messages); }
  Result<void> check(const cli::ChatSettings& settings) const override {
    if (settings.sampling.top_k != 7) return {};
    return Error(ErrorCode::NotSupported, "top-k 7 is too odd");
  }

 private:
  ChatMessages messages_;
  const std::string model_ = "parrot";
};

struct Chat {
  test::TemporaryFolder folder;
  Parrot partner;
  cli::ChatSettings settings;
  Result<std::string> place = folder.file("chat");
  ChatCommands commands{partner, settings, place};

  std::string refusal(const std::string& line) {
    const Result<ChatCommands::Then> then = commands.run(line);
    return then.ok() ? "" : std::string(then.error().message());
  }
};

TEST(ChatCommands, SaveClearAndLoadAConversationWithItsSystemMessage) {
  Chat chat;
  EXPECT_EQ(chat.refusal("save x"), "there is nothing to save: no message was answered");
  ASSERT_TRUE(chat.partner.turn("Hi").ok());
  chat.settings.system = "A parrot.";
  EXPECT_EQ(chat.refusal("save"), "/save needs a name, as in /save plan");
  EXPECT_EQ(chat.refusal("save first"), "");
  EXPECT_EQ(chat.refusal("clear"), "");
  EXPECT_TRUE(chat.partner.messages().empty());
  chat.settings.system.clear();
  EXPECT_NE(chat.refusal("load frst"), "");
  EXPECT_TRUE(chat.partner.messages().empty());
  EXPECT_EQ(chat.refusal("load first"), "");
  EXPECT_EQ(chat.partner.messages().size(), 2u);
  EXPECT_EQ(chat.settings.system, "A parrot.");
}

TEST(ChatCommands, SetWhatThePartnerCanDo) {
  Chat chat;
  EXPECT_EQ(chat.refusal("set system You are a  pirate"), "");
  EXPECT_EQ(chat.settings.system, "You are a  pirate");
  EXPECT_EQ(chat.refusal("set system \"\""), "");
  EXPECT_EQ(chat.settings.system, "");
  EXPECT_EQ(chat.refusal("set top-k 7"), "top-k 7 is too odd");
  EXPECT_EQ(chat.settings.sampling.top_k, 0u);
  EXPECT_EQ(chat.refusal("set top-k 8"), "");
  EXPECT_EQ(chat.settings.sampling.top_k, 8u);
  EXPECT_EQ(chat.refusal("set"), "");
  EXPECT_EQ(chat.refusal("set seed"), "");
}

TEST(ChatCommands, ProposeTheNearestAndSayHowToSendSuchAMessage) {
  Chat chat;
  EXPECT_EQ(chat.refusal("sav x"),
            "there is no command /sav; did you mean /save? A message that begins with / goes "
            "between two \"\"\"");
  EXPECT_EQ(chat.refusal("zzz"),
            "there is no command /zzz; /help lists those that are. A message that begins with / "
            "goes between two \"\"\"");
  EXPECT_EQ(chat.commands.run("quit").value(), ChatCommands::Then::Quit);
}

TEST(ChatCommands, CompleteCommandsSettingsAndNames) {
  Chat chat;
  ASSERT_TRUE(chat.partner.turn("Hi").ok());
  ASSERT_EQ(chat.refusal("save first"), "");
  EXPECT_EQ(chat.commands.completions("/s"), (Texts{"/set", "/save"}));
  EXPECT_EQ(chat.commands.completions("/set temp"), Texts{"/set temperature"});
  EXPECT_EQ(chat.commands.completions("/load f"), Texts{"/load first"});
  EXPECT_EQ(chat.commands.completions("/load x"), Texts{"/load x"});
  EXPECT_TRUE(chat.commands.completions("a text").empty());
}

}  // namespace
}  // namespace quire::chat_input_test
