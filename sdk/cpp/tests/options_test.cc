#include "quire/options.h"

#include <gtest/gtest.h>

#include "fake_host.h"
#include "quire/generate.h"
#include "quire/main.h"

namespace quire {
namespace {

using test::host;

struct Options {
  std::string prompt;
  std::string system = "be brief";
  std::vector<std::string> sources;
  bool chat = false;
  std::uint32_t n = 4;
  std::int32_t shift = -2;
  double penalty = 1.5;
  GenerateOptions generate;

  void read(OptionReader& in) {
    in.words("prompt", prompt, "The text to continue", Required::Yes);
    in.text("system", system, "Instructions");
    in.texts("source", sources, "Where to look");
    in.flag("chat", chat, "Answer the prompt");
    in.number("n", n, "Answers", {1, 64});
    in.number("shift", shift, "A shift");
    in.number("penalty", penalty, "A penalty");
    in.generation(generate);
  }
};

Result<Options> read(const std::vector<std::string>& words) {
  return detail::options_of<Options>(words);
}
std::string error_of(const std::vector<std::string>& words) {
  const Result<Options> options = read(words);
  return options.ok() ? "no error" : options.error().message;
}

TEST(OptionsTest, WhatIsNotGivenKeepsItsDefault) {
  const Options options = read({"--prompt", "x"}).take();
  EXPECT_EQ(options.prompt, "x");
  EXPECT_EQ(options.system, "be brief");
  EXPECT_EQ(options.n, 4u);
  EXPECT_EQ(options.shift, -2);
  EXPECT_EQ(options.penalty, 1.5);
  EXPECT_FALSE(options.chat);
  EXPECT_EQ(options.generate.max_tokens, 128u);
}

TEST(OptionsTest, EveryFormOfAnOptionIsRead) {
  const Options options = read({"--chat",
                                "--n=64",
                                "--shift",
                                "-7",
                                "--source",
                                "a",
                                "--penalty=0.25",
                                "--source=b=c",
                                "--temperature",
                                "0.7",
                                "--seed",
                                "18446744073709551615",
                                "--stop",
                                "",
                                "--stop",
                                "\n",
                                "--system=",
                                "--n",
                                "9",
                                "--ignore-eos",
                                "--",
                                "--not",
                                "an option"})
                              .take();
  EXPECT_EQ(options.prompt, "--not an option");
  EXPECT_EQ(options.system, "");
  EXPECT_EQ(options.sources, (std::vector<std::string>{"a", "b=c"}));
  EXPECT_TRUE(options.chat);
  EXPECT_EQ(options.n, 9u);
  EXPECT_EQ(options.shift, -7);
  EXPECT_EQ(options.penalty, 0.25);
  EXPECT_EQ(options.generate.temperature, 0.7);
  EXPECT_EQ(options.generate.seed, UINT64_MAX);
  EXPECT_EQ(options.generate.stop, (std::vector<std::string>{"", "\n"}));
  EXPECT_TRUE(options.generate.ignore_stop_tokens);
}

TEST(OptionsTest, AnErrorNamesTheOptionWhatWasGivenAndWhatMayBe) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{}, "give --prompt: The text to continue"},
      {{"--prompt"}, "--prompt needs a value: a text"},
      {{"a", "--n"}, "--n needs a value: a whole number from 1 to 64"},
      {{"a", "--n", "0"}, "--n must be a whole number from 1 to 64, not \"0\""},
      {{"a", "--n=65"}, "--n must be a whole number from 1 to 64, not \"65\""},
      {{"a", "--n", "-1"}, "--n must be a whole number from 1 to 64, not \"-1\""},
      {{"a", "--n", "4.0"}, "--n must be a whole number from 1 to 64, not \"4.0\""},
      {{"a", "--n", ""}, "--n must be a whole number from 1 to 64, not \"\""},
      {{"a", "--shift", "3000000000"},
       "--shift must be a whole number from -2147483648 to 2147483647, not \"3000000000\""},
      {{"a", "--penalty", "1x"}, "--penalty must be a number, not \"1x\""},
      {{"a", "--penalty", " 1"}, "--penalty must be a number, not \" 1\""},
      {{"a", "--penalty", "nan"}, "--penalty must be a number, not \"nan\""},
      {{"a", "--temperature", "1e9"},
       "--temperature must be a number from 0 to 1000000, not \"1e9\""},
      {{"a", "--top-p=-0.1"}, "--top-p must be a number from 0 to 1, not \"-0.1\""},
      {{"a", "--chat=yes"}, "--chat takes no value"},
      {{"a", "--prompt", "b"}, "give --prompt or words of their own, not both"},
      {{"--promt", "x"},
       "unknown option --promt; did you mean --prompt? (quire run PROGRAM --help lists the "
       "options)"},
      {{"--max_tokens=3"},
       "unknown option --max_tokens; did you mean --max-tokens? (quire run PROGRAM --help lists "
       "the "
       "options)"},
      {{"--zzzzzzzz"}, "unknown option --zzzzzzzz (quire run PROGRAM --help lists the options)"},
  };
  for (const auto& [words, message] : wrong) EXPECT_EQ(error_of(words), message);
}

