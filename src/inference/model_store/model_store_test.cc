#include "inference/model_store/model_store.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "inference/architectures/model_files.h"
#include "inference/model_store/download.h"
#include "support/tiny_gguf.h"

namespace quire::inference {
namespace {

namespace fs = std::filesystem;

class ModelStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(data_);
    fs::create_directories(data_);
    std::ofstream(gguf_, std::ios::binary) << test::tiny_gguf("tiny_qwen2");
  }
  void TearDown() override { fs::remove_all(data_); }

  static std::string message_of(const Result<std::string>& result) {
    return result.ok() ? "" : std::string(result.error().message());
  }
  // Nothing but what list() shows and its records.
  std::size_t entry_count() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(store_.folder()), fs::directory_iterator()));
  }

  const std::string data_ = testing::TempDir() + "quire_store_" + std::to_string(getpid());
  const std::string gguf_ = data_ + "/Tiny-Qwen2.gguf";
  const ModelStore store_{data_};
};

TEST_F(ModelStoreTest, AddsListsVerifiesAndRemovesAGguf) {
  EXPECT_TRUE(store_.list().value().empty());
  std::uint64_t last = 0;
  AddOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t expected) {
    EXPECT_LE(done, expected);
    last = done;
    return true;
  };
  Result<StoredModel> added = store_.add(gguf_, options);
  ASSERT_TRUE(added.ok()) << added.error().message();
  EXPECT_EQ(added.value().name, "tiny-qwen2");
  EXPECT_EQ(last, fs::file_size(gguf_));
  EXPECT_EQ(store_.list().value().size(), 1u);
  EXPECT_EQ(store_.resolve("tiny-qwen2").value(), store_.folder() + "/tiny-qwen2.gguf");
  EXPECT_TRUE(store_.verify("tiny-qwen2", {}).ok());
  EXPECT_EQ(store_.add(gguf_, {}).error().code(), ErrorCode::AlreadyExists);
  EXPECT_TRUE(store_.remove("tiny-qwen2").ok());
  EXPECT_EQ(entry_count(), 0u);
  EXPECT_EQ(store_.remove("tiny-qwen2").error().code(), ErrorCode::NotFound);
  EXPECT_TRUE(fs::exists(gguf_));
}

TEST_F(ModelStoreTest, AddsAFolderAndNoticesAChangedByte) {
  AddOptions options;
  options.name = "mine";
  Result<StoredModel> added = store_.add(test::golden_path("tiny_qwen2/"), options);
  ASSERT_TRUE(added.ok()) << added.error().message();
  EXPECT_TRUE(store_.verify("mine", {}).ok());
  EXPECT_TRUE(open_model(store_.resolve("mine").value()).ok());
  const std::string weights = added.value().path + "/model.safetensors";
  std::fstream(weights, std::ios::in | std::ios::out | std::ios::binary).seekp(5000).put('\x55');
  Result<void> verified = store_.verify("mine", {});
  ASSERT_FALSE(verified.ok());
  EXPECT_EQ(verified.error().code(), ErrorCode::Corrupted);
  EXPECT_NE(verified.error().message().find(weights), std::string::npos);
  fs::remove(added.value().path + "/greedy.json");
  EXPECT_FALSE(store_.verify("mine", {}).ok());
}

TEST_F(ModelStoreTest, KeepsAllShardsOfAModel) {
  test::write_tiny_shards(data_, "Sharded", "tiny_qwen2", {4, 4});
  std::uint64_t last = 0;
  AddOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t expected) {
    EXPECT_LE(done, expected);
    last = done;
    return true;
  };
  // Any of them stands for all.
  Result<StoredModel> added = store_.add(data_ + "/Sharded-00002-of-00003.gguf", options);
  ASSERT_TRUE(added.ok()) << added.error().message();
  EXPECT_EQ(added.value().name, "sharded");
  EXPECT_EQ(added.value().path, store_.folder() + "/sharded/sharded-00001-of-00003.gguf");
  EXPECT_EQ(added.value().bytes, last);
  ASSERT_EQ(store_.list().value().size(), 1u);
  EXPECT_EQ(store_.list().value().front().path, added.value().path);
  EXPECT_TRUE(open_model(store_.resolve("sharded").value()).ok());
  EXPECT_TRUE(store_.verify("sharded", {}).ok());

  const std::string third = store_.folder() + "/sharded/sharded-00003-of-00003.gguf";
  std::fstream(third, std::ios::in | std::ios::out | std::ios::binary).seekp(5000).put('\x55');
  Result<void> verified = store_.verify("sharded", {});
  ASSERT_FALSE(verified.ok());
  EXPECT_NE(verified.error().message().find(third), std::string::npos);
  fs::remove(third);
  EXPECT_FALSE(store_.verify("sharded", {}).ok());
  EXPECT_TRUE(store_.remove("sharded").ok());
  EXPECT_EQ(entry_count(), 0u);
}

