#include "application/access/key_uses.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "application/access/key_ring.h"
#include "base/utc_time.h"

namespace quire::access {
namespace {

namespace fs = std::filesystem;

Digest key_of(std::uint32_t number) {
  Digest key{};
  for (std::size_t i = 0; i < 4; ++i) key[i] = static_cast<std::uint8_t>(number >> (8 * i));
  return key;
}

class KeyUseFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("quire_key_uses_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
    keys_ = (folder_ / "keys.txt").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  std::string keys_;
};

TEST(KeyUses, AChangeIsANewMinuteAndIsTakenOnce) {
  KeyUses uses;
  uses.note(key_of(1), 600);
  uses.note(key_of(1), 659);
  uses.note(key_of(2), 601);
  EXPECT_EQ(uses.take_changes(), (KeyUseTimes{{key_of(1), 600}, {key_of(2), 600}}));
  uses.note(key_of(1), 659);
  EXPECT_TRUE(uses.take_changes().empty());
  uses.note(key_of(1), 660);
  uses.note(key_of(2), 599);  // A clock that was set back.
  EXPECT_EQ(uses.take_changes(), (KeyUseTimes{{key_of(1), 660}}));
}

TEST_F(KeyUseFile, HasTheLatestUseOfEachKeyWhicheverServerWroteIt) {
  EXPECT_TRUE(read_key_uses(keys_).value().empty()) << "no file yet";
  ASSERT_TRUE(add_key_uses(keys_, {{key_of(1), 600}, {key_of(2), 660}}).ok());
  ASSERT_TRUE(add_key_uses(keys_, {{key_of(1), 720}, {key_of(2), 600}, {key_of(3), 60}}).ok());
  EXPECT_EQ(read_key_uses(keys_).value(),
            (KeyUseTimes{{key_of(1), 720}, {key_of(2), 660}, {key_of(3), 60}}));
  EXPECT_EQ(fs::status(key_uses_path(keys_)).permissions() & fs::perms::all,
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(KeyUseFile, HoldsNoMoreThanThereMayBeKeysAndTheOldestGoFirst) {
  KeyUseTimes many;
  for (std::uint32_t i = 0; i < kKeyCountMax + 10; ++i) many[key_of(i)] = 60 * (i + 1);
  ASSERT_TRUE(add_key_uses(keys_, many).ok());
  const KeyUseTimes kept = read_key_uses(keys_).value();
  EXPECT_EQ(kept.size(), kKeyCountMax);
  EXPECT_FALSE(kept.contains(key_of(9)));
  EXPECT_TRUE(kept.contains(key_of(10)));
}

TEST_F(KeyUseFile, AFileThatIsNotOneIsNamedWithItsLineAndStays) {
  const std::string first = "# quire key uses 1\n";
  const std::string digest = hex(key_of(1));
  for (const std::string& text :
       {std::string("keys\n"), first + digest + "\n", first + digest + " now\n",
        first + digest.substr(1) + " 2026-11-25T19:10:00Z\n", first + "\n"}) {
    std::ofstream(key_uses_path(keys_)) << text;
    const Result<KeyUseTimes> read = read_key_uses(keys_);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_TRUE(read.error().message().starts_with(key_uses_path(keys_) + ": line ")) << text;
    EXPECT_FALSE(add_key_uses(keys_, {{key_of(1), 60}}).ok());
    EXPECT_EQ(fs::file_size(key_uses_path(keys_)), text.size());
  }
}

}  // namespace
}  // namespace quire::access
