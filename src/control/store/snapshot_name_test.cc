#include "control/store/snapshot_name.h"

#include <gtest/gtest.h>

#include <string>

namespace quire::store {
namespace {

std::string offence(std::string_view name) {
  const Result<void> checked = check_snapshot_name(name);
  if (checked.ok()) return "none";
  EXPECT_EQ(checked.error().code(), ErrorCode::InvalidArgument);
  return std::string(checked.error().message());
}

TEST(SnapshotName, AnythingPrintableInUtf8Will) {
  for (const char* name : {"a", "chat 7", "...", ".hidden", "a..b", "Grüße", "名前", "🦜",
                           "e\u0301", "\u202Ertl", "%2e%2e", "-", "~", "CON", " "}) {
    EXPECT_EQ(offence(name), "none") << name;
  }
  EXPECT_EQ(offence(std::string(255, 'a')), "none");
}

TEST(SnapshotName, NamesTheOffence) {
  EXPECT_EQ(offence(""), "snapshot name is empty");
  EXPECT_EQ(offence("."), "snapshot name \".\" is reserved");
  EXPECT_EQ(offence(".."), "snapshot name \"..\" is reserved");
  EXPECT_EQ(offence("../a"), "snapshot name has a \"/\" at byte 2");
  EXPECT_EQ(offence("a\\b"), "snapshot name has a \"\\\" at byte 1");
  EXPECT_EQ(offence(std::string_view("a\0b", 3)),
            "snapshot name has a control character at byte 1");
  EXPECT_EQ(offence("a\nb"), "snapshot name has a control character at byte 1");
  EXPECT_EQ(offence("ab\x7f"), "snapshot name has a control character at byte 2");
  EXPECT_EQ(offence("a\u0085"), "snapshot name has a control character at byte 1");
  EXPECT_EQ(offence(std::string(256, 'a')), "snapshot name has 256 bytes; at most 255 are allowed");
  EXPECT_EQ(offence(std::string(4096, 'a')),
            "snapshot name has 4096 bytes; at most 255 are allowed");
  EXPECT_EQ(offence("a\xff"), "snapshot name is not UTF-8 at byte 1");
  EXPECT_EQ(offence("\xc0\xaf"), "snapshot name is not UTF-8 at byte 0");
  EXPECT_EQ(offence("\xed\xa0\x80"), "snapshot name is not UTF-8 at byte 0");
}

}  // namespace
}  // namespace quire::store