TEST_F(ModelStoreTest, RefusesAModelOfWhichAShardIsMissing) {
  const std::string first = test::write_tiny_shards(data_, "half", "tiny_qwen2", {4});
  fs::remove(data_ + "/half-00002-of-00002.gguf");
  Result<StoredModel> added = store_.add(first, {});
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code(), ErrorCode::NotFound);
  EXPECT_NE(added.error().message().find("shard 2 of 2 is missing"), std::string::npos)
      << added.error().message();
  EXPECT_EQ(entry_count(), 0u);
}

// A cache may hold each shard as a link to a file of another name.
TEST_F(ModelStoreTest, TakesShardsThatAreLinks) {
  const std::string first = test::write_tiny_shards(data_, "linked", "tiny_qwen2", {4});
  for (const char* name : {"linked-00001-of-00002.gguf", "linked-00002-of-00002.gguf"}) {
    fs::rename(data_ + "/" + name, data_ + "/blob_of_" + name + ".bin");
    fs::create_symlink(data_ + "/blob_of_" + name + ".bin", data_ + "/" + name);
  }
  for (const AddMode mode : {AddMode::Copy, AddMode::Link}) {
    AddOptions options;
    options.mode = mode;
    Result<StoredModel> added = store_.add(first, options);
    ASSERT_TRUE(added.ok()) << added.error().message();
    EXPECT_EQ(fs::is_symlink(added.value().path), mode == AddMode::Link);
    EXPECT_TRUE(open_model(added.value().path).ok());
    EXPECT_TRUE(store_.verify("linked", {}).ok());
    EXPECT_TRUE(store_.remove("linked").ok());
    EXPECT_TRUE(fs::exists(first));
  }
}

TEST_F(ModelStoreTest, LinksInsteadOfCopying) {
  AddOptions options;
  options.mode = AddMode::Link;
  Result<StoredModel> added = store_.add("file://" + gguf_, options);
  ASSERT_TRUE(added.ok()) << added.error().message();
  EXPECT_TRUE(fs::is_symlink(added.value().path));
  EXPECT_TRUE(store_.verify("tiny-qwen2", {}).ok());
  EXPECT_TRUE(store_.remove("tiny-qwen2").ok());
  EXPECT_TRUE(fs::exists(gguf_));
}

TEST_F(ModelStoreTest, LeavesNothingBehindWhenAddingFails) {
  const std::string broken = data_ + "/broken.gguf";
  std::ofstream(broken) << "GGUF and no more";
  Result<StoredModel> added = store_.add(broken, {});
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code(), ErrorCode::NotSupported) << added.error().message();
  EXPECT_EQ(entry_count(), 0u);
  AddOptions stopped;
  stopped.progress = [](std::uint64_t, std::uint64_t) { return false; };
  EXPECT_EQ(store_.add(gguf_, stopped).error().code(), ErrorCode::Cancelled);
  EXPECT_EQ(entry_count(), 0u);
  EXPECT_EQ(store_.add(data_ + "/none.gguf", {}).error().code(), ErrorCode::NotFound);
  const Result<StoredModel> unknown = store_.add("smollm2-135m", {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message().find("not a name of the list (smollm2-135m-instruct, "),
            std::string::npos)
      << unknown.error().message();
  for (const char* name : {"../escape", ".hidden", "a/b", "a b", "\xff"}) {
    AddOptions options;
    options.name = name;
    EXPECT_EQ(store_.add(gguf_, options).error().code(), ErrorCode::InvalidArgument) << name;
  }
}

TEST_F(ModelStoreTest, SaysHowToGetAMissingModel) {
  const std::string message = message_of(store_.resolve(""));
  EXPECT_NE(message.find("smollm2-135m-instruct"), std::string::npos) << message;
  EXPECT_NE(message.find("quire model add smollm2-135m-instruct"), std::string::npos) << message;
  EXPECT_NE(message.find("make model"), std::string::npos) << message;
  EXPECT_NE(message_of(store_.resolve("qwen2.5-coder-0.5b-instruct"))
                .find("`quire model add qwen2.5-coder-0.5b-instruct` fetches it"),
            std::string::npos);
  EXPECT_NE(message_of(store_.resolve("hf:a/b:Q4_0")).find("quire model add hf:a/b:Q4_0"),
            std::string::npos);
  ASSERT_TRUE(store_.add(gguf_, {}).ok());
  EXPECT_NE(message_of(store_.resolve("other")).find("there are: tiny-qwen2"), std::string::npos);
  EXPECT_NE(message_of(store_.resolve("./none.gguf")).find("no model file or folder"),
            std::string::npos);
  EXPECT_EQ(store_.resolve(gguf_).value(), gguf_);
}

