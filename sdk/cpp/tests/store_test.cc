#include "quire/store.h"

#include <gtest/gtest.h>

#include "fake_host.h"
#include "quire/main.h"
#include "quire/model.h"

namespace quire {
namespace {

using test::host;

class Store : public testing::Test {
 protected:
  void SetUp() override { host.reset(); }
  void TearDown() override { EXPECT_TRUE(host.live_handles().empty()); }
};

Task<> two_writers() {
  const std::uint64_t first = co_await store::put("count", "1", store::Expected::none());
  const store::Value read = co_await store::get("count");
  EXPECT_EQ(read.version, first);
  EXPECT_EQ(read.bytes, "1");
  co_await store::put("count", "2");  // Another program's.
  const Result<std::uint64_t> late =
      co_await attempt(store::put("count", "2", store::Expected::version(read.version)));
  EXPECT_EQ(late.error().code, ErrorCode::AlreadyExists);
  co_await store::remove("count");
  const Result<store::Value> gone = co_await attempt(store::get("count"));
  EXPECT_EQ(gone.error().code, ErrorCode::NotFound);
}

TEST_F(Store, AWriteThatComesLateIsToldThatItIs) {
  const Result<void> outcome = run(two_writers());
  EXPECT_TRUE(outcome.ok());
}

Task<> json_values() {
  JsonWriter turns;
  turns.begin_array().text("hello").number(std::uint64_t{12'345'678'901'234'567}).end_array();
  const std::uint64_t version = co_await store::put_json("turns", turns, store::Expected::none());
  const store::JsonValue read = co_await store::get_json("turns");
  EXPECT_EQ(read.version, version);
  EXPECT_EQ(read.json.str(), turns.str());
  co_await store::put_json("copy", read.json);
  EXPECT_EQ((co_await store::get("copy")).bytes, turns.str());
  co_await store::put("torn", "[1,");
  const Result<store::JsonValue> torn = co_await attempt(store::get_json("torn"));
  EXPECT_EQ(torn.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(torn.error().message.find("the value of torn: "), 0u) << torn.error().message;
  EXPECT_EQ((co_await attempt(store::get_json("none"))).error().code, ErrorCode::NotFound);
}

TEST_F(Store, ValuesMayBeJson) {
  EXPECT_TRUE(run(json_values()).ok());
}

Task<> many_keys() {
  for (int i = 0; i < 2'500; ++i) {
    host.values["k/" + std::to_string(10'000 + i)] = {std::uint64_t(i) + 1, "value"};
  }
  host.values["other"] = {3'000, ""};
  const std::vector<store::Key> keys = co_await store::all_keys("k/");
  EXPECT_EQ(keys.size(), 2'500u);
  EXPECT_EQ(keys.front().name, "k/10000");
  EXPECT_EQ(keys.back().name, "k/12499");
  EXPECT_EQ(keys.back().version, 2'500u);
  EXPECT_EQ(keys.back().value_bytes, 5u);
}

TEST_F(Store, AllKeysOfAPrefixComeHoweverMany) {
  const Result<void> outcome = run(many_keys());
  EXPECT_TRUE(outcome.ok());
}

Task<> read_vocabulary() {
  const Model model = co_await Model::open();
  EXPECT_EQ(co_await model.trait_version("forward"), 1u);
  EXPECT_EQ(model.trait_version("adapter").error().code, ErrorCode::NotSupported);
  const std::vector<std::string> tokens = co_await model.vocabulary();
  EXPECT_EQ(tokens.size(), 256u);
  EXPECT_EQ(tokens['a'], "a");
}

TEST_F(Store, TheVocabularyHasTheBytesOfEachToken) {
  const Result<void> outcome = run(read_vocabulary());
  EXPECT_TRUE(outcome.ok());
}

}  // namespace
}  // namespace quire
