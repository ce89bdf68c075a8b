#include "main/modules/declared_options.h"

#include <gtest/gtest.h>

#include "main/modules/module_sections.h"

namespace quire::modules {
namespace {

constexpr std::string_view kSchema =
    R"({"type":"object","properties":{
      "prompt":{"type":"string","description":"The text to continue","words":true},
      "system":{"type":"string","description":"Instructions","default":"be brief"},
      "source":{"type":"array","items":{"type":"string"},"description":"Where to look"},
      "chat":{"type":"boolean","description":"Answer"},
      "n":{"type":"integer","description":"Answers","minimum":1,"maximum":64,"default":4},
      "shift":{"type":"integer","description":"S","minimum":-2147483648,"maximum":2147483647,"default":-7},
      "penalty":{"type":"number","description":"A penalty","default":1.5},
      "top-p":{"type":"number","description":"A share","minimum":0,"maximum":1,"default":1},
      "seed":{"type":"integer","description":"Another seed draws other tokens, and a line of help that is longer than the terminal goes on below its beginning","minimum":0,"maximum":18446744073709551615,"default":0}},
      "required":["prompt"],"additionalProperties":false})";

DeclaredOptions options() {
  return parse_declared_options(kSchema).take();
}

TEST(DeclaredOptions, AreReadFromASchemaInTheirOrder) {
  const DeclaredOptions declared = options();
  ASSERT_EQ(declared.size(), 9u);
  EXPECT_EQ(declared[0].name, "prompt");
  EXPECT_TRUE(declared[0].is_required);
  EXPECT_TRUE(declared[0].takes_words);
  EXPECT_EQ(declared[1].default_text, "\"be brief\"");
  EXPECT_EQ(declared[2].kind, OptionKind::Texts);
  EXPECT_EQ(declared[3].kind, OptionKind::Flag);
  EXPECT_EQ(declared[4].minimum, "1");
  EXPECT_EQ(declared[4].maximum, "64");
  EXPECT_FALSE(declared[4].is_required);
  EXPECT_EQ(declared[6].kind, OptionKind::Real);
  EXPECT_EQ(declared[6].minimum, "");
  EXPECT_EQ(declared[8].maximum, "18446744073709551615");
}

TEST(DeclaredOptions, HelpHasEachOptionItsFormItsMeaningAndItsDefault) {
  EXPECT_EQ(options_help("p.wasm", options()),
            R"(Options of p.wasm, given after "--":

  --prompt TEXT  The text to continue (required; or words without an option)
  --system TEXT  Instructions (default "be brief")
  --source TEXT  Where to look (may be repeated)
  --chat         Answer
  --n N          Answers (1 to 64; default 4)
  --shift N      S (default -7)
  --penalty X    A penalty (default 1.5)
  --top-p X      A share (0 to 1; default 1)
  --seed N       Another seed draws other tokens, and a line of help that is longer than the
                 terminal goes on below its beginning (default 0)
)");
  EXPECT_EQ(options_help("p.wasm", {}), "p.wasm takes no options.\n");
}

TEST(DeclaredOptions, ATextWithChoicesIsOneOfThem) {
  const DeclaredOptions declared = parse_declared_options(R"({"properties":{
      "tone":{"type":"string","description":"How it sounds",
              "enum":["plain","grand"],"default":"plain"}}})")
                                       .take();
  EXPECT_EQ(
      options_help("p", declared),
      "Options of p, given after \"--\":\n\n  --tone TEXT  How it sounds (one of plain, grand; "
      "default \"plain\")\n");
  EXPECT_TRUE(check_program_words(declared, {"--tone=grand"}).ok());
  EXPECT_EQ(check_program_words(declared, {"--tone", "shrill"}).error().message(),
            "--tone must be one of plain, grand, not \"shrill\"");
  EXPECT_EQ(parse_declared_options(R"({"properties":{"a":{"type":"string","enum":[1]}}})")
                .error()
                .message(),
            "the option \"a\" has an enum that is not a list of texts");
}

TEST(DeclaredOptions, ALongNameHasALineOfItsOwn) {
  DeclaredOption option;
  option.name = std::string(40, 'o');
  option.meaning = "What it does";
  EXPECT_EQ(options_help("p", {option}), "Options of p, given after \"--\":\n\n  --" +
                                             std::string(40, 'o') +
                                             " TEXT\n            What it does\n");
}

