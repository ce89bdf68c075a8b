#include "application/sandbox/compiled_code_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace quire::sandbox {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

class CompiledCode : public testing::Test {
 protected:
  void SetUp() override {
    folder = fs::path(testing::TempDir()) /
             ("quire-code-" + std::to_string(getpid()) + "-" +
              testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder);
  }
  void TearDown() override { fs::remove_all(folder); }
  CompiledCodeCache open(const std::string& configuration = "a") {
    return CompiledCodeCache::open(folder.string(), configuration).take();
  }
  static std::string text_of(const std::optional<MemoryFile>& file) {
    if (!file) return "(none)";
    const auto bytes = MappedBytes::map(file->descriptor(), file->bytes().value());
    return {reinterpret_cast<const char*>(bytes.value().bytes().data()),
            bytes.value().bytes().size()};
  }
  fs::path only_file() { return fs::directory_iterator(folder)->path(); }

  fs::path folder;
  const std::string code = "machine code";
};

TEST_F(CompiledCode, IsFoundUnderTheSameModuleAndConfigurationOnly) {
  const CompiledCodeCache cache = open();
  const Digest key = cache.key(bytes_of("module"));
  EXPECT_FALSE(cache.find(key).has_value());
  ASSERT_TRUE(cache.store(key, bytes_of(code)).ok());
  EXPECT_EQ(text_of(open().find(key)), code);
  EXPECT_NE(cache.key(bytes_of("modulf")), key);
  EXPECT_NE(open("b").key(bytes_of("module")), key);
}

TEST_F(CompiledCode, ChangedOrCutFilesAreNotThere) {
  const CompiledCodeCache cache = open();
  const Digest key = cache.key(bytes_of("module"));
  ASSERT_TRUE(cache.store(key, bytes_of(code)).ok());
  const fs::path file = only_file();
  std::ifstream in(file, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] ^= 1;
    std::ofstream(file, std::ios::binary) << changed;
    EXPECT_FALSE(cache.find(key).has_value()) << i;
    std::ofstream(file, std::ios::binary) << whole.substr(0, i);
    EXPECT_FALSE(cache.find(key).has_value()) << i;
  }
  ASSERT_TRUE(cache.store(key, bytes_of(code)).ok());
  EXPECT_EQ(text_of(cache.find(key)), code);
}

TEST_F(CompiledCode, FolderThatOthersMayReadIsRefused) {
  fs::create_directory(folder);
  chmod(folder.c_str(), 0755);
  const auto cache = CompiledCodeCache::open(folder.string(), "a");
  ASSERT_FALSE(cache.ok());
  EXPECT_EQ(cache.error().code(), ErrorCode::PermissionDenied);
}

TEST_F(CompiledCode, FilesAreOursAlone) {
  const CompiledCodeCache cache = open();
  ASSERT_TRUE(cache.store(cache.key(bytes_of("m")), bytes_of(code)).ok());
  struct stat status{};
  ASSERT_EQ(stat(only_file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

}  // namespace
}  // namespace quire::sandbox
