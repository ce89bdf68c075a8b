#include "quire/arguments.h"

#include <gtest/gtest.h>

#include "quire/json.h"

namespace quire {
namespace {

const ArgumentNames kNames = {.values = {"prompt", "max-tokens", "temperature"}, .flags = {"json"}};

TEST(Arguments, ReadsNamedValuesFlagsAndPositions) {
  const Arguments read = Arguments::parse({"--prompt", "--odd", "--json", "one", "--max-tokens=7",
                                           "--temperature", "0.5", "--", "--two"},
                                          kNames)
                             .take();
  EXPECT_EQ(read.text("prompt"), "--odd");
  EXPECT_TRUE(read.flag("json"));
  EXPECT_EQ(read.count("max-tokens", 1).value(), 7u);
  EXPECT_EQ(read.number("temperature", 0).value(), 0.5);
  EXPECT_EQ(read.positional(), (std::vector<std::string>{"one", "--two"}));
}

TEST(Arguments, GivesTheDefaultOfWhatIsNotThere) {
  const Arguments read = Arguments::parse({}, kNames).take();
  EXPECT_EQ(read.text("prompt", "none"), "none");
  EXPECT_EQ(read.integer("max-tokens", 128).value(), 128u);
  EXPECT_EQ(read.number("temperature", 1.5).value(), 1.5);
  EXPECT_FALSE(read.flag("json"));
}

TEST(Arguments, RefusesWhatItDoesNotKnowAndSaysWhatItDoes) {
  EXPECT_EQ(
      Arguments::parse({"--promt", "x"}, kNames).error().text(),
      "invalid-argument: unknown argument --promt (known: --prompt --max-tokens --temperature "
      "--json)");
  EXPECT_EQ(Arguments::parse({"--prompt"}, kNames).error().message, "--prompt needs a value");
  EXPECT_EQ(Arguments::parse({"--json=1"}, kNames).error().message, "--json takes no value");
}

TEST(Arguments, RefusesWhatIsNoNumber) {
  const auto of = [](std::string text) {
    return Arguments::parse({"--max-tokens", text, "--temperature", text}, kNames).take();
  };
  for (const char* text : {"", "-1", "1x", "18446744073709551616", "nan", " 1"}) {
    EXPECT_FALSE(of(text).integer("max-tokens", 0).ok()) << text;
  }
  EXPECT_FALSE(of("4294967296").count("max-tokens", 0).ok());
  for (const char* text : {"", "x", "1x", "nan", "inf", "1e999"}) {
    EXPECT_FALSE(of(text).number("temperature", 0).ok()) << text;
  }
}

TEST(Json, EscapesWhatJsonForbidsAndReplacesWhatIsNoUtf8) {
  EXPECT_EQ(json_string("a\"b\\c\n\t\r\x01\x7F"), R"("a\"b\\c\n\t\r\u0001\u007f")");
  EXPECT_EQ(json_string("\xC3\xA9\xFF"), "\"\xC3\xA9\xEF\xBF\xBD\"");
}

TEST(Json, PutsCommasBetweenAndNowhereElse) {
  JsonWriter json;
  json.begin_object().key("ids").numbers(std::vector<std::uint32_t>{1, 2}).key("empty");
  json.begin_array().end_array().key("text").text("x").key("inner").begin_object();
  json.key("yes").boolean(true).key("none").null().key("n").number(-3).end_object().end_object();
  EXPECT_EQ(json.str(),
            R"({"ids":[1,2],"empty":[],"text":"x","inner":{"yes":true,"none":null,"n":-3}})");
}

}  // namespace
}  // namespace quire
