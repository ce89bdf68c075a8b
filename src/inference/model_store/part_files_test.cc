#include "inference/model_store/part_files.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"

namespace quire::inference::part_files_test {
namespace {

namespace fs = std::filesystem;

class PartFilesTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(models_); }
  void TearDown() override { fs::remove_all(models_); }

  Result<void> append(PartFile& part, std::string_view text) {
    return part.append(std::as_bytes(std::span(text)));
  }

  const std::string models_ = testing::TempDir() + "quire_parts_" + std::to_string(getpid());
  const Progress silent_;
  Watched watched_{silent_};
};

std::string digest_of(std::string_view text) {
  return hex(sha256(std::as_bytes(std::span(text))));
}

TEST_F(PartFilesTest, APartGoesOnWhereItEndedAndItsDigestIsOfAllBytes) {
  const PartFolder folder = PartFolder::open(models_, "m").take();
  const std::string path = folder.part_path("digest");
  {
    PartFile part = PartFile::open(path, watched_).take();
    EXPECT_TRUE(append(part, "first, ").ok());
  }
  EXPECT_EQ(folder.bytes_of_file("digest"), 7u);
  PartFile part = PartFile::open(path, watched_).take();
  EXPECT_EQ(part.bytes(), 7u);
  EXPECT_EQ(watched_.bytes_done, 7u);
  EXPECT_TRUE(append(part, "second").ok());
  EXPECT_EQ(part.finish().value(), digest_of("first, second"));
  EXPECT_EQ(read_file(path, 100).value(), "first, second");
}

TEST_F(PartFilesTest, APartThatBeginsAnewHasOnlyTheNewBytes) {
  const PartFolder folder = PartFolder::open(models_, "m").take();
  PartFile part = PartFile::open(folder.part_path("digest"), watched_).take();
  EXPECT_TRUE(append(part, "wrong").ok());
  EXPECT_EQ(part.finish().value(), digest_of("wrong"));
  EXPECT_TRUE(part.restart().ok());
  EXPECT_EQ(part.bytes(), 0u);
  EXPECT_TRUE(append(part, "right").ok());
  EXPECT_EQ(part.finish().value(), digest_of("right"));
  EXPECT_EQ(read_file(folder.part_path("digest"), 100).value(), "right");
}

TEST_F(PartFilesTest, PartsOfAnOlderVersionGo) {
  const PartFolder folder = PartFolder::open(models_, "m").take();
  for (const std::string& path : {folder.part_path("old"), folder.whole_path("older"),
                                  folder.part_path("new"), folder.whole_path("newer")}) {
    std::ofstream(path) << "bytes";
  }
  EXPECT_TRUE(folder.keep_only({"new", "newer", "newest"}).ok());
  EXPECT_EQ(folder.bytes_of_file("old"), 0u);
  EXPECT_EQ(folder.bytes_of_file("older"), 0u);
  EXPECT_EQ(folder.bytes_of_file("new"), 5u);
  EXPECT_FALSE(folder.is_whole("new"));
  EXPECT_TRUE(folder.is_whole("newer"));
  EXPECT_TRUE(folder.remove().ok());
  EXPECT_FALSE(PartFolder::exists(models_, "m"));
}

TEST_F(PartFilesTest, AFolderWithoutAByteIsNotKept) {
  const PartFolder folder = PartFolder::open(models_, "m").take();
  std::ofstream(folder.part_path("digest")) << "bytes";
  EXPECT_TRUE(folder.remove_if_empty().ok());
  EXPECT_EQ(folder.bytes_of_file("digest"), 5u);
  std::ofstream(folder.part_path("digest"), std::ios::trunc);
  EXPECT_TRUE(folder.remove_if_empty().ok());
  EXPECT_FALSE(PartFolder::exists(models_, "m"));
}

TEST_F(PartFilesTest, OneProcessAtATimeFetchesAModel) {
  {
    const PartFolder first = PartFolder::open(models_, "m").take();
    const Result<PartFolder> second = PartFolder::open(models_, "m");
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code(), ErrorCode::Unavailable);
    EXPECT_NE(second.error().message().find("another process is fetching the model \"m\""),
              std::string::npos)
        << second.error().message();
    EXPECT_TRUE(PartFolder::open(models_, "n").ok());
    EXPECT_TRUE(first.remove().ok());
  }
  EXPECT_TRUE(PartFolder::open(models_, "m").ok());
}

}  // namespace
}  // namespace quire::inference::part_files_test
