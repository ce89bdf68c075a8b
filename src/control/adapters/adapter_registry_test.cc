#include "control/adapters/adapter_registry.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/seeds.h"
#include "control/contexts/chosen_adapters.h"
#include "support/small_adapter.h"

namespace quire::control {
namespace {

inference::ModelInfo small_model() {
  inference::ModelInfo model;
  model.architecture = "llama";
  model.layer_count = 1;
  model.embedding_width = 64;
  model.head_count = model.kv_head_count = 4;
  model.head_dim = 16;
  return model;
}

// A reader that knows one adapter for each file whose name is a number: that of the number as seed.
class NumberReader final : public inference::AdapterReader {
 public:
  Result<std::shared_ptr<const inference::Adapter>> read(
      const inference::AdapterSource& source,
      const inference::AdapterLimits& limits) const override {
    last_limits = limits;
    if (source.path.empty() || source.path.find_first_not_of("0123456789") != std::string::npos) {
      return Error(ErrorCode::NotFound, source.path + " is not there");
    }
    const auto seed = static_cast<std::uint32_t>(std::stoul(source.path));
    return inference::small_adapter(small_model(), seed);
  }
  Result<std::shared_ptr<const inference::Adapter>> read(
      std::vector<inference::AdapterFile> files,
      const inference::AdapterLimits& limits) const override {
    return read({.path = files.at(0).name, .beneath = ""}, limits);
  }
  Result<std::uint64_t> bytes_of(const inference::AdapterSource&) const override { return 1; }
  mutable inference::AdapterLimits last_limits;
};

constexpr ModelIndex kModel{0}, kBare{1};
constexpr TenantId kOne{1}, kTwo{2};

class Registry : public testing::Test {
 protected:
  NumberReader reader;
  AdapterRegistry registry{{{.name = "base", .reader = &reader}, {.name = "bare"}}, {}};

