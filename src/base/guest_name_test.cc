#include "base/guest_name.h"

#include <gtest/gtest.h>

#include <string>

namespace quire {
namespace {

// The rule itself, name by name, is in control/store/snapshot_name_test.cc.
TEST(GuestName, AnOffenceSaysOfWhatKindTheNameIs) {
  EXPECT_TRUE(check_guest_name("a name", "export name").ok());
  EXPECT_TRUE(check_guest_name(std::string(kGuestNameBytesMax, 'a'), "export name").ok());
  const Result<void> slash = check_guest_name("a/b", "export name");
  ASSERT_FALSE(slash.ok());
  EXPECT_EQ(slash.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(slash.error().message(), "export name has a \"/\" at byte 1");
  const Result<void> reserved = check_guest_name("..", "snapshot name");
  ASSERT_FALSE(reserved.ok());
  EXPECT_EQ(reserved.error().message(), "snapshot name \"..\" is reserved");
}

}  // namespace
}  // namespace quire