TEST(OptionsTest, WordsThatNoOptionTakesAreRefused) {
  OptionReader reader;
  EXPECT_EQ(reader.parse({"what"}).error().message, "\"what\" belongs to no option");
}

TEST(OptionsTest, TheSchemaHasEachOptionOnce) {
  OptionReader reader;
  Options options;
  options.read(reader);
  const Json schema = Json::parse(reader.schema()).take();
  EXPECT_EQ(schema.text("type"), "object");
  EXPECT_EQ(schema["required"].str(), R"(["prompt"])");
  EXPECT_EQ(schema["properties"].members().size(), 15u);
  EXPECT_EQ(schema["properties"]["prompt"].str(),
            R"({"type":"string","description":"The text to continue","words":true})");
  EXPECT_EQ(schema["properties"]["system"].text("default"), "be brief");
  EXPECT_EQ(schema["properties"]["n"].str(),
            R"({"type":"integer","description":"Answers","minimum":1,"maximum":64,"default":4})");
  EXPECT_EQ(schema["properties"]["penalty"].str(),
            R"({"type":"number","description":"A penalty","default":1.5})");
  EXPECT_EQ(schema["properties"]["stop"]["items"].text("type"), "string");
  EXPECT_FALSE(schema.boolean("additionalProperties", true));
}

TEST(OptionsTest, ANumberCanBeRequiredAndHasNoDefaultThen) {
  std::int32_t count = 0;
  OptionReader in;
  in.number("count", count, "How many", {1, 9}, Required::Yes);
  const std::string schema = in.schema();
  EXPECT_NE(schema.find("\"required\":[\"count\"]"), std::string::npos) << schema;
  EXPECT_EQ(schema.find("default"), std::string::npos) << schema;
  EXPECT_EQ(in.parse({}).error().message, "give --count: How many");
  EXPECT_TRUE(in.parse({"--count", "3"}).ok());
  EXPECT_EQ(count, 3);
}

TEST(OptionsTest, AProgramGetsItsOptionsOrEndsWithTheError) {
  host.reset();
  host.arguments = {"--n", "3", "hello"};
  EXPECT_EQ(run_program(+[](Options options) -> Task<> {
              EXPECT_EQ(options.prompt, "hello");
              EXPECT_EQ(options.n, 3u);
              co_return;
            }),
            0);
  host.arguments = {"--n", "x", "hello"};
  EXPECT_EQ(run_program(+[](Options) -> Task<> { co_return; }), 1);
  EXPECT_EQ(host.logged.back(),
            "invalid-argument: --n must be a whole number from 1 to 64, not \"x\"");
  EXPECT_EQ(run_program(+[]() -> Task<> { co_return; }), 1);
  host.arguments = {};
  EXPECT_EQ(run_program(+[]() -> Task<> { co_return; }), 0);
}

// Command lines that a program could be given, with mistakes in them: each is read as it was meant,
// or refused with a message that names a word of it.
TEST(OptionsTest, RandomCommandLinesAreReadOrRefusedByName) {
  const char* const names[] = {"prompt",  "system", "source",     "chat", "n",      "shift",
                               "penalty", "seed",   "max-tokens", "stop", "absent", ""};
  const char* const values[] = {"1", "0", "64", "65", "-1", "x", "", "1e3", "--", "--chat", "a b"};
  std::size_t refused_count = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    sampling::Random random(seed);
    std::vector<std::string> words;
    for (std::uint64_t i = random.next() % 6; i > 0; --i) {
      const std::string name = std::string("--") + names[random.next() % 12];
      const std::string value = values[random.next() % 11];
      switch (random.next() % 4) {
        case 0:
          words.push_back(name + "=" + value);
          break;
        case 1:
          words.push_back(value);
          break;
        default:
          words.push_back(name);
          words.push_back(value);
          break;
      }
      if (random.next() % 8 == 0) {
        for (char& each : words.back()) {
          if (random.next() % 4 == 0) each = static_cast<char>(random.next());
        }
      }
    }
    const Result<Options> options = read(words);
    if (options.ok()) {
      EXPECT_GE(options.value().n, 1u);
      EXPECT_LE(options.value().n, 64u);
      continue;
    }
    ++refused_count;
    EXPECT_EQ(options.error().code, ErrorCode::InvalidArgument);
    const std::string& message = options.error().message;
    const bool names_something = message.find("--") != std::string::npos ||
                                 message.find("belongs to no") != std::string::npos;
    EXPECT_TRUE(names_something) << "seed " << seed << ": " << message;
    EXPECT_EQ(valid_utf8(message), message) << "seed " << seed;
  }
  EXPECT_GT(refused_count, 10'000u);
  EXPECT_LT(refused_count, 19'900u);
}

}  // namespace
}  // namespace quire
