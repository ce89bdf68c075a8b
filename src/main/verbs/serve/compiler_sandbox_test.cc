#include "main/verbs/serve/compiler_sandbox.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "base/sanitizer.h"

namespace quire {
namespace {

using cli::CompileSandbox;
using workers::Wall;
using workers::WallReport;

WallReport without(Wall wall, int why) {
  WallReport report;
  report.missing[static_cast<std::size_t>(wall)] = why;
  return report;
}

class CompilerSandbox : public testing::Test {
 protected:
  Result<WallReport> check(Result<WallReport> found, CompileSandbox wanted) {
    return check_compiler_sandbox(std::move(found), wanted, [this](const server::LogEvent& event) {
      lines_.push_back(event.text);
    });
  }
  std::vector<std::string> lines_;
};

TEST_F(CompilerSandbox, ThatIsWholeIsNoLine) {
  EXPECT_TRUE(check(WallReport(), CompileSandbox::Require).value().is_whole());
  EXPECT_TRUE(lines_.empty());
}

TEST_F(CompilerSandbox, ThatLacksAPartIsALineOrAnErrorThatNamesThePart) {
  const WallReport found = without(Wall::Files, ENOSYS);
  EXPECT_FALSE(check(found, CompileSandbox::Auto).value().stands(Wall::Files));
  if (!kUnderSanitizer) {
    ASSERT_EQ(lines_.size(), 1u);
    EXPECT_NE(lines_[0].find("lacks landlock (Function not implemented)"), std::string::npos);
  }
  lines_.clear();
  const Result<WallReport> required = check(found, CompileSandbox::Require);
  ASSERT_FALSE(required.ok());
  EXPECT_EQ(required.error().code(), ErrorCode::Unavailable);
  EXPECT_EQ(required.error().message(),
            "--compile-sandbox require: this machine lacks landlock (Function not implemented)");
  EXPECT_TRUE(lines_.empty());
}

TEST_F(CompilerSandbox, ThatCannotBeFoundOutIsTakenForNone) {
  const auto failed = [] { return Error(ErrorCode::Unavailable, "the compiler's process died"); };
  const Result<WallReport> found = check(failed(), CompileSandbox::Auto);
  for (const Wall each : workers::kWalls) EXPECT_FALSE(found.value().stands(each));
  EXPECT_FALSE(check(failed(), CompileSandbox::Require).ok());
}

}  // namespace
}  // namespace quire
