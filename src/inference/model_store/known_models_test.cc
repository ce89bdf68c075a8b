#include "inference/model_store/known_models.h"

#include <gtest/gtest.h>

#include <quire_paths.h>
#include <fstream>
#include <string>

#include "inference/model_store/hub_listing.h"
#include "inference/model_store/model_store.h"

namespace quire::inference::known_models_test {
namespace {

TEST(KnownModels, AreCompleteAndTheFirstIsTheOneThatMakeModelFetches) {
  for (const KnownModel& each : known_models()) {
    EXPECT_EQ(find_known_model(each.name), &each);
    EXPECT_TRUE(is_sha256(each.sha256)) << each.name;
    EXPECT_TRUE(is_git_object(each.revision)) << each.name;
    EXPECT_GT(each.bytes, 0u) << each.name;
    EXPECT_EQ(ModelReference::parse(each.reference().text()).value().text(),
              each.reference().text());
    EXPECT_EQ(each.choice().files.front().path, each.file);
  }
  EXPECT_EQ(find_known_model("nothing"), nullptr);
  EXPECT_EQ(known_models().front().name, kDefaultModel);
  std::ifstream script(QUIRE_SOURCE_DIR "/tools/fetch_model.sh");
  const std::string text{std::istreambuf_iterator<char>(script), {}};
  const KnownModel& first = known_models().front();
  EXPECT_NE(text.find("NAME=" + std::string(first.name) + "\n"), std::string::npos);
  EXPECT_NE(text.find("SHA256=" + std::string(first.sha256) + "\n"), std::string::npos);
}

}  // namespace
}  // namespace quire::inference::known_models_test
