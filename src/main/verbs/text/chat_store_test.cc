#include "main/verbs/text/chat_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "main/verbs/text/chat_history.h"
#include "support/process.h"

namespace quire::chat_store_test {
namespace {

using test::TemporaryFolder;

const SavedChat kChat = {
    .model = "tiny",
    .system = "Be \"brief\".",
    .messages = {{ChatRole::User, "Grüße\nzwei Zeilen"}, {ChatRole::Assistant, "Ja."}}};

mode_t mode_of(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
}

std::string refusal(const ChatStore& store, const std::string& name) {
  const Result<SavedChat> chat = store.load(name);
  return chat.ok() ? "" : std::string(chat.error().message());
}

TEST(ChatStore, GivesBackWhatWasSavedFromAFileThatOnlyItsOwnerReads) {
  const TemporaryFolder folder;
  const ChatStore store(folder.file("data/chat"));
  const Result<ChatStore::Saved> saved = store.save("plan", kChat);
  ASSERT_TRUE(saved.ok()) << saved.error().message();
  EXPECT_FALSE(saved.value().is_replaced);
  EXPECT_EQ(mode_of(saved.value().path), 0600u);
  EXPECT_EQ(mode_of(folder.file("data/chat")), 0700u);
  const Result<SavedChat> loaded = store.load("plan");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message();
  EXPECT_EQ(loaded.value(), kChat);

  SavedChat other = kChat;
  other.system.clear();
  EXPECT_TRUE(store.save("plan", other).value().is_replaced);
  EXPECT_EQ(store.load("plan").value(), other);
  EXPECT_TRUE(store.save("another", other).ok());
  EXPECT_EQ(store.names(), (std::vector<std::string>{"another", "plan"}));
}

TEST(ChatStore, RefusesNamesThatLeadOutOfItsFolderOrHide) {
  const TemporaryFolder folder;
  const ChatStore store(folder.file("chat"));
  for (const std::string& name :
       {std::string(), std::string(".x"), std::string(".."), std::string("a/b"), std::string("-x"),
        std::string("a b"), std::string("ä"), std::string(65, 'a')}) {
    const Result<ChatStore::Saved> saved = store.save(name, kChat);
    ASSERT_FALSE(saved.ok()) << name;
    EXPECT_EQ(saved.error().code(), ErrorCode::InvalidArgument);
    EXPECT_NE(saved.error().message().find("cannot be the name of a chat"), std::string::npos);
    EXPECT_FALSE(store.load(name).ok());
  }
  EXPECT_TRUE(store.save(std::string(64, 'a'), kChat).ok());
}

TEST(ChatStore, SaysWhatIsThereWhereANameIsNot) {
  const TemporaryFolder folder;
  const ChatStore store(folder.file("chat"));
  EXPECT_EQ(refusal(store, "plan"), "no chat is saved as \"plan\"; /save NAME saves one");
  ASSERT_TRUE(store.save("plan", kChat).ok());
  EXPECT_EQ(refusal(store, "plam"), "no chat is saved as \"plam\"; did you mean plan?");
  EXPECT_EQ(refusal(store, "zzzz"), "no chat is saved as \"zzzz\"; /load lists those that are");
}

TEST(ChatStore, SaysWhatIsWrongWithADamagedFile) {
  const TemporaryFolder folder;
  const ChatStore store(folder.file(""));
  const auto refused = [&](const std::string& text) {
    folder.write("x.json", text);
    return refusal(store, "x");
  };
  const auto says = [&](const std::string& text, const std::string& part) {
    const std::string message = refused(text);
    EXPECT_NE(message.find("x.json is not a saved chat: "), std::string::npos) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  says("{\"model\": \"m\", \"mess", "the text");
  says("[]", "it has no text \"model\"");
  says(R"({"model": "m"})", "it has no array \"messages\"");
  says(R"({"model": "m", "messages": [7]})", "messages[0] has no text \"role\"");
  says(R"({"model": "m", "messages": [{"role": "tool", "content": ""}]})",
       "messages[0] has the role \"tool\", where user was expected");
  says(R"({"model": "m", "messages": [{"role": "user", "content": ["x"]}]})",
       "messages[0] has no text \"content\"");
  says(R"({"model": "m", "messages": [{"role": "user", "content": "x"}]})",
       "the last message has no answer");
  EXPECT_EQ(refused(R"({"model": "m", "messages": []})"), "");
  const std::string large = refused(std::string(ChatStore::kFileBytesMax + 1, ' '));
  EXPECT_NE(large.find("x.json"), std::string::npos) << large;
}

TEST(ChatHistory, KeepsWhatWasTypedAcrossChatsInAPrivateFile) {
  const TemporaryFolder folder;
  const ChatHistory history(folder.file("chat"));
  EXPECT_TRUE(history.entries().value().empty());
  for (const char* each : {"one", "two\nlines \\n here", "two\nlines \\n here", "", "three\\"}) {
    const Result<void> added = history.add(each);
    ASSERT_TRUE(added.ok()) << added.error().message();
  }
  EXPECT_EQ(ChatHistory(folder.file("chat")).entries().value(),
            (std::vector<std::string>{"one", "two\nlines \\n here", "three\\"}));
  EXPECT_EQ(mode_of(folder.file("chat/history")), 0600u);
}

TEST(ChatHistory, IsBoundedByEntriesAndBytes) {
  const TemporaryFolder folder;
  const ChatHistory history(folder.file("."));
  std::string lines;
  for (std::size_t i = 0; i < ChatHistory::kEntryCountMax; ++i) {
    lines += "line " + std::to_string(i) + "\n";
  }
  folder.write("history", lines);
  ASSERT_TRUE(history.add("newest").ok());
  std::vector<std::string> entries = history.entries().value();
  EXPECT_EQ(entries.size(), ChatHistory::kEntryCountMax);
  EXPECT_EQ(entries.front(), "line 1");
  EXPECT_EQ(entries.back(), "newest");

  ASSERT_TRUE(history.add(std::string(ChatHistory::kEntryBytesMax + 1, 'x')).ok());
  EXPECT_EQ(history.entries().value().back(), "newest");
  const std::string long_text(ChatHistory::kEntryBytesMax - 8, 'x');
  for (std::size_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(history.add(std::to_string(i) + long_text).ok());
  }
  entries = history.entries().value();
  EXPECT_LE(entries.size(), ChatHistory::kBytesMax / long_text.size());
  EXPECT_TRUE(entries.back().starts_with("19xx"));
  EXPECT_LE(read_file(folder.file("history"), ChatHistory::kBytesMax).value().size(),
            ChatHistory::kBytesMax);
}

}  // namespace
}  // namespace quire::chat_store_test
