#include "control/store/store_file.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "control/store/posix_file_system.h"
#include "control/store/simulated_file_system.h"
#include "support/process.h"

namespace quire::store {
namespace {

std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  SeededRandom(count).fill(bytes);
  return bytes;
}

TEST(StoreFile, ReadsAndWritesRealFiles) {
  const test::TemporaryFolder folder;
  PosixFileSystem files;
  const std::string path = folder.file("a");
  const std::vector<std::byte> bytes = some_bytes(10'000);
  {
    Result<StoreFile> file = StoreFile::open(files, path, OpenMode::CreateOrOpen);
    ASSERT_TRUE(file.ok()) << file.error().message();
    EXPECT_TRUE(file.value().write(100, bytes).ok());
    EXPECT_TRUE(file.value().sync().ok());
    EXPECT_EQ(file.value().bytes().value(), 10'100u);
  }
  EXPECT_TRUE(rename_file(files, path, folder.file("b")).ok());
  EXPECT_TRUE(sync_folder(files, folder_of(path)).ok());
  EXPECT_EQ(list_folder(files, folder_of(path)).value(), std::vector<std::string>{"b"});
  const Result<StoreFile> file = StoreFile::open(files, folder.file("b"), OpenMode::Read);
  ASSERT_TRUE(file.ok());
  std::vector<std::byte> read(10'000);
  ASSERT_TRUE(file.value().read(100, read).ok());
  EXPECT_EQ(read, bytes);
  EXPECT_EQ(file.value().read_some(10'050, read).value(), 50u);
  const Result<void> beyond = file.value().read(10'050, read);
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().code(), ErrorCode::Corrupted);
  EXPECT_TRUE(remove_file(files, folder.file("b")).ok());
  EXPECT_EQ(remove_file(files, folder.file("b")).error().code(), ErrorCode::NotFound);
}

TEST(StoreFile, OneProcessHoldsALock) {
  const test::TemporaryFolder folder;
  PosixFileSystem files;
  Result<StoreFile> one = StoreFile::open(files, folder.file("a"), OpenMode::CreateOrOpen);
  ASSERT_TRUE(one.ok());
  ASSERT_TRUE(one.value().lock().ok());
  Result<StoreFile> other = StoreFile::open(files, folder.file("a"), OpenMode::ReadWrite);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other.value().lock().error().code(), ErrorCode::Unavailable);
  one = Error(ErrorCode::NotFound, "closed");
  EXPECT_TRUE(other.value().lock().ok());
}

TEST(StoreFile, ErrorsNameTheFileTheOperationAndTheReason) {
  const test::TemporaryFolder folder;
  PosixFileSystem posix;
  const std::string absent = folder.file("absent");
  const Result<StoreFile> opened = StoreFile::open(posix, absent, OpenMode::ReadWrite);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(opened.error().message(), "cannot open " + absent + ": No such file or directory");
  EXPECT_FALSE(StoreFile::open(posix, folder.file(""), OpenMode::Read).ok()) << "a folder";

  SimulatedFileSystem files;
  Result<StoreFile> file = StoreFile::open(files, "x/a", OpenMode::CreateOrOpen);
  ASSERT_TRUE(file.ok());
  files.inject = [](const SimulatedCall& call) {
    return SimulatedFault{.error_number = call.kind == CallKind::Write ? ENOSPC : EIO};
  };
  EXPECT_EQ(file.value().write(512, some_bytes(10)).error().message(),
            "cannot write 10 bytes at 512 of x/a: the disk is full (ENOSPC: No space left on "
            "device)");
  EXPECT_EQ(file.value().sync().error().message(), "cannot sync x/a: Input/output error");
  EXPECT_EQ(file.value().truncate(5).error().message(),
            "cannot set the length to 5 of x/a: Input/output error");
}

TEST(SimulatedFileSystem, LosesWhatWasNotSynced) {
  SimulatedFileSystem files;
  const auto write = [&files](const char* path, bool syncs_file, bool syncs_folder) {
    StoreFile file = StoreFile::open(files, path, OpenMode::CreateOrOpen).take();
    ASSERT_TRUE(file.write(0, some_bytes(2000)).ok());
    if (syncs_file) {
      ASSERT_TRUE(file.sync().ok());
    }
    if (syncs_folder) {
      ASSERT_TRUE(sync_folder(files, "x").ok());
    }
  };
  write("x/neither", false, false);
  files.restart(CrashKeep::Nothing, 1);
  EXPECT_TRUE(files.visible().empty());
  write("x/entry", false, true);
  write("x/file", true, false);
  write("y/file", true, false);
  files.restart(CrashKeep::Nothing, 1);
  ASSERT_EQ(files.visible().size(), 1u);
  EXPECT_TRUE(files.visible().at("x/entry").empty());
  write("x/both", true, true);
  files.restart(CrashKeep::Nothing, 1);
  EXPECT_EQ(files.visible().at("x/both"), some_bytes(2000));
}

TEST(SimulatedFileSystem, TearsUnsyncedWritesAtSectors) {
  bool is_torn = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimulatedFileSystem files({{"x/a", std::vector<std::byte>(2048)}});
    {
      StoreFile file = StoreFile::open(files, "x/a", OpenMode::ReadWrite).take();
      ASSERT_TRUE(file.write(0, std::vector<std::byte>(2048, std::byte{1})).ok());
      files.crash();
    }
    files.restart(CrashKeep::Part, seed);
    const auto bytes = files.visible().at("x/a");
    for (std::size_t sector = 0; sector < 4; ++sector) {
      for (std::size_t at = 1; at < 512; ++at) {
        ASSERT_EQ(bytes[sector * 512], bytes[sector * 512 + at]);
      }
      is_torn |= bytes[sector * 512] != bytes[0];
    }
  }
  EXPECT_TRUE(is_torn);
}

TEST(SimulatedFileSystem, AFailedSyncLosesWhatTheNextOneWillNotMention) {
  SimulatedFileSystem files(SimulatedFileSystem::Image{{"x/a", {}}});
  {
    StoreFile file = StoreFile::open(files, "x/a", OpenMode::ReadWrite).take();
    ASSERT_TRUE(file.write(0, some_bytes(10)).ok());
    files.inject = [](const SimulatedCall&) { return SimulatedFault{.error_number = EIO}; };
    EXPECT_FALSE(file.sync().ok());
    files.inject = nullptr;
    EXPECT_TRUE(file.sync().ok());
    files.crash();
  }
  files.restart(CrashKeep::Everything, 1);
  EXPECT_TRUE(files.visible().at("x/a").empty());
}

}  // namespace
}  // namespace quire::store