  void TearDown() override { registry.verify(); }
  Digest digest_of(std::uint32_t seed) const {
    return inference::small_adapter(small_model(), seed)->digest();
  }
  ErrorCode refused(std::optional<TenantId> tenant, const std::string& name,
                    const std::string& path) {
    const auto added = registry.add(tenant, kModel, name, AdapterPath{path, ""});
    return added.ok() ? ErrorCode::Internal : added.error().code();
  }
  std::string names(std::optional<TenantId> tenant) const {
    std::string all;
    for (const AdapterDescription& each : registry.list(tenant, kModel)) all += each.name + " ";
    return all;
  }
};

TEST_F(Registry, GivesATenantItsOwnAdapterBeforeTheServers) {
  ASSERT_TRUE(registry.add(std::nullopt, kModel, "french", AdapterPath{"1", ""}).ok());
  ASSERT_TRUE(registry.add(kOne, kModel, "french", AdapterPath{"2", ""}).ok());
  ASSERT_TRUE(registry.add(kOne, kModel, "pirate", AdapterPath{"3", ""}).ok());
  EXPECT_EQ(registry.choose(kOne, kModel, {{"french"}}).value()->set[0].digest, digest_of(2));
  EXPECT_EQ(registry.choose(kTwo, kModel, {{"french"}}).value()->set[0].digest, digest_of(1));
  EXPECT_EQ(names(kOne), "french pirate ");
  EXPECT_EQ(names(kTwo), "french ");
  EXPECT_EQ(names(std::nullopt), "french ");
  EXPECT_EQ(registry.find(kTwo, kModel, digest_of(2)), nullptr) << "of another tenant";
  EXPECT_NE(registry.find(kOne, kModel, digest_of(2)), nullptr);
  const Result<ChosenAdaptersRef> foreign = registry.choose(kTwo, kModel, {{"pirate"}});
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(foreign.error().message(),
            "model base has no adapter named \"pirate\"; it has: french");
}

TEST_F(Registry, RefusesANameThatAnotherAdapterHas) {
  ASSERT_TRUE(registry.add(kOne, kModel, "french", AdapterPath{"1", ""}).ok());
  EXPECT_TRUE(registry.add(kOne, kModel, "french", AdapterPath{"1", ""}).ok()) << "the same again";
  EXPECT_EQ(refused(kOne, "french", "2"), ErrorCode::AlreadyExists);
  ASSERT_TRUE(registry.remove(kOne, kModel, "french").ok());
  EXPECT_TRUE(registry.add(kOne, kModel, "french", AdapterPath{"2", ""}).ok());
}

TEST_F(Registry, RefusesTheNameOfAnyModel) {
  for (const char* name : {"base", "bare"}) {
    for (const std::optional<TenantId> tenant : {std::optional<TenantId>(), std::optional(kOne)}) {
      EXPECT_EQ(refused(tenant, name, "1"), ErrorCode::AlreadyExists);
      EXPECT_EQ(registry.check_room(tenant, name, 1).error().code(), ErrorCode::AlreadyExists);
    }
  }
  EXPECT_EQ(names(kOne), "");
  EXPECT_EQ(refused(kOne, "Base", "1"), ErrorCode::Internal) << "another name";
}

TEST_F(Registry, RefusesNamesFilesAndModelsThatAreNone) {
  for (const char* name : {"", "a b", "a:b", "a/b", "a\nb", ".", ".."}) {
    EXPECT_EQ(refused(kOne, name, "1"), ErrorCode::InvalidArgument) << name;
  }
  EXPECT_EQ(refused(kOne, std::string(65, 'a'), "1"), ErrorCode::InvalidArgument);
  EXPECT_EQ(refused(kOne, "a", "nothing"), ErrorCode::NotFound);
  EXPECT_EQ(names(kOne), "");
  EXPECT_FALSE(registry.is_open(kBare));
  EXPECT_EQ(registry.choose(kOne, kBare, {{"a"}}).error().message(),
            "model bare takes no adapters");
  EXPECT_EQ(registry.remove(kOne, kModel, "a").error().message(),
            "model base has no adapter named \"a\"; it has none");
}

TEST_F(Registry, KeepsWhatIsRemovedInTheAccountWhileItIsInUse) {
  registry.set_quota(kOne, {.count_max = 1});
  ASSERT_TRUE(registry.add(kOne, kModel, "a", AdapterPath{"1", ""}).ok());
  EXPECT_FALSE(registry.list(kOne, kModel)[0].is_in_use);
  ChosenAdaptersRef set = registry.choose(kOne, kModel, {{"a"}}).value();
  EXPECT_TRUE(registry.list(kOne, kModel)[0].is_in_use);
  ASSERT_TRUE(registry.remove(kOne, kModel, "a").ok());
  EXPECT_EQ(refused(kOne, "b", "2"), ErrorCode::QuotaExceeded) << "its memory is still taken";
  set = nullptr;
  EXPECT_EQ(refused(kOne, "b", "2"), ErrorCode::Internal);
}

TEST_F(Registry, HoldsATenantToItsCountBytesAndRank) {
  const std::uint64_t bytes = inference::small_adapter(small_model(), 1)->bytes();
  registry.set_quota(kOne, {.count_max = 2, .bytes_max = 2 * bytes - 1, .rank_max = 8});
  ASSERT_TRUE(registry.add(kOne, kModel, "a", AdapterPath{"1", ""}).ok());
  EXPECT_EQ(reader.last_limits.rank_max, 8u);
  EXPECT_EQ(refused(kOne, "b", "2"), ErrorCode::QuotaExceeded) << "bytes";
  EXPECT_EQ(reader.last_limits.bytes_max, bytes - 1);
  registry.set_quota(kOne, {.bytes_max = 9 * bytes});
  ASSERT_TRUE(registry.add(kOne, kModel, "b", AdapterPath{"2", ""}).ok());
  EXPECT_EQ(refused(kOne, "c", "3"), ErrorCode::QuotaExceeded) << "count";
  EXPECT_EQ(refused(kTwo, "c", "3"), ErrorCode::Internal) << "another tenant has its own";
}

TEST_F(Registry, RemovesForATenantNothingOfTheServersAndNamesNothingOfAnothers) {
  ASSERT_TRUE(registry.add(std::nullopt, kModel, "shared", AdapterPath{"1", ""}).ok());
  ASSERT_TRUE(registry.add(kTwo, kModel, "secret", AdapterPath{"2", ""}).ok());
  ASSERT_TRUE(registry.add(kOne, kModel, "own", AdapterPath{"3", ""}).ok());
  EXPECT_EQ(registry.remove(kOne, kModel, "shared").error().message(),
            "adapter shared is the server's; only a key that may operate removes it");
  EXPECT_EQ(registry.remove(kOne, kModel, "secret").error().message(),
            "model base has no adapter named \"secret\"; it has: own");
  EXPECT_EQ(registry.remove(kOne, kModel, "never").error().message(),
            "model base has no adapter named \"never\"; it has: own");
  EXPECT_EQ(names(kTwo), "secret shared ");
}

TEST_F(Registry, ChecksTheRoomForAnAdapterBeforeItsFilesAreHere) {
  const std::uint64_t bytes = inference::small_adapter(small_model(), 1)->bytes();
  registry.set_quota(kOne, {.count_max = 2, .bytes_max = 2 * bytes - 1});
  EXPECT_TRUE(registry.check_room(kOne, "a", bytes).ok());
  ASSERT_TRUE(registry.add(kOne, kModel, "a", AdapterPath{"1", ""}).ok());
  EXPECT_EQ(registry.check_room(kOne, "b", bytes).error().code(), ErrorCode::QuotaExceeded);
  EXPECT_TRUE(registry.check_room(kOne, "b", bytes - 1).ok());
  EXPECT_TRUE(registry.check_room(kTwo, "b", bytes).ok());
  EXPECT_EQ(registry.check_room(kTwo, "a/b", 1).error().code(), ErrorCode::InvalidArgument);
}

TEST_F(Registry, CountsWhatIsLoadedAndWhatIsRemovedAndInUse) {
  const std::uint64_t bytes = inference::small_adapter(small_model(), 1)->bytes();
  ASSERT_TRUE(registry.add(std::nullopt, kModel, "shared", AdapterPath{"1", ""}).ok());
  ASSERT_TRUE(registry.add(kOne, kModel, "own", AdapterPath{"2", ""}).ok());
  EXPECT_EQ(registry.count().count, 2u);
  EXPECT_EQ(registry.count_of(kOne).bytes, bytes);
  EXPECT_EQ(registry.count_of(kTwo).count, 0u);
  ChosenAdaptersRef held = registry.choose(kOne, kModel, {{"own"}}).value();
  ASSERT_TRUE(registry.remove(kOne, kModel, "own").ok());
  EXPECT_EQ(registry.count().bytes, 2 * bytes) << "it is still in use";
  EXPECT_EQ(registry.count_of(kOne).bytes, bytes);
  held = nullptr;
  EXPECT_EQ(registry.count().bytes, bytes);
  EXPECT_EQ(registry.count_of(kOne).count, 0u);
  EXPECT_EQ(registry.count_of(kOne).bytes, 0u);
}

TEST_F(Registry, KeepsItsAccountsThroughRandomAddsAndRemoves) {
  for (const std::uint64_t seed : campaign_seeds(200)) {
    std::mt19937_64 random(seed);
    AdapterRegistry random_registry({{.name = "base", .reader = &reader}}, {.count_max = 6});
    std::vector<ChosenAdaptersRef> held;
    for (int step = 0; step < 80; ++step) {
      const TenantId tenant{static_cast<std::uint32_t>(1 + random() % 3)};
      const std::string name(1, static_cast<char>('a' + random() % 4));
      const std::string path = std::to_string(random() % 3);
      switch (random() % 5) {
        case 0:
        case 1:
          (void)random_registry.add(tenant, kModel, name, AdapterPath{path, ""});
          break;
        case 2:
          (void)random_registry.remove(tenant, kModel, name);
          break;
        case 3:
          if (auto set = random_registry.choose(tenant, kModel, {{name}}); set.ok()) {
            held.push_back(set.value());
          }
          break;
        default:
          if (!held.empty()) held.pop_back();
      }
      random_registry.verify();
    }
  }
}

}  // namespace
}  // namespace quire::control
