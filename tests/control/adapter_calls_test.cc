// Host calls on adapters, on the real controller and a simulated device: a program names adapters,
// and what follows is what the naive model says of tokens under them.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "control/adapters/adapter_registry.h"
#include "control/call_guest.h"
#include "control/naive_model.h"
#include "support/small_adapter.h"

namespace quire::control::adapter_calls_test {
namespace {

// A path is the seed of an adapter.
class SeedReader final : public inference::AdapterReader {
 public:
  Result<std::shared_ptr<const inference::Adapter>> read(
      const inference::AdapterSource& source, const inference::AdapterLimits&) const override {
    return inference::small_adapter(inference::simulated_model(),
                                    static_cast<std::uint32_t>(std::stoul(source.path)));
  }
  Result<std::shared_ptr<const inference::Adapter>> read(
      std::vector<inference::AdapterFile>, const inference::AdapterLimits&) const override {
    return Error(ErrorCode::Internal, "nobody uploads here");
  }
  Result<std::uint64_t> bytes_of(const inference::AdapterSource&) const override { return 1; }
};

constexpr TenantId kOne{1}, kTwo{2};

class AdapterCalls : public testing::Test {
 protected:
  void SetUp() override {
    harness.catalog = &registry;
    ASSERT_TRUE(registry.add(std::nullopt, ModelIndex{0}, "french", AdapterPath{"1", ""}).ok());
    ASSERT_TRUE(registry.add(kOne, ModelIndex{0}, "pirate", AdapterPath{"2", ""}).ok());
  }
  static std::uint64_t set_of(std::uint32_t seed, float scale = 1.0f) {
    const auto adapter = inference::small_adapter(inference::simulated_model(), seed);
    return test::digest_of_set({{adapter->digest(), scale}});
  }

  SeedReader reader;
  AdapterRegistry registry{{{.name = inference::simulated_model().name, .reader = &reader}}, {}};
  Harness harness;
};

test::Content forty() {
  test::Content content;
  content.tokens = count_tokens(40);
  return content;
}

TEST_F(AdapterCalls, PutAdaptersInForceForTokensToCome) {
  Guest guest(harness, kOne);
  const std::int64_t context = guest.new_context(0);
  ASSERT_EQ(guest.use_adapters(context, "pirate", {0.5}), 0) << guest.error();
  guest.append(context, 40, 1);
  test::Content content;
  content.use(set_of(2, 0.5f));
  content.tokens = count_tokens(40);
  EXPECT_EQ(guest.next_tokens(context), test::top_tokens(test::output_after(content), 512, 8));
}

TEST_F(AdapterCalls, OpenAModelWithAnAdapterByItsName) {
  Guest guest(harness, kOne);
  for (const std::string& name :
       std::vector<std::string>{"pirate", inference::simulated_model().name + ":pirate"}) {
    const std::int64_t context = guest.context_of_model(name);
    ASSERT_GT(context, 0) << guest.error();
    guest.append(context, 40, 1);
    test::Content content;
    content.use(set_of(2));
    content.tokens = count_tokens(40);
    EXPECT_EQ(guest.next_tokens(context), test::top_tokens(test::output_after(content), 512, 8));
  }
  const std::int64_t base = guest.context_of_model(inference::simulated_model().name);
  guest.append(base, 40, 1);
  EXPECT_EQ(guest.next_tokens(base), test::top_tokens(test::output_after(forty()), 512, 8));
}

TEST_F(AdapterCalls, HideAdaptersOfOtherTenants) {
  Guest other(harness, kTwo);
  const std::int64_t context = other.new_context(0);
  const auto not_found = -static_cast<std::int64_t>(ErrorCode::NotFound);
  EXPECT_EQ(other.use_adapters(context, "pirate", {1.0}), not_found);
  EXPECT_EQ(other.error(), "model " + inference::simulated_model().name +
                               " has no adapter named \"pirate\"; it has: french");
  EXPECT_EQ(other.context_of_model("pirate"), not_found);
  EXPECT_EQ(other.error().find("pirate\"; there are: "), other.error().find("pirate\""))
      << other.error();
  EXPECT_EQ(other.error().find(":pirate"), std::string::npos) << other.error();
  EXPECT_EQ(other.adapters(), "french");
  Guest one(harness, kOne);
  EXPECT_EQ(one.adapters(), "french\npirate");
}

// The next batch takes over the memory of the last one, which must not hold adapters until then.
TEST_F(AdapterCalls, AreNotInUseAfterTheirContextsAreGone) {
  const auto is_in_use = [this] {
    const auto pirate = registry.list(kOne, ModelIndex{0}).back();
    EXPECT_EQ(pirate.name, "pirate");
    return pirate.is_in_use;
  };
  Guest guest(harness, kOne);
  const std::int64_t context = guest.new_context(0);
  EXPECT_FALSE(is_in_use());
  ASSERT_EQ(guest.use_adapters(context, "pirate", {0.5}), 0) << guest.error();
  guest.append(context, 40, 1);
  EXPECT_EQ(guest.context("flush", {context}), 20);
  EXPECT_TRUE(is_in_use());
  EXPECT_EQ(guest.call("future", "drop", {context}), 0);
  guest.settle();
  EXPECT_FALSE(is_in_use());
}

TEST_F(AdapterCalls, RefuseWhatIsNoSet) {
  Guest guest(harness, kOne);
  const std::int64_t context = guest.new_context(0);
  const auto invalid = -static_cast<std::int64_t>(ErrorCode::InvalidArgument);
  EXPECT_EQ(guest.use_adapters(context, "pirate", {}), invalid);
  EXPECT_EQ(guest.error(), "use-adapters: 1 names and 0 scales");
  EXPECT_EQ(guest.use_adapters(context, "pirate\npirate", {1.0, 2.0}), invalid);
  EXPECT_EQ(guest.error(), "adapter \"pirate\" is given twice");
  EXPECT_EQ(guest.use_adapters(context, "pirate", {1e300}), invalid);
  EXPECT_EQ(guest.use_adapters(context, std::string(2000, 'a'), {1.0}), invalid);
  EXPECT_EQ(guest.use_adapters(context, "", {}), 0) << "the base model";
}

}  // namespace
}  // namespace quire::control::adapter_calls_test
