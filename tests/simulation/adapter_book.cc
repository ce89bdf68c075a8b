#include "simulation/adapter_book.h"

#include <algorithm>
#include <set>

#include "inference/devices/simulated/simulated_backend.h"
#include "support/small_adapter.h"

namespace quire::simulation {

void AdapterBook::add(const Key& key, Number adapter) {
  loaded_[key] = adapter;
  ++change_count_;
}

void AdapterBook::remove(const Key& key) {
  loaded_.erase(key);
  ++change_count_;
}

std::optional<AdapterBook::Number> AdapterBook::find(std::uint32_t tenant, std::uint32_t model,
                                                     const std::string& name) const {
  auto found = loaded_.find({model, tenant, name});
  if (found == loaded_.end()) found = loaded_.find({model, std::nullopt, name});
  if (found == loaded_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> AdapterBook::names(std::uint32_t tenant, std::uint32_t model) const {
  std::set<std::string> all;
  for (const auto& [key, adapter] : loaded_) {
    if (key.model == model && (!key.tenant || key.tenant == tenant)) all.insert(key.name);
  }
  return {all.begin(), all.end()};
}

const Digest& AdapterBook::digest_of(Number adapter) {
  const auto found = digests_.find(adapter);
  if (found != digests_.end()) return found->second;
  const auto made = inference::small_adapter(inference::simulated_model(), adapter);
  return digests_.emplace(adapter, made->digest()).first->second;
}

std::uint64_t AdapterBook::set_of(const std::vector<Scaled>& adapters) {
  std::vector<control::ScaledAdapter> set;
  std::vector<Number> members;
  for (const Scaled& each : adapters) {
    if (each.scale == 0.0f) continue;
    set.push_back({digest_of(each.adapter), each.scale});
    members.push_back(each.adapter);
  }
  std::ranges::sort(set, {}, &control::ScaledAdapter::digest);
  const std::uint64_t digest = test::digest_of_set(set);
  sets_[digest] = std::move(members);
  return digest;
}

bool AdapterBook::has_all_of(const test::Content& content, std::uint32_t tenant,
                             std::uint32_t model) const {
  const auto is_loaded = [&](Number adapter) {
    return std::ranges::any_of(loaded_, [&](const auto& each) {
      const bool may_use = !each.first.tenant || each.first.tenant == tenant;
      return each.first.model == model && may_use && each.second == adapter;
    });
  };
  for (std::uint32_t slot = 0; slot <= content.length(); ++slot) {
    const std::uint64_t set = content.set_of(slot);
    if (set != 0 && !std::ranges::all_of(sets_.at(set), is_loaded)) return false;
  }
  return true;
}

}  // namespace quire::simulation
