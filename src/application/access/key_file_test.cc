#include "application/access/key_file.h"

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/random.h"

namespace quire::access {
namespace {

namespace fs = std::filesystem;

class KeyFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("quire_keys_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
    path_ = (folder_ / "keys.txt").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  Result<void> add(const std::string& name, MissingFile missing = MissingFile::IsEmpty) {
    SystemRandom random;
    const Digest digest = digest_of_key(make_key(random));
    return change_key_file(path_, missing, [&](const KeyRing& ring) {
      return ring.with({std::make_shared<const service::Principal>(service::Principal{
                            TenantId{1}, name, {service::Right::Launch}, digest}),
                        "2026-11-25T19:10:00Z"});
    });
  }
  mode_t mode(const std::string& path) const {
    struct stat status{};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status.st_mode & 0777;
  }

  fs::path folder_;
  std::string path_;
};

TEST_F(KeyFile, IsMadeForItsOwnerAloneAndLeavesNothingPartial) {
  ASSERT_TRUE(add("alice").ok());
  EXPECT_EQ(mode(path_), 0600u);
  fs::permissions(path_, fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
  ASSERT_TRUE(add("bob").ok());
  EXPECT_EQ(mode(path_), 0600u);
  EXPECT_FALSE(fs::exists(path_ + ".partial"));
  const Result<KeyRing> ring = read_key_file(path_);
  ASSERT_TRUE(ring.ok());
  EXPECT_EQ(ring.value().entries().size(), 2u);
}

TEST_F(KeyFile, AChangeThatFailsLeavesItAsItWas) {
  ASSERT_TRUE(add("alice").ok());
  EXPECT_EQ(add("alice").error().code(), ErrorCode::AlreadyExists);
  EXPECT_EQ(read_key_file(path_).value().entries().size(), 1u);
}

TEST_F(KeyFile, AMissingFileIsAnErrorWhereSomethingShouldBeThere) {
  EXPECT_EQ(read_key_file(path_).error().code(), ErrorCode::NotFound);
  EXPECT_EQ(add("alice", MissingFile::IsError).error().code(), ErrorCode::NotFound);
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(KeyFile, IsRefusedIfOthersMayChangeIt) {
  ASSERT_TRUE(add("alice").ok());
  fs::permissions(path_, fs::perms::group_write, fs::perm_options::add);
  EXPECT_EQ(read_key_file(path_).error().code(), ErrorCode::PermissionDenied);
}

TEST_F(KeyFile, NamesTheFileThatIsBroken) {
  std::ofstream(path_) << "keys\n";
  const Result<KeyRing> ring = read_key_file(path_);
  ASSERT_FALSE(ring.ok());
  EXPECT_TRUE(ring.error().message().starts_with(path_)) << ring.error().message();
}

TEST_F(KeyFile, OneOfTwoChangesAtOnceIsToldToTryAgain) {
  ASSERT_TRUE(add("alice").ok());
  const int descriptor = open((path_ + ".lock").c_str(), O_RDWR);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(flock(descriptor, LOCK_EX), 0);
  EXPECT_EQ(add("bob").error().code(), ErrorCode::Unavailable);
  close(descriptor);
  EXPECT_TRUE(add("bob").ok());
}

TEST_F(KeyFile, ManyWritersLoseNoKeyAndReadersSeeWholeFiles) {
  ASSERT_TRUE(add("first").ok());
  constexpr int kWriters = 4;
  constexpr int kKeys = 10;
  std::atomic<int> writing{kWriters};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      for (int key = 0; key < kKeys; ++key) {
        const std::string name = "w" + std::to_string(writer) + "k" + std::to_string(key);
        Result<void> added = add(name);
        while (!added.ok() && added.error().code() == ErrorCode::Unavailable) added = add(name);
        EXPECT_TRUE(added.ok());
      }
      --writing;
    });
  }
  while (writing > 0) EXPECT_TRUE(read_key_file(path_).ok());
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(read_key_file(path_).value().entries().size(), 1u + kWriters * kKeys);
}

}  // namespace
}  // namespace quire::access
