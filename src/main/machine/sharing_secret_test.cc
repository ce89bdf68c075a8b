#include "main/machine/sharing_secret.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "control/store/posix_file_system.h"
#include "support/process.h"

namespace quire {
namespace {

class SharingSecret : public testing::Test {
 protected:
  Result<Digest> load(SecretUse use = SecretUse::MayMake, std::uint64_t seed = 1) {
    SeededRandom random(seed);
    return load_sharing_secret(files_, random, folder_.file("."), use);
  }
  std::string path() const { return sharing_secret_path(folder_.file(".")); }
  void write(const std::string& bytes) { std::ofstream(path(), std::ios::binary) << bytes; }
  void expect_error(const Result<Digest>& result, ErrorCode code, const std::string& text) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code(), code);
    EXPECT_NE(result.error().message().find(text), std::string::npos) << result.error().message();
    EXPECT_NE(result.error().message().find(path()), std::string::npos) << result.error().message();
  }

  test::TemporaryFolder folder_;
  store::PosixFileSystem files_;
};

TEST_F(SharingSecret, IsMadeOncePrivateAndStays) {
  const Result<Digest> made = load();
  ASSERT_TRUE(made.ok()) << made.error().message();
  struct stat status{};
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  EXPECT_EQ(status.st_size, 32);
  EXPECT_EQ(load(SecretUse::MayMake, 2).value(), made.value());
  EXPECT_EQ(load(SecretUse::MustExist, 3).value(), made.value());
  EXPECT_FALSE(std::filesystem::exists(path() + ".partial"));
}

TEST_F(SharingSecret, IsNotMadeWherePagesNeedTheOldOne) {
  expect_error(load(SecretUse::MustExist), ErrorCode::NotFound, "is gone");
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(SharingSecret, CutShortOrLongerIsCorrupted) {
  for (const std::size_t bytes : {0u, 1u, 31u, 33u}) {
    write(std::string(bytes, 'x'));
    ASSERT_EQ(chmod(path().c_str(), 0600), 0);
    expect_error(load(), ErrorCode::Corrupted, "has " + std::to_string(bytes) + " bytes");
    EXPECT_EQ(std::filesystem::file_size(path()), bytes);
  }
}

TEST_F(SharingSecret, ReadableByOthersIsRefusedWithTheMode) {
  ASSERT_TRUE(load().ok());
  for (const mode_t mode : {0644, 0640, 0620, 0604}) {
    ASSERT_EQ(chmod(path().c_str(), mode), 0);
    expect_error(load(), ErrorCode::PermissionDenied, "chmod 600");
  }
  ASSERT_EQ(chmod(path().c_str(), 0600), 0);
  EXPECT_TRUE(load().ok());
}

TEST_F(SharingSecret, WhatAnInterruptedStartLeftIsNoObstacle) {
  std::ofstream(path() + ".partial") << "half";
  ASSERT_EQ(chmod((path() + ".partial").c_str(), 0644), 0);
  ASSERT_TRUE(load().ok());
  EXPECT_TRUE(load(SecretUse::MustExist).ok());
}

TEST_F(SharingSecret, AFolderInItsPlaceIsAnError) {
  ASSERT_TRUE(std::filesystem::create_directory(path()));
  expect_error(load(), ErrorCode::Io, "cannot open");
}

}  // namespace
}  // namespace quire
