// Grammars of JSON schemas against JSON-Schema-Test-Suite, draft 2020-12: an instance, written as our
// grammars write it, is accepted only if it is valid.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

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
  std::vector<std::string> wrong;  // All that must not be.
};

bool accepts(const Grammar& grammar, const std::string& text) {
  const std::unique_ptr<Matcher> matcher = grammar.matcher().take();
  return matcher->accept(test::byte_tokens(text)).ok() && matcher->may_end();
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
    if (is_accepted == each["valid"].get<bool>()) {
      ++outcome.agreed_count;
    } else if (is_accepted) {
      outcome.wrong.push_back(what + ": an invalid instance is accepted");
    } else {
      outcome.rejected.insert(what);
    }
  }
}

Outcome run_folder(const std::filesystem::path& folder) {
  const auto codec = test::small_codec();
  const auto compiler = make_grammar_compiler(*codec, {test::kStop});
  std::set<std::filesystem::path> files;
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    if (each.path().extension() == ".json") files.insert(each.path());
  }
  Outcome outcome;
  for (const std::filesystem::path& file : files) {
    for (const Json& group : Json::parse(test::read_or_fail(file.string()))) {
      run_group(*compiler, file.filename().string(), group, outcome);
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

// Changing what is refused or rejected changes docs/grammars.md too.
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

}  // namespace
}  // namespace quire::inference

#endif
