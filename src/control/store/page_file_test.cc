#include "control/store/page_file.h"

#include <gtest/gtest.h>

#include "control/store/simulated_file_system.h"
#include "support/snapshot_harness.h"

namespace quire::store::page_file_test {
namespace {

using test::counting;
using test::make_snapshot;
using test::small_space;

constexpr const char* kPath = "folder/pages.quire";

StoredPage some_page(std::uint32_t first_token) {
  PageRecord page = make_snapshot("a", "one", counting(first_token, 4)).pages[0];
  page.view = {1, 2, 3};
  page.is_opaque = true;
  return {.page = page, .is_tail = false, .written_count = 4};
}

// A file with two pages, as bytes.
SimulatedFileSystem::Image two_pages() {
  SimulatedFileSystem files;
  Result<PageFile> file = PageFile::create(files, kPath, small_space());
  EXPECT_TRUE(file.ok());
  EXPECT_TRUE(file.value().write(0, some_page(1)).ok());
  EXPECT_TRUE(file.value().write(1, some_page(10)).ok());
  EXPECT_TRUE(file.value().sync().ok());
  return files.visible();
}

Error refusal(const SimulatedFileSystem::Image& image, std::uint64_t slot = 1) {
  SimulatedFileSystem files(image);
  Result<PageFile> file = PageFile::open(files, kPath, small_space());
  if (!file.ok()) return std::move(file).take_error();
  const PageName wanted = some_page(10).page.name;
  Result<StoredPage> page = file.value().read(slot, &wanted);
  if (!page.ok()) return std::move(page).take_error();
  return Error(ErrorCode::Internal, "nothing was refused");
}

void expect_refusal(const Error& error, ErrorCode code, const std::string& reason) {
  EXPECT_EQ(error.code(), code) << error.message();
  EXPECT_NE(error.message().find(reason), std::string::npos) << error.message();
  EXPECT_NE(error.message().find(kPath), std::string::npos) << error.message();
}

TEST(PageFile, GivesBackWhatWasWritten) {
  SimulatedFileSystem files(two_pages());
  Result<PageFile> file = PageFile::open(files, kPath, small_space());
  ASSERT_TRUE(file.ok());
  const StoredPage wanted = some_page(10);
  const Result<StoredPage> page = file.value().read(1, &wanted.page.name);
  ASSERT_TRUE(page.ok()) << page.error().message();
  EXPECT_TRUE(test::same_page(page.value().page, wanted.page));
  EXPECT_FALSE(page.value().is_tail);
  EXPECT_EQ(file.value().slot_bytes(), 8192u);
}

TEST(PageFile, RefusesASlotThatHoldsAnotherPage) {
  const auto image = two_pages();
  expect_refusal(refusal(image, 0), ErrorCode::Corrupted, "it holds page ");
}

TEST(PageFile, RefusesAFlipOfAnyBitThatMeansSomething) {
  const auto image = two_pages();
  const std::size_t page_end = 4096 + 8192 + 4096 + small_space().page_bytes;
  std::uint64_t refused_count = 0;
  for (std::size_t at = 0; at < page_end; ++at) {
    if (at >= 4096 && at < 4096 + 8192) continue;  // The other page.
    auto flipped = image;
    flipped[kPath][at] ^= std::byte{static_cast<std::uint8_t>(1u << (at % 8))};
    const Error error = refusal(flipped);
    EXPECT_NE(error.code(), ErrorCode::Internal) << "byte " << at;
    ++refused_count;
  }
  EXPECT_EQ(refused_count, 4096u + 4096u + small_space().page_bytes);
}

TEST(PageFile, RefusesAFileCutAtAnyLength) {
  const auto image = two_pages();
  for (std::size_t bytes = 0; bytes < image.at(kPath).size(); bytes += 61) {
    auto cut = image;
    cut[kPath].resize(bytes);
    expect_refusal(refusal(cut), ErrorCode::Corrupted, "ends at byte " + std::to_string(bytes));
  }
}

TEST(PageFile, RefusesAFileThatShrinksWhileItIsOpen) {
  SimulatedFileSystem files(two_pages());
  Result<PageFile> file = PageFile::open(files, kPath, small_space());
  ASSERT_TRUE(file.ok());
  Result<StoreFile> other = StoreFile::open(files, kPath, OpenMode::ReadWrite);
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(other.value().truncate(4096 + 8192 + 50).ok());
  const Result<StoredPage> page = file.value().read(1, nullptr);
  ASSERT_FALSE(page.ok());
  expect_refusal(page.error(), ErrorCode::Corrupted, "ends at byte");
  EXPECT_TRUE(file.value().read(0, nullptr).ok()) << "what is still there can be read";
}

TEST(PageFile, RefusesAnotherVersionAndAnotherSpace) {
  auto image = two_pages();
  auto version = image;
  version[kPath][8] = std::byte{2};
  expect_refusal(refusal(version), ErrorCode::NotSupported, "format version 2; this build reads 1");

  PageSpace other = small_space();
  other.names.numerics_id = "test 2";
  const std::vector<std::byte> header = encode_page_file_header(other);
  std::copy(header.begin(), header.end(), image[kPath].begin());
  expect_refusal(refusal(image), ErrorCode::NotSupported, "numerics \"test 2\", not \"test 1\"");
}

TEST(PageFile, RefusesAPageOfAnotherSpace) {
  const PageSpace other = small_space(4, 97);
  SimulatedFileSystem files;
  Result<PageFile> file = PageFile::create(files, kPath, other);
  ASSERT_TRUE(file.ok());
  StoredPage page = some_page(10);
  page.page.kv.push_back(std::byte{1});
  ASSERT_TRUE(file.value().write(1, page).ok());
  auto image = files.visible();
  const std::vector<std::byte> header = encode_page_file_header(small_space());
  std::copy(header.begin(), header.end(), image[kPath].begin());
  expect_refusal(refusal(image), ErrorCode::Corrupted, "a page of 97 bytes");
}

TEST(PageFile, SaysThatItIsGone) {
  expect_refusal(refusal({}), ErrorCode::Corrupted, "it is gone");
}

TEST(PageFile, RefusesPagesThatDoNotFitTheFormat) {
  const PageSpace space = small_space();
  StoredPage page = some_page(1);
  EXPECT_TRUE(check_page(page, space).ok());
  page.page.view.assign(kViewBytesMax + 1, 0);
  EXPECT_EQ(check_page(page, space).error().code(), ErrorCode::TooLarge);
  page = some_page(1);
  page.page.kv.pop_back();
  EXPECT_EQ(check_page(page, space).error().code(), ErrorCode::InvalidArgument);
  page = some_page(1);
  page.page.tokens.resize(5);
  page.page.positions.resize(5);
  EXPECT_EQ(check_page(page, space).error().code(), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace quire::store::page_file_test
