// `quire kv`: the saved contexts as their users see them, on stores that an engine wrote.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "end_to_end/saved_contexts.h"
#include "end_to_end/support.h"

namespace quire::test {
namespace {

namespace fs = std::filesystem;

// A store with `chat` and `notes`, whose first two pages are shared.
class KvStore {
 public:
  KvStore() {
    save_contexts(kTiny, path(), {{"chat", some_tokens(50)}, {"notes", some_tokens(32)}});
  }
  std::string path() const { return folder_.file("store"); }
  const TemporaryFolder& folder() const { return folder_; }
  ProcessResult kv(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "kv");
    arguments.insert(arguments.end(), {"--store", path()});
    return run_quire(arguments);
  }
  nlohmann::json json(std::vector<std::string> arguments) const {
    arguments.push_back("--json");
    return output_json(kv(std::move(arguments)));
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const nlohmann::json& each : json({"list"})) names.push_back(each["name"]);
    return names;
  }
  std::string page_file() const {
    for (const auto& entry : fs::directory_iterator(path())) {
      if (entry.path().filename().string().starts_with("pages-")) return entry.path().string();
    }
    return "";
  }

 private:
  TemporaryFolder folder_;
};

void expect_says(const ProcessResult& result, int exit_code,
                 const std::vector<std::string>& texts) {
  EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
  for (const std::string& text : texts) {
    EXPECT_NE((result.out + result.err).find(text), std::string::npos) << "wanted: " << text << "\n"
                                                                       << result.out << result.err;
  }
}

using Names = std::vector<std::string>;

TEST(EndToEndKv, ListsWhatWasSavedAsATableAndAsJson) {
  const KvStore store;
  const ProcessResult table = store.kv({"list"});
  expect_says(table, 0, {"NAME", "EXPIRES", "chat", "notes", "never", "2 snapshots, "});
  const nlohmann::json list = store.json({"list"});
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["name"], "chat");
  EXPECT_EQ(list[0]["tokens"], 50);
  EXPECT_EQ(list[0]["pages"], 4);  // Three full ones and the tail.
  EXPECT_EQ(list[1]["tokens"], 32);
  EXPECT_GT(list[0]["created_unix_ms"].get<std::uint64_t>(), 0u);
  EXPECT_TRUE(list[0]["expires_unix_ms"].is_null());
}

TEST(EndToEndKv, ShowsWhatOneHoldsAndWhoCanOpenIt) {
  const KvStore store;
  expect_says(store.kv({"show", "chat"}), 0,
              {"4 of 16 tokens: 3 committed (0 of them dropped), 1 in the tail", "numerics"});
  const nlohmann::json chat = store.json({"show", "chat"});
  EXPECT_EQ(chat["committed_pages"], 3);
  EXPECT_EQ(chat["tail_pages"], 1);
  EXPECT_EQ(chat["kv_format"], "f16");
  EXPECT_EQ(chat["model_digest"].get<std::string>().size(), 64u);
}

TEST(EndToEndKv, ASnapshotOfAnotherTenantIsNotThere) {
  const KvStore store;
  expect_says(store.kv({"show", "chat", "--tenant", "1"}), 3, {"chat", "tenant 1"});
  expect_says(store.kv({"list", "--tenant", "1"}), 0, {"0 snapshots"});
}

TEST(EndToEndKv, AFileGoesToAnotherInstallationAndOpensThere) {
  const KvStore store;
  const std::string file = store.folder().file("chat.quirekv");
  expect_says(store.kv({"export", "chat", file}), 0, {"exported chat to " + file});
  // Another store, with another secret, so that every page gets another name.
  const std::string other = store.folder().file("other");
  expect_says(run_quire({"kv", "import", file, "--as", "copy", "--store", other}), 0,
              {"imported copy (50 tokens, 4 pages"});
  expect_says(run_quire({"kv", "verify", "--store", other}), 0, {"every byte"});

  SavingEngine here(kTiny, store.path());
  SavingEngine there(kTiny, other);
  ASSERT_TRUE(here.ok() && there.ok());
  TalkingContext original(here);
  TalkingContext copy(there);
  ASSERT_TRUE(original.open("chat").ok());
  const Result<control::ContextCounters> opened = copy.open("copy");
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_EQ(original.forward({9, 8}).value(), copy.forward({9, 8}).value());
  EXPECT_EQ(copy.statistics().computed_token_count, 2u);
}

TEST(EndToEndKv, ImportingOverANameTakesAnAnswer) {
  const KvStore store;
  const std::string file = store.folder().file("chat.quirekv");
  expect_says(store.kv({"export", "chat", file}), 0, {});
  expect_says(store.kv({"import", file}), 1, {"chat", "--overwrite", "--as NAME"});
  expect_says(store.kv({"import", file, "--overwrite"}), 0, {"imported chat"});
  expect_says(store.kv({"import", file, "--as", "again"}), 0, {"imported again"});
  EXPECT_EQ(store.names(), (Names{"again", "chat", "notes"}));
}

