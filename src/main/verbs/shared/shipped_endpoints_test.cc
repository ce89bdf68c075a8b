#include "main/verbs/shared/shipped_endpoints.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace quire {
namespace {

namespace fs = std::filesystem;

std::vector<server::EndpointRule> rules_of(const std::vector<std::string>& texts) {
  std::vector<server::EndpointRule> rules;
  for (const std::string& each : texts) rules.push_back(server::parse_endpoint_rule(each).take());
  return rules;
}

std::size_t argument_count(const cli::EndpointBehavior& behavior) {
  std::size_t count = 0;
  for (const server::EndpointRule& each : shipped_endpoints({}, behavior)) {
    count += each.arguments.size();
  }
  return count;
}

TEST(ShippedEndpoints, AllOfThemMakeATable) {
  const std::vector<server::EndpointRule> rules = shipped_endpoints({});
  EXPECT_EQ(rules.size(), std::size(kShippedEndpoints));
  const Result<server::EndpointTable> table = server::EndpointTable::create(rules);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table.value().find("POST", "/v1/messages/count_tokens")->program,
            "anthropic_count_tokens");
  EXPECT_EQ(table.value().find("GET", "/v1/models/a%2Fb")->program, "openai_models");
}

TEST(ShippedEndpoints, OneOfTheUserTakesThePlaceOfItsPathAndMethodAlone) {
  const std::vector<server::EndpointRule> rules =
      shipped_endpoints(rules_of({"POST /v1/completions=mine", "GET /v1/messages=mine"}));
  EXPECT_EQ(rules.size(), std::size(kShippedEndpoints) - 1);
  for (const server::EndpointRule& each : rules) EXPECT_NE(each.path, "/v1/completions");
}

TEST(ShippedEndpoints, ThoseForConversationsRepairPromptsIfTheyAreTo) {
  EXPECT_EQ(argument_count({.repairs_prompts = true}), 6u);
  EXPECT_EQ(argument_count({}), 0u);
}

TEST(ShippedEndpoints, ThoseWhoseAnswersAModelWritesDraftThemUnlessTheyAreNotTo) {
  EXPECT_EQ(argument_count({.has_drafts = false}), 7u);
}

TEST(ShippedEndpoints, ThoseWhoseAnswersAModelWritesKnowHowOftenToPing) {
  EXPECT_EQ(argument_count({.pads_json = true}), 8u);
  EXPECT_EQ(argument_count({.ping_seconds = 0.25}), 16u);
  for (const server::EndpointRule& each : shipped_endpoints({}, {.ping_seconds = 0.25})) {
    if (each.path != "/v1/completions") continue;
    const std::vector<std::string> expected = {"--ping-seconds", "0.250000"};
    EXPECT_EQ(each.arguments, expected);
  }
}

class ShippedProgramsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "quire-shipped-test-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  void make(const std::string& name) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << "x";
  }
  fs::path folder_;
};

TEST_F(ShippedProgramsTest, AreBesideABuild) {
  make("build/inferlets/openai_chat.wasm");
  EXPECT_EQ(find_shipped_programs(folder_ / "build/quire").value(), folder_ / "build/inferlets");
}

TEST_F(ShippedProgramsTest, AreInShareOfAnInstalledProgram) {
  make("share/quire/inferlets/openai_chat.wasm");
  EXPECT_EQ(find_shipped_programs(folder_ / "bin/quire").value(),
            folder_ / "share/quire/inferlets");
}

TEST_F(ShippedProgramsTest, TheErrorNamesThePlacesAndTheFlagThatDoesWithout) {
  const Result<std::string> found = find_shipped_programs(folder_ / "bin/quire");
  ASSERT_FALSE(found.ok());
  const std::string message(found.error().message());
  EXPECT_NE(message.find((folder_ / "share/quire/inferlets").string()), std::string::npos);
  EXPECT_NE(message.find((folder_ / "bin/inferlets").string()), std::string::npos);
  EXPECT_NE(message.find("--no-endpoints"), std::string::npos);
}

}  // namespace
}  // namespace quire
