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

TEST_F(Print, ATextIsItselfWhateverItsType) {
  const bool is_marked = true;
  const char* const_pointer = "const pointer";
  std::string text = "text";
  char* pointer = text.data();
  const char whole[] = {'a', 'b'};  // Without a zero at its end.
  char buffer[8] = "cd";
  const char* null = nullptr;
  const std::vector<bool> bits = {true, false};
  std::vector<bool> changing = bits;
  const auto all = [&]() -> Task<> {
    co_await session::print("{}\n", "done");
    co_await session::print("{}\n", is_marked ? "marked" : "not marked");
    co_await session::print("{} {} {} {}", const_pointer, pointer, text, std::string_view("view"));
    co_await session::print("{} {} {} {}", whole, buffer, null, "");
    co_await session::print("{} {} {}", bits[0], changing[1], is_marked);
    co_await session::print("{} {}", std::uint8_t{65}, 'A');
  };
  ASSERT_TRUE(run(all()).ok());
  EXPECT_EQ(host.sent,
            (std::vector<std::string>{"done\n", "marked\n", "const pointer text text view",
                                      "ab cd (null) ", "true false true", "65 A"}));
  runtime::log("{} {}", "a literal", const_pointer);
  EXPECT_EQ(host.logged.back(), "a literal const pointer");
}

TEST_F(Print, LogsALineOfTheLevelInfo) {
  runtime::log("{} calls", 7);
  runtime::log(LogLevel::Warning, "as it was: {}");
  runtime::log(LogLevel::Warning, "{} calls are {}", 7, "too many");
  ASSERT_EQ(host.logged.size(), 3u);
  EXPECT_EQ(host.logged[0], "7 calls");
  EXPECT_EQ(host.logged[1], "as it was: {}");
  EXPECT_EQ(host.logged[2], "7 calls are too many");
}

}  // namespace
}  // namespace quire
