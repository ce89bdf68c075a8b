#include "quire/files.h"

#include <gtest/gtest.h>

#include "fake_host.h"
#include "quire/main.h"

namespace quire {
namespace {

using test::host;

class FilesTest : public testing::Test {
 protected:
  void SetUp() override { host.reset(); }
  void TearDown() override { EXPECT_TRUE(host.live_handles().empty()) << "handles were leaked"; }
};

TEST_F(FilesTest, AFileIsSentInPartsAndReadWhole) {
  const std::string bytes(OutgoingFile::kPartBytesMax * 2 + 5, 'x');
  ASSERT_TRUE(run(session::send_file("big.bin", "application/octet-stream", bytes)).ok());
  ASSERT_TRUE(run(session::send_file("none", "text/plain", "")).ok());
  ASSERT_EQ(host.files.size(), 2u);
  const auto& sent = host.files.begin()->second;
  EXPECT_EQ(sent.name, "big.bin");
  EXPECT_EQ(sent.media_type, "application/octet-stream");
  EXPECT_EQ(sent.parts.size(), 3u);
  EXPECT_EQ(sent.parts_bytes(), bytes.size());
  host.files_in = {{"a.txt", "text/plain", 6, {"abc", "def"}}};
  const auto heard = []() -> Task<std::string> {
    const IncomingFile file = co_await session::receive_file();
    EXPECT_EQ(file.name(), "a.txt");
    EXPECT_EQ(file.media_type(), "text/plain");
    EXPECT_EQ(file.file_bytes(), 6u);
    co_return co_await file.read_all();
  };
  EXPECT_EQ(run(heard()).value(), "abcdef");
  EXPECT_EQ(run(heard()).error().code, ErrorCode::Unavailable);
}

TEST_F(FilesTest, RefusalsComeBackAsErrors) {
  EXPECT_EQ(run(session::send_file("", "text/plain", "x")).error().code,
            ErrorCode::InvalidArgument);
  const OutgoingFile file = OutgoingFile::begin("a", "text/plain", 2).value();
  EXPECT_EQ(run(task_of(file.write("abc"))).error().code, ErrorCode::OutOfRange);
}

}  // namespace
}  // namespace quire
