#include "quire/print.h"

#include <gtest/gtest.h>

#include "fake_host.h"
#include "quire/main.h"

namespace quire {
namespace {

using test::host;

class Print : public testing::Test {
 protected:
  void SetUp() override { host.reset(); }
};

TEST_F(Print, SendsValuesInTheirPlaces) {
  const std::string name = "Ann";
  const auto all = [&]() -> Task<> {
    co_await session::print("{} has {} of {}: {}%, {}\n", name, 3, std::uint64_t{1} << 63, -0.5,
                            true);
    co_await session::print("{{}} {{{}}}", 'x');
    co_await session::print("plain");
  };
  ASSERT_TRUE(run(all()).ok());
  EXPECT_EQ(host.sent, (std::vector<std::string>{"Ann has 3 of 9223372036854775808: -0.5%, true\n",
                                                 "{} {x}", "plain"}));
}

TEST_F(Print, LogsALineOfTheLevelInfo) {
  runtime::log("{} calls", 7);
  runtime::log(LogLevel::Warning, "as it was: {}");
  ASSERT_EQ(host.logged.size(), 2u);
  EXPECT_EQ(host.logged[0], "7 calls");
  EXPECT_EQ(host.logged[1], "as it was: {}");
}

}  // namespace
}  // namespace quire