TEST(EndToEndKv, DeletingAndCollectingGivesSpaceBackButNotWhatOthersShare) {
  const KvStore store;
  const std::uint64_t before = fs::file_size(store.page_file());
  expect_says(store.kv({"delete", "chat"}), 0, {"deleted chat"});
  EXPECT_EQ(store.names(), (Names{"notes"}));
  EXPECT_EQ(store.json({"gc"})["freed_pages"], 2);  // The third page and the tail.
  EXPECT_LT(fs::file_size(store.page_file()), before);
  expect_says(store.kv({"verify"}), 0, {"2 pages: every byte as it was written"});
  expect_says(store.kv({"delete", "notes"}), 0, {});
  EXPECT_EQ(store.json({"gc"})["removed_files"], 1);
  EXPECT_EQ(store.page_file(), "");
}

TEST(EndToEndKv, VerifyNamesADamagedPageAndTheSnapshotsThatItIsIn) {
  const KvStore store;
  {
    std::fstream file(store.page_file(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 + 4096 + 10);  // Keys of the first slot's page.
    file.put('\x55');
    file.seekp(4096 + 4096 + 11);
    file.put('\xaa');
  }
  expect_says(store.kv({"verify"}), 1,
              {"damaged: page ", "checksum", "cannot be opened: chat: page ",
               "cannot be opened: notes: page ", "heals"});
  const ProcessResult result = store.kv({"verify", "--json"});
  EXPECT_EQ(result.exit_code, 1);
  const nlohmann::json json = nlohmann::json::parse(result.out, nullptr, false);
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["damages"].size(), 1u);
  EXPECT_EQ(json["unusable_snapshots"].size(), 2u);
  // An engine refuses the snapshot and lives.
  SavingEngine engine(kTiny, store.path());
  ASSERT_TRUE(engine.ok());
  TalkingContext context(engine);
  const Result<control::ContextCounters> opened = context.open("chat");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), ErrorCode::Corrupted);
}

TEST(EndToEndKv, APageFileCutShortIsDamageAndNoCrash) {
  const KvStore store;
  fs::resize_file(store.page_file(), 4096 + 100);
  expect_says(store.kv({"verify"}), 1, {"damaged: page ", "ends at byte", "cannot be opened"});
  expect_says(store.kv({"list"}), 0, {"chat", "notes"});
}

TEST(EndToEndKv, AMissingStoreIsNamedAndNotMade) {
  TemporaryFolder folder;
  const std::string store = folder.file("nothing");
  for (const char* verb : {"list", "verify", "gc"}) {
    expect_says(run_quire({"kv", verb, "--store", store}), 3,
                {"no store in " + store, "quire run"});
  }
  expect_says(run_quire({"kv", "show", "a", "--store", store}), 3, {"no store in " + store});
  EXPECT_FALSE(fs::exists(store));
  // Without a named store, nothing has been saved yet.
  const ProcessOptions fresh{.environment = {{"QUIRE_DATA", folder.file("data")}}};
  const ProcessResult list = run_quire({"kv", "list", "--json"}, fresh);
  expect_says(list, 0, {"no snapshot yet"});
  EXPECT_EQ(list.out, "[]\n");
}

TEST(EndToEndKv, NamesThatAreNoNamesAreRefused) {
  const KvStore store;
  const std::string file = store.folder().file("chat.quirekv");
  expect_says(store.kv({"export", "chat", file}), 0, {});
  for (const std::string& name :
       {std::string(".."), std::string("."), std::string("a/b"), std::string("../../etc/passwd"),
        std::string("a\nb"), std::string(4096, 'x'), std::string("\xff\xfe")}) {
    const ProcessResult show = store.kv({"show", name});
    expect_says(show, 1, {"snapshot name"});
    EXPECT_EQ(show.err.find('\xff'), std::string::npos);
    expect_says(store.kv({"import", file, "--as", name}), 1, {"snapshot name"});
    expect_says(store.kv({"delete", name}), 1, {"snapshot name"});
  }
  expect_says(store.kv({"show", "nobody"}), 3, {"nobody", "there are: chat, notes"});
  // Odd, but a name.
  expect_says(store.kv({"import", file, "--as", "\u202ename \U0001f600"}), 0, {});
  EXPECT_EQ(store.names().size(), 3u);
}

