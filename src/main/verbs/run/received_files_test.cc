// Files that programs send land in the folder that was named, or nowhere.
#include "main/verbs/run/received_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace quire {
namespace {

namespace fs = std::filesystem;

class ReceivedFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "quire-received-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  ReceivedFiles files() { return ReceivedFiles::open((root_ / "out").string()).take(); }
  static service::SentPart part(std::uint64_t file, std::string_view name, std::uint64_t offset,
                                std::string_view bytes, std::uint64_t file_bytes) {
    return {file, name, "text/plain", file_bytes, offset, bytes};
  }
  // Every file below the root, with what it holds.
  std::map<std::string, std::string> all() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      if (entry.is_directory()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      found[entry.path().lexically_relative(root_).string()] =
          std::string(std::istreambuf_iterator<char>(in), {});
    }
    return found;
  }
  fs::path root_;
};

TEST_F(ReceivedFilesTest, AFileIsWrittenPartByPartAndToldOnceItIsComplete) {
  ReceivedFiles received = files();
  EXPECT_EQ(received.add(0, false, part(1, "a.txt", 0, "abc", 5)).value(), std::nullopt);
  EXPECT_EQ(received.add(0, false, part(2, "b", 0, "", 0)).value(), (root_ / "out/b").string());
  EXPECT_EQ(received.add(0, false, part(1, "a.txt", 3, "de", 5)).value(),
            (root_ / "out/a.txt").string());
  EXPECT_EQ(received.add(7, true, part(1, "a.txt", 0, "x", 1)).value(),
            (root_ / "out/7/a.txt").string());
  EXPECT_EQ(all(), (std::map<std::string, std::string>{
                       {"out/a.txt", "abcde"}, {"out/b", ""}, {"out/7/a.txt", "x"}}));
}

TEST_F(ReceivedFilesTest, NoNameLeadsOutOfTheFolder) {
  ReceivedFiles received = files();
  std::uint64_t file = 0;
  for (const char* name : {"../a", "/tmp/a", "a/b", "..", ".", "", "a\\b", "a\nb", "x\xff"}) {
    EXPECT_EQ(received.add(0, false, part(++file, name, 0, "x", 1)).error().code(),
              ErrorCode::InvalidArgument)
        << name;
  }
  EXPECT_TRUE(all().empty());
}

TEST_F(ReceivedFilesTest, NothingThatIsThereIsOverwrittenOrFollowed) {
  ReceivedFiles received = files();
  std::ofstream(root_ / "out/here") << "mine";
  std::ofstream(root_ / "target") << "mine too";
  fs::create_symlink(root_ / "target", root_ / "out/link");
  fs::create_symlink(root_ / "nowhere", root_ / "out/dangling");
  std::uint64_t file = 0;
  for (const char* name : {"here", "link", "dangling"}) {
    const auto refused = received.add(0, false, part(++file, name, 0, "theirs", 12));
    EXPECT_EQ(refused.error().code(), ErrorCode::AlreadyExists) << name;
    EXPECT_NE(std::string(refused.error().message()).find(name), std::string::npos);
    EXPECT_EQ(received.add(0, false, part(file, name, 6, "theirs", 12)).value(), std::nullopt)
        << "told once";
  }
  EXPECT_EQ(all(), (std::map<std::string, std::string>{{"out/dangling", ""},
                                                       {"out/here", "mine"},
                                                       {"out/link", "mine too"},
                                                       {"target", "mine too"}}));
  EXPECT_FALSE(fs::exists(root_ / "nowhere"));
}

TEST_F(ReceivedFilesTest, WhatDoesNotBecomeCompleteIsRemoved) {
  {
    ReceivedFiles received = files();
    for (std::uint64_t file = 1; file <= 4; ++file) {
      ASSERT_TRUE(received.add(file % 2, false, part(file, std::to_string(file), 0, "ab", 4)).ok());
    }
    EXPECT_EQ(received.drop(1, 1), 1u);
    EXPECT_EQ(received.drop(1, 1), 0u);
    EXPECT_EQ(received.drop_all(0), 2u);
    EXPECT_EQ(all().size(), 1u);
  }
  EXPECT_TRUE(all().empty());
}

TEST_F(ReceivedFilesTest, PartsThatDoNotContinueEndTheFile) {
  ReceivedFiles received = files();
  EXPECT_EQ(received.add(0, false, part(1, "late", 3, "x", 9)).error().code(),
            ErrorCode::InvalidArgument);
  ASSERT_TRUE(received.add(0, false, part(2, "gap", 0, "abc", 9)).ok());
  EXPECT_EQ(received.add(0, false, part(2, "gap", 4, "x", 9)).error().code(),
            ErrorCode::InvalidArgument);
  ASSERT_TRUE(received.add(0, false, part(3, "long", 0, "abc", 4)).ok());
  EXPECT_EQ(received.add(0, false, part(3, "long", 3, "de", 4)).error().code(),
            ErrorCode::InvalidArgument);
  EXPECT_TRUE(all().empty());
}

TEST_F(ReceivedFilesTest, FilesOnTheirWayAreBounded) {
  ReceivedFiles received = files();
  for (std::uint64_t file = 1; file <= ReceivedFiles::kOpenCountMax; ++file) {
    Result<std::optional<std::string>> added =
        received.add(0, false, part(file, std::to_string(file), 0, "a", 2));
    ASSERT_TRUE(added.ok()) << added.error().message();
  }
  EXPECT_EQ(received.add(0, false, part(9999, "more", 0, "a", 2)).error().code(),
            ErrorCode::QuotaExceeded);
  EXPECT_EQ(all().size(), ReceivedFiles::kOpenCountMax);
}

}  // namespace
}  // namespace quire
