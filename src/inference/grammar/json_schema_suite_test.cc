// Grammars of JSON schemas against JSON-Schema-Test-Suite, draft 2020-12: an instance, written as our
// grammars write it, is accepted only if it is valid. Grammar::fits says the same of it, and of the
// instance in any other spelling; where a grammar accepts less is listed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/random.h"
#include "inference/grammar/grammar_test_support.h"
#include "inference/grammar/make_grammar_compiler.h"
#include "support/golden_files.h"

#ifndef QUIRE_ENGINES
TEST(JsonSchemaSuite, NeedsEngines) {
  GTEST_SKIP() << "this build has no engines/ (QUIRE_WASM is OFF)";
}
#else

namespace quire::inference {
namespace {

using Json = nlohmann::ordered_json;

// Keywords by which a refusal can name what it refuses.
constexpr std::array kKeywords = {"$ref",
                                  "$dynamicRef",
                                  "$schema",
                                  "$id",
                                  "not",
                                  "if",
                                  "contains",
                                  "uniqueItems",
                                  "propertyNames",
                                  "dependentRequired",
                                  "dependentSchemas",
                                  "dependencies",
                                  "unevaluatedItems",
                                  "unevaluatedProperties",
                                  "format",
                                  "oneOf",
                                  "patternProperties",
                                  "pattern",
                                  "const",
                                  "enum",
                                  "minimum",
                                  "maximum",
                                  "exclusiveMinimum",
                                  "exclusiveMaximum",
                                  "multipleOf",
                                  "minProperties"};

struct Outcome {
  std::size_t agreed_count = 0;
  std::size_t refused_schema_count = 0;
  std::set<std::string> rejected;  // Valid instances that the grammar does not accept.
  std::set<std::string>
      only_fit;                 // Valid instances that fit, and that the grammar does not accept.
  std::set<std::string> unfit;  // Valid instances that do not fit.
  std::vector<std::string> wrong;  // All that must not be.
};

bool accepts(const Grammar& grammar, const std::string& text) {
  const std::unique_ptr<Matcher> matcher = grammar.matcher().take();
  return matcher->accept(test::byte_tokens(text)).ok() && matcher->may_end();
}

// Writes an instance with its members in any order, blanks anywhere, and whole numbers with decimals.
class Respelling {
 public:
  explicit Respelling(std::uint64_t seed) : random_(seed) {}

  std::string of(const Json& value) {
    std::string text = blanks();
    if (value.is_array()) {
      text += '[';
      for (const Json& each : value) text += (&each == &value.front() ? "" : ",") + of(each);
      text += blanks() + ']';
    } else if (value.is_object()) {
      text += members_of(value);
    } else {
      text += value.dump();
      if (value.is_number_integer() && random_.next() % 2 == 0) text += ".0";
    }
    return text + blanks();
  }

 private:
  std::string members_of(const Json& value) {
    std::vector<std::string> members;
    for (const auto& [name, member] : value.items()) {
      const std::string text = blanks() + Json(name).dump() + blanks() + ":" + of(member);
      const std::size_t at = random_.next() % (members.size() + 1);
      members.insert(members.begin() + static_cast<std::ptrdiff_t>(at), text);
    }
    std::string text = "{";
    for (const std::string& each : members) text += (text == "{" ? "" : ",") + each;
    return text + blanks() + "}";
  }
  std::string blanks() {
    std::string text;
    while (random_.next() % 3 == 0) text += " \n\t\r"[random_.next() % 4];
    return text;
  }

