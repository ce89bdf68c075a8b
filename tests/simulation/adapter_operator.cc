#include "simulation/adapter_operator.h"

#include <string>
#include <utility>

#include "base/clock.h"
#include "inference/devices/simulated/simulated_backend.h"
#include "support/small_adapter.h"

namespace quire::simulation {
namespace {

constexpr std::uint64_t kAdaptersStream = 0x61646170746572u;
constexpr std::uint64_t kAdaptersPauseNsMax = 100 * kMillisecond;
constexpr AdapterBook::Number kNumberMax = 5;  // Few, so that one that left comes back.

std::optional<control::TenantId> tenant_of(const AdapterBook::Key& key) {
  if (!key.tenant) return std::nullopt;
  return control::TenantId{*key.tenant};
}

}  // namespace

Result<std::shared_ptr<const inference::Adapter>> AdapterOperator::NumberReader::read(
    const inference::AdapterSource& source, const inference::AdapterLimits&) const {
  return inference::small_adapter(inference::simulated_model(),
                                  static_cast<std::uint32_t>(std::stoul(source.path)));
}

Result<std::shared_ptr<const inference::Adapter>> AdapterOperator::NumberReader::read(
    std::vector<inference::AdapterFile>, const inference::AdapterLimits&) const {
  return Error(ErrorCode::Internal, "no world has a client that uploads adapters");
}

AdapterOperator::AdapterOperator(Town& town, std::uint64_t seed)
    : town_(town), dice_(seed ^ kAdaptersStream) {
  if (seed < kAdapterSeeds) return;
  town_.adapters.open();
  std::vector<control::AdapterModel> models;
  for (std::uint32_t model = 0; model < town_.knobs.model_count; ++model) {
    models.push_back({.name = model_name(model), .reader = &reader_});
  }
  registry_.emplace(std::move(models), control::AdapterRegistryOptions{});
  for (std::uint32_t model = 0; model < town_.knobs.model_count; ++model) {
    AdapterBook::Number next = dice_.between(1, kNumberMax);
    for (const char* name : kAdapterNames) add({model, std::nullopt, name}, next++);
  }
  actions_left_ = dice_.between(5, 40);
}

AdapterBook::Key AdapterOperator::some_key() {
  AdapterBook::Key key{.model = dice_.below(town_.knobs.model_count)};
  if (dice_.one_in(3)) key.tenant = dice_.between(1, town_.knobs.tenant_count);
  key.name = kAdapterNames[dice_.below(std::size(kAdapterNames))];
  return key;
}

void AdapterOperator::act() {
  --actions_left_;
  next_ns_ = town_.clock.now_ns() + dice_.time_ns(kAdaptersPauseNsMax);
  const AdapterBook::Key key = some_key();
  const AdapterBook::Number adapter = dice_.between(1, kNumberMax);
  if (!town_.adapters.has(key)) return add(key, adapter);
  remove(key);
  if (!dice_.one_in(3)) add(key, adapter);
}

void AdapterOperator::add(const AdapterBook::Key& key, AdapterBook::Number adapter) {
  const Result<control::AdapterDescription> added =
      registry_->add(tenant_of(key), control::ModelIndex{key.model}, key.name,
                     control::AdapterPath{.path = std::to_string(adapter), .beneath = ""});
  town_.trace.note({"adapter operator", key.model}, "add", adapter, key.name);
  if (added.ok()) return town_.adapters.add(key, adapter);
  // An adapter that was removed stays in its tenant's account while programs use it.
  if (key.tenant && added.error().code() == ErrorCode::QuotaExceeded) return;
  town_.findings.add("an adapter is refused: " + std::string(added.error().message()));
}

void AdapterOperator::remove(const AdapterBook::Key& key) {
  const Result<void> removed =
      registry_->remove(tenant_of(key), control::ModelIndex{key.model}, key.name);
  town_.trace.note({"adapter operator", key.model}, "remove", 0, key.name);
  town_.adapters.remove(key);
  if (removed.ok()) return;
  town_.findings.add("an adapter cannot be removed: " + std::string(removed.error().message()));
}

void AdapterOperator::check_over() const {
  if (!registry_) return;
  for (std::uint32_t model = 0; model < town_.knobs.model_count; ++model) {
    for (std::uint32_t tenant = 1; tenant <= town_.knobs.tenant_count; ++tenant) {
      const auto all = registry_->list(control::TenantId{tenant}, control::ModelIndex{model});
      for (const control::AdapterDescription& each : all) {
        if (!each.is_in_use) continue;
        town_.findings.add("adapter " + each.name + " is in use after all programs ended");
      }
    }
  }
}

}  // namespace quire::simulation
