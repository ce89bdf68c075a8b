#include "base/json.h"

#include <gtest/gtest.h>

namespace quire {
namespace {

std::string error_of(std::string_view text) {
  Result<Json> json = parse_json(text, "here", 100);
  return json.ok() ? "" : std::string(json.error().message());
}

TEST(ParseJson, RefusesDepthRepeatsAndWhatIsNoJson) {
  EXPECT_EQ(error_of(std::string(65, '[')), "here: byte 164: JSON nested deeper than 64");
  EXPECT_EQ(error_of(R"({"a": 1, "b": {"a": 2, "a": 3}})"),
            "here: the JSON key \"a\" appears twice");
  EXPECT_EQ(error_of("{\"a\": \"\xff\"}").substr(0, 11), "here: byte ");
  EXPECT_EQ(error_of("").substr(0, 11), "here: byte ");
  EXPECT_EQ(error_of("1 2").substr(0, 11), "here: byte ");
}

TEST(ParseJson, BracketsInStringsAreNoDepth) {
  EXPECT_EQ(error_of("[\"" + std::string(100, '[') + "\\\"" + std::string(100, '{') + "\"]"), "");
  EXPECT_EQ(error_of(std::string(64, '[') + std::string(64, ']')), "");
}

}  // namespace
}  // namespace quire