  SeededRandom random_;
};

// Whether the instance fits, which no spelling of it may change.
bool fits(const Grammar& grammar, const Json& instance, const std::string& what, Outcome& outcome) {
  constexpr std::uint64_t kSpellingCount = 8;
  const Result<bool> verdict = grammar.fits(instance.dump());
  if (!verdict.ok()) {
    outcome.wrong.push_back(what + ": " + std::string(verdict.error().message()));
    return false;
  }
  for (std::uint64_t seed = 0; seed < kSpellingCount; ++seed) {
    const std::string text = Respelling(seed).of(instance);
    const Result<bool> again = grammar.fits(text);
    if (again.ok() && again.value() == verdict.value()) continue;
    outcome.wrong.push_back(what + ": " + text + " is judged as another instance");
  }
  return verdict.value();
}

bool names_a_keyword_of(const std::string& schema, std::string_view message) {
  return std::any_of(kKeywords.begin(), kKeywords.end(), [&](const char* keyword) {
    return schema.find(std::string("\"") + keyword + "\"") != std::string::npos &&
           message.find(keyword) != std::string_view::npos;
  });
}

void run_group(GrammarCompiler& compiler, const std::string& file, const Json& group,
               Outcome& outcome) {
  const std::string schema = group["schema"].dump();
  const std::string name = file + " | " + group["description"].get<std::string>();
  const auto grammar = compiler.compile(GrammarKind::JsonSchema, schema);
  if (!grammar.ok()) {
    const std::string message(grammar.error().message());
    const bool matches_nothing = grammar.error().code() == ErrorCode::InvalidArgument &&
                                 message.find("no text matches it") != std::string::npos;
    if (!matches_nothing) {
      ++outcome.refused_schema_count;
      const bool is_refusal = grammar.error().code() == ErrorCode::NotSupported;
      if (!is_refusal || !names_a_keyword_of(schema, message)) {
        outcome.wrong.push_back(name + ": " + message);
      }
      return;
    }
  }
  for (const Json& each : group["tests"]) {
    const bool is_accepted = grammar.ok() && accepts(*grammar.value(), each["data"].dump());
    const std::string what = name + " | " + each["description"].get<std::string>();
    const bool does_fit = grammar.ok() && fits(*grammar.value(), each["data"], what, outcome);
    if (does_fit && !each["valid"].get<bool>()) {
      outcome.wrong.push_back(what + ": an invalid instance fits");
    }
    if (is_accepted && !does_fit) {
      outcome.wrong.push_back(what + ": it is accepted and does not fit");
    }
    if (does_fit && !is_accepted) outcome.only_fit.insert(what);
    if (grammar.ok() && !does_fit && each["valid"].get<bool>()) outcome.unfit.insert(what);
    if (is_accepted == each["valid"].get<bool>()) {
      ++outcome.agreed_count;
    } else if (is_accepted) {
      outcome.wrong.push_back(what + ": an invalid instance is accepted");
    } else {
      outcome.rejected.insert(what);
    }
  }
}

// `prefix` stands before the names of its files.
Outcome run_folder(const std::filesystem::path& folder, const std::string& prefix = "") {
  const auto codec = test::small_codec();
  const auto compiler = make_grammar_compiler(*codec, {test::kStop});
  std::set<std::filesystem::path> files;
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    if (each.path().extension() == ".json") files.insert(each.path());
  }
  Outcome outcome;
  for (const std::filesystem::path& file : files) {
    for (const Json& group : Json::parse(test::read_or_fail(file.string()))) {
      run_group(*compiler, prefix + file.filename().string(), group, outcome);
    }
  }
  return outcome;
}

std::set<std::string> lines_of(const std::string& path) {
  std::set<std::string> lines;
  std::istringstream text(test::read_or_fail(path));
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && line[0] != '#') lines.insert(line);
  }
  return lines;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + "\n";
  return all;
}

class JsonSchemaSuite : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = test::fetched_golden("json_schema/draft2020-12");
    if (!std::filesystem::exists(folder_)) {
      GTEST_SKIP() << folder_ << " is missing: tools/fetch_schema_goldens.sh fetches it";
    }
  }
  std::filesystem::path folder_;
};

// Changing what is refused or rejected changes docs/guide/grammars.md too.
TEST_F(JsonSchemaSuite, NoInvalidInstanceIsAcceptedAndTheValidOnesThatAreRejectedAreListed) {
  const Outcome outcome = run_folder(folder_);
  EXPECT_EQ(joined(outcome.wrong), "");
  EXPECT_EQ(outcome.rejected, lines_of(test::golden_path("json_schema_rejected.txt")));
  EXPECT_LE(outcome.rejected.size(), 22u);
  EXPECT_GT(outcome.agreed_count, 680u);
  EXPECT_LE(outcome.refused_schema_count, 161u);
}

TEST_F(JsonSchemaSuite, NoInvalidInstanceOfTheOptionalTestsIsAccepted) {
  for (const char* folder : {"optional", "optional/format"}) {
    const Outcome outcome = run_folder(folder_ / folder);
    EXPECT_EQ(joined(outcome.wrong), "") << folder;
    EXPECT_GT(outcome.agreed_count, 50u) << folder;
  }
}

// The verdicts differ by design: the grammar knows one order of members and one spelling of numbers
// and strings.
TEST_F(JsonSchemaSuite, AnInstanceFitsInAnySpellingExactlyIfItIsAcceptedAndTheOthersAreListed) {
  std::set<std::string> only_fit;
  std::set<std::string> unfit;
  for (const char* folder : {"", "optional/", "optional/format/"}) {
    Outcome outcome = run_folder(folder_ / folder, folder);
    EXPECT_EQ(joined(outcome.wrong), "") << folder;
    only_fit.merge(outcome.only_fit);
    unfit.merge(outcome.unfit);
  }
  EXPECT_EQ(unfit, lines_of(test::golden_path("json_schema_unfit.txt")));
  EXPECT_EQ(only_fit, lines_of(test::golden_path("json_schema_only_fit.txt")));
}

}  // namespace
}  // namespace quire::inference

#endif