TEST(DeclaredOptions, ASchemaThatIsNoneIsRefusedByName) {
  const auto message = [](std::string_view json) {
    return std::string(parse_declared_options(json).error().message());
  };
  EXPECT_EQ(message("[]"), "the declared options are not an object with \"properties\"");
  EXPECT_EQ(message(R"({"properties":[]})"),
            "the declared options are not an object with \"properties\"");
  EXPECT_EQ(message(R"({"properties":{"a":1}})"), "the option \"a\" is not an object");
  EXPECT_EQ(message(R"({"properties":{"a":{"type":"null"}}})"),
            "the option \"a\" has the type \"null\", which is not one of string, array, boolean, "
            "integer and number");
  EXPECT_EQ(message(R"({"properties":{"a":{"type":"integer","minimum":"x"}}})"),
            "the option \"a\" has a minimum that is not a number");
  EXPECT_NE(message("{").find("quire.options"), std::string::npos) << message("{");
}

TEST(DeclaredOptions, OfAModuleAreThoseOfItsSection) {
  EXPECT_FALSE(declared_options_of(write_module({})).value());
  const std::string wasm = write_module({{kCustomSection, kOptionsSection, kSchema}});
  EXPECT_EQ(declared_options_of(wasm).value()->size(), 9u);
  EXPECT_FALSE(declared_options_of("no module").ok());
}

TEST(ProgramWords, ThatTheProgramWouldTakeAreTaken) {
  const std::vector<std::string> taken[] = {
      {"words", "alone"},
      {"--prompt", "a", "--n", "64", "--n=1"},
      {"--prompt=", "--chat", "--source", "--chat", "--source=b=c"},
      {"--seed", "18446744073709551615", "--shift", "-2147483648", "--penalty=-1e3", "a"},
      {"--", "--not", "an option"},
  };
  for (const auto& words : taken) {
    const Result<void> checked = check_program_words(options(), words);
    EXPECT_TRUE(checked.ok()) << checked.error().message();
  }
  EXPECT_TRUE(check_program_words({}, {}).ok());
}

TEST(ProgramWords, ThatTheProgramWouldRefuseAreRefusedInItsWords) {
  const std::pair<std::vector<std::string>, const char*> refused[] = {
      {{}, "give --prompt: The text to continue"},
      {{"--prompt"}, "--prompt needs a value: a text"},
      {{"a", "--n"}, "--n needs a value: a whole number from 1 to 64"},
      {{"a", "--n", "0"}, "--n must be a whole number from 1 to 64, not \"0\""},
      {{"a", "--n=65"}, "--n must be a whole number from 1 to 64, not \"65\""},
      {{"a", "--n", "4.0"}, "--n must be a whole number from 1 to 64, not \"4.0\""},
      {{"a", "--n", "+4"}, "--n must be a whole number from 1 to 64, not \"+4\""},
      {{"a", "--n", ""}, "--n must be a whole number from 1 to 64, not \"\""},
      {{"a", "--seed", "18446744073709551616"},
       "--seed must be a whole number from 0 to 18446744073709551615, not "
       "\"18446744073709551616\""},
      {{"a", "--penalty", "1x"}, "--penalty must be a number, not \"1x\""},
      {{"a", "--penalty", " 1"}, "--penalty must be a number, not \" 1\""},
      {{"a", "--penalty", "inf"}, "--penalty must be a number, not \"inf\""},
      {{"a", "--top-p=-0.1"}, "--top-p must be a number from 0 to 1, not \"-0.1\""},
      {{"a", "--chat=yes"}, "--chat takes no value"},
      {{"a", "--prompt", "b"}, "give --prompt or words of their own, not both"},
      {{"--promt", "x"}, "unknown option --promt; did you mean --prompt?"},
      {{"--zzzzzzzz"}, "unknown option --zzzzzzzz"},
  };
  for (const auto& [words, message] : refused) {
    const Result<void> checked = check_program_words(options(), words);
    ASSERT_FALSE(checked.ok()) << message;
    EXPECT_EQ(checked.error().message(), message);
  }
  EXPECT_EQ(check_program_words({}, {"what"}).error().message(), "\"what\" belongs to no option");
}

}  // namespace
}  // namespace quire::modules
