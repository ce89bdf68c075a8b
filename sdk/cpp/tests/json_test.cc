#include "quire/json.h"

#include <gtest/gtest.h>

#include <limits>

#include "quire/sampling.h"

namespace quire {
namespace {

std::string error_of(std::string_view text) {
  const Result<Json> parsed = Json::parse(text);
  return parsed.ok() ? "no error" : parsed.error().text();
}

TEST(JsonTest, ANameInQuotesIsTheMemberAndNoBoolean) {
  const Json json = Json::parse(R"({"yes": true, "no": false})").take();
  EXPECT_TRUE(json.boolean("yes"));
  EXPECT_FALSE(json.boolean("no"));
  EXPECT_FALSE(json.boolean("absent"));
  EXPECT_TRUE(json.boolean("absent", true));
  EXPECT_TRUE(Json().boolean(true));
}

TEST(JsonTest, ReadsEveryKindOfValue) {
  const Json json =
      Json::parse(
          " {\"text\": \"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\", \"n\": -12.5e1,"
          "\"list\":[1,true,false,null,{}],\"text\":\"later\", \"é\": 0}\n")
          .take();
  EXPECT_TRUE(json.is_object());
  EXPECT_EQ((*json.members().begin()).value.text(), "a\"\\/\b\f\n\r\t\u00e9\U0001F600");
  EXPECT_EQ(json.text("text"), "later");
  EXPECT_EQ(json.number("n").value(), -125.0);
  EXPECT_EQ(json["n"].digits(), "-12.5e1");
  EXPECT_EQ(json["list"].items().size(), 5u);
  EXPECT_TRUE(json["list"][1].boolean());
  EXPECT_TRUE(json["list"][3].is_null());
  EXPECT_TRUE(json.has("é"));
}

TEST(JsonTest, WhatIsNotThereIsEmpty) {
  const Json json = Json::parse(R"({"n": 1, "s": "x"})").take();
  EXPECT_EQ(json.text("n"), "");
  EXPECT_EQ(json.text("absent"), "");
  EXPECT_EQ(json.number("s", 7.0).value(), 7.0);
  EXPECT_TRUE(json["a"]["b"][3].is_null());
  EXPECT_EQ(json.find("a"), std::nullopt);
  EXPECT_TRUE(json.items().empty());
}

TEST(JsonTest, AnErrorSaysWhatWasExpectedAndWhere) {
  const std::pair<std::string_view, std::string_view> wrong[] = {
      {"", "a value expected at line 1, byte 1"},
      {"{\"a\" 1}", "':' expected at line 1, byte 6"},
      {"{\"a\":1,}", "the name of a member expected at line 1, byte 8"},
      {"[1\n, 2 3]", "',' or ']' expected at line 2, byte 5"},
      {"[1,]", "a value expected at line 1, byte 4"},
      {"{\"a\":1", "',' or '}' expected at line 1, byte 7"},
      {"\"abc", "'\"' expected at line 1, byte 5"},
      {"\"a\nb\"", "'\"' or an escaped character expected at line 1, byte 3"},
      {"\"\\x\"", "an escaped character expected at line 1, byte 3"},
      {"\"\\u12g4\"", "four hexadecimal digits expected at line 1, byte 4"},
      {"\"\\ud800\"", "a surrogate pair expected at line 1, byte 2"},
      {"\"\\ude00\"", "a surrogate pair expected at line 1, byte 2"},
      {"01", "the end expected at line 1, byte 2"},
      {"1.", "a digit expected at line 1, byte 3"},
      {"1e+", "a digit expected at line 1, byte 4"},
      {"-", "a digit expected at line 1, byte 2"},
      {"nul", "a value expected at line 1, byte 1"},
      {"{} {}", "the end expected at line 1, byte 4"},
      {"\"a\xff\"", "UTF-8 expected at line 1, byte 3"},
  };
  for (const auto& [text, message] : wrong) {
    EXPECT_EQ(error_of(text), "invalid-argument: JSON: " + std::string(message)) << text;
  }
}

TEST(JsonTest, NestingHasALimit) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(Json::parse(nested(Json::kDepthMax + 1)).ok());
  EXPECT_NE(error_of(nested(Json::kDepthMax + 2)).find("nesting of at most 64"), std::string::npos);
  EXPECT_NE(error_of(std::string(1'000'000, '[')).find("nesting of at most"), std::string::npos);
}

TEST(JsonTest, NumbersKeepTheirDigits) {
  for (const std::string_view text :
       {"9007199254740993", "2512292042121000001", "1.50", "-0", "-0.0", "1E5", "1e400",
        "0.1000000000000000055511151231257827021181583404541015625",
        "123456789012345678901234567890"}) {
    EXPECT_EQ(Json::parse(text).value().str(), text);
    const std::string inside = "{\"n\":[" + std::string(text) + "]}";
    EXPECT_EQ(Json::parse(inside).value().str(), inside);
  }
}

TEST(JsonTest, ANumberTooLargeForADoubleIsAnErrorOfWhoAsksForIt) {
  const Json json = Json::parse(R"({"big":1e400,"small":1e-400,"least":-1e999})").take();
  EXPECT_EQ(json.number("big").error().text(),
            "out-of-range: JSON: the number 1e400 is too large; a double has at most 1.8e308");
  EXPECT_FALSE(json.number("least").ok());
  EXPECT_EQ(json.number("small").value(), 0.0);
  EXPECT_EQ(json["big"].digits(), "1e400");
}

TEST(JsonTest, ALoopOverATemporaryIsRight) {
  const auto made = [] {
    return Json::parse(R"({"list":["a","b\u00e9","c"],"more":{"x":[1,[2]],"y":"z"}})").take();
  };
  std::string all;
  for (const Json& each : made()["list"].items()) all += each.text();
  for (const auto& [name, value] : made()["more"].members()) {
    all += name;
    all += value.str();
  }
  EXPECT_EQ(all, "ab\u00e9cx[1,[2]]y\"z\"");
  EXPECT_EQ(made()["list"][2].text(), "c");
  EXPECT_TRUE(made()["list"][3].is_null());
}

TEST(JsonTest, AHandleKeepsItsDocument) {
  Json inner;
  {
    const Json outer = Json::parse(R"({"a":{"b":["deep"]}})").take();
    inner = outer["a"];
    const Json copy = inner;  // Dropped here.
    EXPECT_EQ(copy.members().size(), 1u);
  }
  EXPECT_EQ(inner["b"][0].text(), "deep");
  inner = inner["b"];
  EXPECT_EQ(inner.str(), "[\"deep\"]");
  Json moved = std::move(inner);
  EXPECT_EQ(moved.items().size(), 1u);
}

TEST(JsonTest, AByteOrderMarkMayStandBeforeTheValue) {
  EXPECT_EQ(Json::parse("\xEF\xBB\xBF {}").value().str(), "{}");
  EXPECT_FALSE(Json::parse("\xEF\xBB\xBF").ok());
  EXPECT_FALSE(Json::parse("{}\xEF\xBB\xBF").ok());
}

TEST(JsonTest, NumbersAreWrittenInTheFewestDigitsThatGiveThemBack) {
  const std::pair<double, const char*> numbers[] = {{0.0, "0"},
                                                    {1e6, "1000000"},
                                                    {-3.0, "-3"},
                                                    {0.1, "0.1"},
                                                    {1e-7, "1e-07"},
                                                    {1.0 / 3, "0.3333333333333333"},
                                                    {123456789.5, "123456789.5"}};
  for (const auto& [number, text] : numbers) EXPECT_EQ(json_number(number), text);
  EXPECT_EQ(json_number(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(json_number(UINT64_MAX), "18446744073709551615");
  JsonWriter json;
  json.begin_object().key("score").number(-0.25).key("n").number(3u).end_object();
  EXPECT_EQ(json.str(), R"({"score":-0.25,"n":3})");
}

// A random value, written by hand.
std::string random_json(sampling::Random& random, int depth) {
  switch (random.next() % (depth == 0 ? 5 : 7)) {
    case 0:
      return "null";
    case 1:
      return random.next() % 2 == 0 ? "true" : "false";
    case 2:
      return json_number(static_cast<std::int64_t>(random.next()) / 7.0);
    case 3:
      return json_number(static_cast<std::int32_t>(random.next()));
    case 4: {
      std::string text;
      for (std::uint64_t i = random.next() % 9; i > 0; --i) {
        text += static_cast<char>(random.next() % 127 + 1);
      }
      return json_string(text + "é\U0001F600");
    }
    default: {
      const bool is_object = random.next() % 2 == 0;
      std::string out = is_object ? "{" : "[";
      for (std::uint64_t i = random.next() % 4; i > 0; --i) {
        if (out.size() > 1) out += ',';
        if (is_object) out += json_string("k" + std::to_string(i)) + ":";
        out += random_json(random, depth - 1);
      }
      return out + (is_object ? "}" : "]");
    }
  }
}

TEST(JsonTest, AnObjectIsWrittenFromItsMembers) {
  const std::vector<std::uint32_t> ids = {1, 2};
  const std::vector<std::string> names = {"a\"", "b"};
  EXPECT_EQ(json({{"tokens", 3},
                  {"share", 0.25},
                  {"found", true},
                  {"none", nullptr},
                  {"text", "line\n"},
                  {"name", std::string("ann")},
                  {"view", std::string_view("x\xff")},
                  {"ids", ids},
                  {"names", names},
                  {"by", json({{"n", std::uint64_t{1} << 60}})},
                  {"all", std::vector<JsonWriter>{json({{"a", 'b' == 'b'}}), json({})}}})
                .str(),
            R"({"tokens":3,"share":0.25,"found":true,"none":null,"text":"line\n","name":"ann",)"
            "\"view\":\"x\uFFFD\","
            R"("ids":[1,2],"names":["a\"","b"],"by":{"n":1152921504606846976},)"
            R"("all":[{"a":true},{}]})");
}

TEST(JsonTest, WhatWasWrittenIsReadAndWrittenTheSameWay) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    sampling::Random random(seed);
    const std::string text = random_json(random, 4);
    const Result<Json> parsed = Json::parse(text);
    ASSERT_TRUE(parsed.ok()) << "seed " << seed << ": " << text;
    EXPECT_EQ(parsed.value().str(), text) << "seed " << seed;
    // Damaged text is refused or is another value; it never reads beyond its end.
    std::string damaged = text;
    for (int i = 0; i < 3 && !damaged.empty(); ++i) {
      const std::size_t at = random.next() % damaged.size();
      if (random.next() % 2 == 0) {
        damaged.erase(at, 1 + random.next() % 3);
      } else {
        damaged[at] = static_cast<char>(random.next());
      }
    }
    const Result<Json> other = Json::parse(damaged);
    if (other.ok()) {
      EXPECT_TRUE(Json::parse(other.value().str()).ok()) << "seed " << seed << ": " << damaged;
    }
  }
}

}  // namespace
}  // namespace quire
