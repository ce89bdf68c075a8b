#include "base/json.h"

#include <gtest/gtest.h>

#include <ctime>

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

TEST(ParseJson, GivesWhatIsWritten) {
  for (const char* text :
       {"null", "true", "-7", "18446744073709551615", "0.25", R"("a\u00e9\n")", "[]", "{}",
        R"([{}, [], [[1], {"a": [2, {"b": null}], "c": {}}], "x"])",
        R"({"a": {"b": [1, {"c": 2}, 3], "d": false}, "b": [{"a": 1}, {"a": 2}]})"}) {
    const Result<Json> json = parse_json(text, "here");
    ASSERT_TRUE(json.ok()) << text;
    EXPECT_EQ(json.value(), Json::parse(text)) << text;
  }
  EXPECT_EQ(error_of("[1e999]").substr(0, 22), "here: not valid JSON: ");
}

TEST(DumpJson, ReplacesBytesThatAreNotUtf8InKeysAndValues) {
  const Json json = {{"a\xff", "b\xc3"}, {"c", {"\xed\xa0\x80", 1}}};
  const std::string text = dump_json(json);
  EXPECT_EQ(
      text,
      "{\"a\xef\xbf\xbd\":\"b\xef\xbf\xbd\",\"c\":[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",1]}");
  EXPECT_TRUE(parse_json(text, "here").ok());
  EXPECT_EQ(dump_json(nlohmann::ordered_json{{"b", "\xff"}, {"a", 1}}),
            "{\"b\":\"\xef\xbf\xbd\",\"a\":1}");
}

TEST(ParseOrderedJson, KeepsMembersInTheOrderOfTheText) {
  const char* text = R"({"z":{"b":1,"a":[{"d":1,"c":2}]},"y":2,"x":3})";
  Result<OrderedJson> json = parse_ordered_json(text, "here");
  ASSERT_TRUE(json.ok()) << json.error().message();
  EXPECT_EQ(dump_json(json.value()), text);
  EXPECT_FALSE(parse_ordered_json(R"({"b": 1, "a": 2, "b": 3})", "here").ok());
  EXPECT_FALSE(parse_ordered_json(std::string(65, '['), "here").ok());
}

// A client may send a text of this size as one frame. The parser once went through the whole array
// for each of its objects: 700,000 of them took minutes.
TEST(ParseJson, TakesTimeInProportionToTheText) {
  constexpr std::size_t kCount = 700'000;
  std::string text = "[{}";
  for (std::size_t each = 1; each < kCount; ++each) text += ",{}";
  std::string members = "{\"0\":0";
  for (std::size_t each = 1; each < kCount; ++each) {
    members += ",\"" + std::to_string(each) + "\":0";
  }
  const std::clock_t begin = std::clock();
  const Result<Json> json = parse_json(text + "]", "here");
  ASSERT_TRUE(parse_ordered_json(members + "}", "here").ok());
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json.value().size(), kCount);
  EXPECT_LT(seconds, 5) << "of processor time";
}

}  // namespace
}  // namespace quire