TEST(EndToEndKv, WhatIsNoExportedSnapshotIsNotImported) {
  const KvStore store;
  const TemporaryFolder& folder = store.folder();
  expect_says(store.kv({"import", folder.file("nothing")}), 3, {"nothing"});
  expect_says(store.kv({"import", folder.write("text", "hello, I am no snapshot at all")}), 1,
              {"not an exported snapshot"});
  const std::string file = folder.file("chat.quirekv");
  expect_says(store.kv({"export", "chat", file}), 0, {});
  const Result<std::string> bytes = read_file(file, 64u << 20);
  ASSERT_TRUE(bytes.ok());
  for (const std::size_t at : {std::size_t{9}, std::size_t{13}, std::size_t{21}, std::size_t{60},
                               bytes.value().size() / 2, bytes.value().size() - 5}) {
    std::string damaged = bytes.value();
    damaged[at] = static_cast<char>(damaged[at] ^ 0x5a);
    const ProcessResult result =
        store.kv({"import", folder.write("damaged", damaged), "--as", "bad"});
    EXPECT_EQ(result.exit_code, 1) << at << "\n" << result.out << result.err;
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{7}, std::size_t{12},
                                   std::size_t{100}, bytes.value().size() - 1}) {
    const std::string cut = folder.write("cut", bytes.value().substr(0, length));
    EXPECT_EQ(store.kv({"import", cut, "--as", "bad"}).exit_code, 1) << length;
  }
  EXPECT_EQ(store.names(), (Names{"chat", "notes"}));
  expect_says(store.kv({"export", "chat", folder.file("no/folder/file")}), 3, {"no/folder/file"});
}

TEST(EndToEndKv, AStoreThatAnEngineHasOpenIsInUse) {
  const KvStore store;
  SavingEngine engine(kTiny, store.path());
  ASSERT_TRUE(engine.ok());
  expect_says(store.kv({"list"}), 1, {"in use by another process", store.path(), "--store"});
}

TEST(EndToEndKv, AFolderThatCannotBeWrittenIsNamed) {
  const KvStore store;
  if (geteuid() == 0) {
    // Nothing is read-only to root but what the kernel itself refuses.
    expect_says(run_quire({"kv", "import", "/proc/version", "--store", "/proc/quire"}), 1,
                {"/proc/version"});
    const std::string file = store.folder().file("chat.quirekv");
    expect_says(store.kv({"export", "chat", file}), 0, {});
    const ProcessResult result = run_quire({"kv", "import", file, "--store", "/proc/quire"});
    EXPECT_NE(result.exit_code, 0);
    EXPECT_NE(result.err.find("/proc/quire"), std::string::npos) << result.err;
    return;
  }
  ASSERT_EQ(chmod(store.path().c_str(), 0500), 0);
  ASSERT_EQ(chmod((store.path() + "/store.lock").c_str(), 0400), 0);
  expect_says(store.kv({"list"}), 1, {"store.lock", "must be writable"});
  ASSERT_EQ(chmod((store.path() + "/store.lock").c_str(), 0600), 0);
  ASSERT_EQ(chmod(store.path().c_str(), 0700), 0);
  expect_says(store.kv({"list"}), 0, {"chat"});
}

// The engine starts all the same if the user did not name the store. It says that there is none
// once a program asks for it, and not for a program that saves nothing.
TEST(EndToEndKv, ARunWithoutItsStoreSaysSoOnceAProgramAsksForIt) {
  TemporaryFolder folder;
  const std::string data = folder.file("data");
  SavingEngine engine(kTiny, data + "/store");
  ASSERT_TRUE(engine.ok());
  const auto with = [&](const std::string& program, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"run", inferlet(program), "--model",
                                          kTiny, "--kv-pages",      "64"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const std::vector<std::string> own =
        program == "notes"
            ? std::vector<std::string>{"--", "a note"}
            : std::vector<std::string>{"--", "--prompt", "a b c", "--max-tokens", "2"};
    arguments.insert(arguments.end(), own.begin(), own.end());
    return run_quire(arguments, {.environment = {{"QUIRE_DATA", data}}});
  };
  const ProcessResult saves = with("notes", {});
  const std::size_t first = saves.err.find("snapshots are off: ");
  ASSERT_NE(first, std::string::npos) << saves.err;
  EXPECT_EQ(saves.err.find("snapshots are off: ", first + 1), std::string::npos) << saves.err;
  EXPECT_NE(saves.err.find("in use by another process"), std::string::npos) << saves.err;
  EXPECT_NE(saves.err.find("--no-store"), std::string::npos) << saves.err;
  const ProcessResult needs_none = with("text_completion", {});
  EXPECT_EQ(needs_none.exit_code, 0);
  EXPECT_EQ(needs_none.err.find("snapshots are off"), std::string::npos) << needs_none.err;
  EXPECT_EQ(with("notes", {"--no-store"}).err.find("snapshots are off"), std::string::npos);
  expect_says(with("text_completion", {"--store", data + "/store"}), 1,
              {"error:", "in use by another process"});
  expect_says(with("text_completion", {"--store", folder.file("own")}), 0, {});
  EXPECT_TRUE(fs::exists(folder.file("own") + "/sharing.secret"));
}

}  // namespace
}  // namespace quire::test
