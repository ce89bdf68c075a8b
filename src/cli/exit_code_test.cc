#include "cli/exit_code.h"

#include <gtest/gtest.h>

namespace quire::cli {
namespace {

TEST(ExitCode, AnErrorOfAFlagsValueIsWrongUseAndOneOfADiskIsNot) {
  const auto code_of = [](ErrorCode code) {
    return exit_code_of(Error(code, "--usage: /var/lib/usage: why not"));
  };
  EXPECT_EQ(code_of(ErrorCode::InvalidArgument), ExitCode::Usage);
  EXPECT_EQ(code_of(ErrorCode::NotFound), ExitCode::Usage);
  EXPECT_EQ(code_of(ErrorCode::Io), ExitCode::Failed);
  EXPECT_EQ(code_of(ErrorCode::Unavailable), ExitCode::Failed);
  EXPECT_EQ(exit_code_of(Error(ErrorCode::NotFound, "a file")), ExitCode::Missing);
}

}  // namespace
}  // namespace quire::cli
