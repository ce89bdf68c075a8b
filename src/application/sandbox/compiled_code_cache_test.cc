#include "application/sandbox/compiled_code_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

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
  CompiledCodeCache open(const std::string& configuration = "a", const CacheLimits& limits = {}) {
    return CompiledCodeCache::open(folder.string(), configuration, limits).take();
  }
  // As if it had been used so many seconds ago.
  static void age(const fs::path& file, int seconds) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
  }
  fs::path file_of(const Digest& key) { return folder / (hex(key) + ".cwasm"); }
  std::uint64_t bytes_on_disk() {
    std::uint64_t bytes = 0;
    for (const auto& each : fs::directory_iterator(folder)) bytes += fs::file_size(each);
    return bytes;
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

TEST_F(CompiledCode, TakesNoMoreOfTheDiskThanItMayWhateverIsStored) {
  const CompiledCodeCache cache = open("a", {.bytes_max = 10'000});
  for (int module = 0; module < 100; ++module) {
    const Digest key = cache.key(bytes_of("module " + std::to_string(module)));
    ASSERT_TRUE(cache.store(key, bytes_of(std::string(900, 'c'))).ok());
    EXPECT_LE(bytes_on_disk(), 10'000u);
    EXPECT_TRUE(cache.find(key).has_value());
  }
  EXPECT_GE(bytes_on_disk(), 9'000u);
  const Digest large = cache.key(bytes_of("large"));
  EXPECT_EQ(cache.store(large, bytes_of(std::string(10'000, 'c'))).error().code(),
            ErrorCode::TooLarge);
  EXPECT_GE(bytes_on_disk(), 9'000u);  // Nothing made room for it.
}

TEST_F(CompiledCode, CountsItsFilesToo) {
  const CompiledCodeCache cache = open("a", {.file_count_max = 3});
  for (int module = 0; module < 10; ++module) {
    const Digest key = cache.key(bytes_of("module " + std::to_string(module)));
    ASSERT_TRUE(cache.store(key, bytes_of(code)).ok());
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 3);
}

TEST_F(CompiledCode, WhatWasNotUsedForLongestGoesFirst) {
  const CompiledCodeCache cache = open("a", {.bytes_max = 3'500});
  const auto store = [&](const std::string& module) {
    const Digest key = cache.key(bytes_of(module));
    EXPECT_TRUE(cache.store(key, bytes_of(std::string(900, 'c'))).ok());
    return key;
  };
  const Digest first = store("first"), second = store("second"), third = store("third");
  age(file_of(first), 300);
  age(file_of(second), 200);
  age(file_of(third), 100);
  EXPECT_TRUE(cache.find(first).has_value());  // Used now.
  const Digest fourth = store("fourth");
  EXPECT_FALSE(cache.find(second).has_value());
  for (const Digest& each : {first, third, fourth}) EXPECT_TRUE(cache.find(each).has_value());
}

TEST_F(CompiledCode, OpeningTakesAwayWhatACrashLeftHalfWrittenAndWhatIsTooMuch) {
  Digest key{};
  {
    const CompiledCodeCache cache = open();
    key = cache.key(bytes_of("module"));
    ASSERT_TRUE(cache.store(key, bytes_of(code)).ok());
  }
  const fs::path stale = file_of(key).string() + ".aB3xYz";
  const fs::path fresh = file_of(key).string() + ".another";
  const fs::path other = folder / "notes.txt";
  for (const fs::path& each : {stale, fresh, other}) std::ofstream(each) << "half";
  age(stale, 7200);
  age(other, 7200);
  (void)open();
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(fresh));  // Another process may be at it.
  EXPECT_TRUE(fs::exists(other));  // Not ours.
  EXPECT_TRUE(open().find(key).has_value());
  EXPECT_FALSE(open("a", {.bytes_max = 10}).find(key).has_value());
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
