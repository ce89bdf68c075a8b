#include "base/folder.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace quire {
namespace {

class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "quire_folder_" + std::to_string(getpid());
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/inside/deep");
    std::ofstream(root_ + "/outside.txt") << "outside";
    std::ofstream(root_ + "/inside/deep/file.txt") << "inside";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  Folder inside() const { return Folder::open(root_ + "/inside").take(); }
  static void expect_refused(const Result<File>& opened) {
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code(), ErrorCode::PermissionDenied) << opened.error().message();
  }
  std::string root_;
};

TEST_F(FolderTest, OpensFilesBelowIt) {
  Result<File> file = inside().open_file_below("deep/file.txt");
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(file.value().bytes(), 6u);
  EXPECT_EQ(file.value().path(), root_ + "/inside/deep/file.txt");
  const Folder deep = inside().open_below("deep").take();
  EXPECT_TRUE(deep.open_file_below("file.txt").ok());
  EXPECT_TRUE(inside().has_folder_below("deep").value());
  EXPECT_FALSE(inside().has_folder_below("deep/file.txt").value());
}

TEST_F(FolderTest, RefusesNamesThatLeaveIt) {
  expect_refused(inside().open_file_below("../outside.txt"));
  expect_refused(inside().open_file_below("deep/../../outside.txt"));
  expect_refused(inside().open_file_below(root_ + "/outside.txt"));
  expect_refused(inside().open_file_below(""));
  expect_refused(inside().open_file_below(std::string("deep\0file.txt", 13)));
}

TEST_F(FolderTest, RefusesLinksThatLeaveIt) {
  std::filesystem::create_symlink("../outside.txt", root_ + "/inside/relative.txt");
  std::filesystem::create_symlink(root_ + "/outside.txt", root_ + "/inside/absolute.txt");
  std::filesystem::create_directory_symlink("..", root_ + "/inside/up");
  expect_refused(inside().open_file_below("relative.txt"));
  expect_refused(inside().open_file_below("absolute.txt"));
  expect_refused(inside().open_file_below("up/outside.txt"));
}

TEST_F(FolderTest, SaysWhatIsMissingAndWhatIsNotAFile) {
  EXPECT_EQ(inside().open_file_below("none").error().code(), ErrorCode::NotFound);
  EXPECT_EQ(inside().open_file_below("deep").error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(Folder::open(root_ + "/none").error().code(), ErrorCode::NotFound);
  EXPECT_FALSE(inside().open_below("deep/file.txt").ok());
}

}  // namespace
}  // namespace quire
