#include "cli/config_file.h"

#include <gtest/gtest.h>

namespace quire::cli {
namespace {

std::string file_problem(const std::string& text) {
  const auto parsed = parse_config(text, "q.toml");
  return parsed.ok() ? "none" : std::string(parsed.error().message());
}

TEST(ConfigFile, GivesKeysWithTheirValuesAndLines) {
  const auto parsed = parse_config(
      "# What a server has.\nlisten = \"127.0.0.1:0\"\n\nkv-pages = 1_000\ngrace = 2.5\n"
      "no-store = true\nprograms = [\n  \"a.wasm\",\n  \"b\"]\n",
      "q.toml");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  std::string seen;
  for (const ConfigEntry& each : parsed.value()) {
    seen += std::to_string(each.line) + (each.is_list ? " list " : " ") + each.key;
    for (const ConfigValue& value : each.values) {
      seen += std::string(" ") + config_type_name(value.type) + " " + value.text;
    }
    seen += "\n";
  }
  EXPECT_EQ(seen,
            "2 listen a text 127.0.0.1:0\n4 kv-pages a whole number 1000\n5 grace a number 2.5\n"
            "6 no-store true or false true\n7 list programs a text a.wasm a text b\n");
}

TEST(ConfigFile, TellsFileAndLineOfWhatIsWrong) {
  EXPECT_TRUE(file_problem("a = 1\nb = \n").starts_with("q.toml:2: "))
      << file_problem("a = 1\nb = \n");
  EXPECT_TRUE(file_problem("a = 1\na = 2\n").starts_with("q.toml:2: "))
      << file_problem("a = 1\na = 2\n");
  EXPECT_TRUE(file_problem("a = \"\xff\"\n").starts_with("q.toml:1: "));
  EXPECT_EQ(
      file_problem("\n[kv]\npages = 1\n"),
      "q.toml:2: \"kv\" is a table or a date: a text, a number, true, false or a list of these "
      "was expected");
  EXPECT_TRUE(
      file_problem("day = 2026-01-01\n").starts_with("q.toml:1: \"day\" is a table or a date"));
  EXPECT_TRUE(file_problem("a = [[1]]\n").starts_with("q.toml:1: \"a\" is a table"));
  EXPECT_EQ(file_problem(""), "none");
  for (const auto& [key, value] :
       {std::pair{"kv-memory", "2GiB"}, {"listen", "127.0.0.1:0"}, {"log-format", "json"}}) {
    const std::string problem =
        file_problem(std::string("grace = 1\n") + key + " = " + value + "  # as it is\n");
    EXPECT_TRUE(problem.starts_with("q.toml:2: ")) << problem;
    EXPECT_TRUE(
        problem.ends_with(std::string("; a text is quoted: ") + key + " = \"" + value + "\""))
        << problem;
  }
  for (const char* other : {"a = 1\na = 2\n", "a = [1\n", "a = \"open\n", "a\n"}) {
    EXPECT_EQ(file_problem(other).find("is quoted"), std::string::npos) << file_problem(other);
  }
  // As deep as it likes: an error, and no more than that.
  EXPECT_NE(file_problem("a = " + std::string(100'000, '[')), "none");
}

}  // namespace
}  // namespace quire::cli