// A web server on a free port of the loopback interface, for one test.
class WebServer {
 public:
  explicit WebServer(const std::string& folder) {
    const std::string script =
        "import functools, http.server, sys\n"
        "handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])\n"
        "server = http.server.HTTPServer(('127.0.0.1', 0), handler)\n"
        "print(server.server_port, flush=True)\n"
        "import threading; threading.Thread(target=server.serve_forever, daemon=True).start()\n"
        "sys.stdin.read()\n";
    const std::string path = folder + "/server.py";
    std::ofstream(path) << script;
    const std::string port_path = folder + "/port";
    const std::string command =
        "exec python3 " + path + " " + folder + " > " + port_path + " 2> /dev/null";
    input_ = ::popen(command.c_str(), "w");
    for (int tries = 0; tries < 1000 && port_ == 0; ++tries) {
      usleep(10000);
      std::ifstream(port_path) >> port_;
    }
  }
  ~WebServer() {
    if (input_ != nullptr) ::pclose(input_);
  }
  std::string url(const std::string& file) const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/" + file;
  }
  bool runs() const { return port_ != 0; }

 private:
  std::FILE* input_ = nullptr;
  int port_ = 0;
};

TEST_F(ModelStoreTest, DownloadsOverHttp) {
  ::setenv("no_proxy", "127.0.0.1", 1);
  const WebServer server(data_);
  if (!server.runs()) GTEST_SKIP() << "python3 gives no web server on the loopback interface";
  Result<StoredModel> added = store_.add(server.url("Tiny-Qwen2.gguf?download=1"), {});
  ASSERT_TRUE(added.ok()) << added.error().message();
  EXPECT_EQ(added.value().name, "tiny-qwen2");
  EXPECT_TRUE(store_.verify("tiny-qwen2", {}).ok());
  test::write_tiny_shards(data_, "Parts", "tiny_qwen2", {4, 4});
  Result<StoredModel> shards = store_.add(server.url("Parts-00001-of-00003.gguf?x=1#y"), {});
  ASSERT_TRUE(shards.ok()) << shards.error().message();
  EXPECT_EQ(shards.value().name, "parts");
  EXPECT_TRUE(store_.verify("parts", {}).ok());
  fs::remove(data_ + "/Parts-00002-of-00003.gguf");
  AddOptions again;
  again.name = "again";
  Result<StoredModel> lacking = store_.add(server.url("Parts-00001-of-00003.gguf"), again);
  ASSERT_FALSE(lacking.ok());
  EXPECT_NE(lacking.error().message().find("shard 2 of 3"), std::string::npos)
      << lacking.error().message();
  Result<StoredModel> missing = store_.add(server.url("none.gguf"), {});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::NotFound) << missing.error().message();
  DownloadOptions small;
  small.bytes_max = 1000;
  Result<void> large = download(server.url("Tiny-Qwen2.gguf"), data_ + "/large", small);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code(), ErrorCode::TooLarge) << large.error().message();
  EXPECT_FALSE(fs::exists(data_ + "/large"));
  DownloadOptions stopped;
  stopped.progress = [](std::uint64_t, std::uint64_t) { return false; };
  EXPECT_EQ(download(server.url("Tiny-Qwen2.gguf"), data_ + "/stopped", stopped).error().code(),
            ErrorCode::Cancelled);
}

TEST_F(ModelStoreTest, DownloadsOverNoOtherProtocol) {
  Result<void> result = download("file://" + gguf_, data_ + "/copy", {});
  ASSERT_FALSE(result.ok());
  EXPECT_FALSE(fs::exists(data_ + "/copy"));
}

TEST(DataFolder, FollowsTheEnvironment) {
  ::setenv("XDG_DATA_HOME", "/xdg", 1);
  ::setenv("QUIRE_DATA", "", 1);
  EXPECT_EQ(data_folder_from_environment().value(), "/xdg/quire");
  ::setenv("QUIRE_DATA", "/own", 1);
  EXPECT_EQ(data_folder_from_environment().value(), "/own");
  ::unsetenv("QUIRE_DATA");
  ::unsetenv("XDG_DATA_HOME");
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(data_folder_from_environment().value(), "/home/me/.local/share/quire");
}

}  // namespace
}  // namespace quire::inference
