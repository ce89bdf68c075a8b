#include "control/adapters/adapter_registry.h"

#include <algorithm>

#include "base/check.h"
#include "base/utf8.h"
#include "control/contexts/chosen_adapters.h"

namespace quire::control {

AdapterRegistry::AdapterRegistry(std::vector<AdapterModel> models,
                                 const AdapterRegistryOptions& options)
    : models_(std::move(models)),
      options_(options),
      counts_(options.count_max),
      bytes_(options.bytes_max) {}

void AdapterRegistry::set_quota(TenantId tenant, const AdapterQuota& quota) {
  const std::lock_guard lock(mutex_);
  if (quota.count_max) counts_.set_share(tenant, *quota.count_max);
  if (quota.bytes_max) bytes_.set_share(tenant, *quota.bytes_max);
  AdapterQuota& known = quotas_[tenant];
  if (quota.count_max) known.count_max = quota.count_max;
  if (quota.bytes_max) known.bytes_max = quota.bytes_max;
  if (quota.rank_max) known.rank_max = quota.rank_max;
}

void AdapterRegistry::set_several(bool are_several) {
  const std::lock_guard lock(mutex_);
  counts_.set_several(are_several);
  bytes_.set_several(are_several);
}

bool AdapterRegistry::is_open(ModelIndex model) const {
  return models_.at(static_cast<std::size_t>(model)).reader != nullptr;
}

Result<const inference::AdapterReader*> AdapterRegistry::reader_of(ModelIndex model) const {
  const AdapterModel& entry = models_.at(static_cast<std::size_t>(model));
  if (entry.reader != nullptr) return entry.reader;
  return Error(ErrorCode::NotSupported, "model " + entry.name + " takes no adapters");
}

const AdapterRegistry::Entry* AdapterRegistry::find_name(TenantId tenant, ModelIndex model,
                                                         const std::string& name) const {
  auto found = entries_.find({model, tenant, name});
  if (found == entries_.end()) found = entries_.find({model, std::nullopt, name});
  return found == entries_.end() ? nullptr : &found->second;
}

Error AdapterRegistry::unknown(ModelIndex model, const std::string& name,
                               const std::vector<AdapterDescription>& known) const {
  std::string names;
  for (const AdapterDescription& each : known) names += (names.empty() ? "" : ", ") + each.name;
  return Error(ErrorCode::NotFound, "model " + models_.at(static_cast<std::size_t>(model)).name +
                                        " has no adapter named " + in_quotes(name) +
                                        (names.empty() ? "; it has none" : "; it has: " + names));
}

Result<ChosenAdaptersRef> AdapterRegistry::choose(TenantId tenant, ModelIndex model,
                                                  const std::vector<AdapterChoice>& choices) const {
  TRY(reader_of(model));
  std::vector<ChosenAdapter> chosen;
  {
    const std::lock_guard lock(mutex_);
    for (const AdapterChoice& choice : choices) {
      const Entry* entry = find_name(tenant, model, choice.name);
      if (entry == nullptr) return unknown(model, choice.name, list_locked(tenant, model));
      if (choices.size() == 1 && choice.scale == 1.0f) return entry->alone;
      chosen.push_back({.name = choice.name, .adapter = entry->adapter, .scale = choice.scale});
    }
  }
  return make_chosen_adapters(std::move(chosen));
}

AdapterDescription AdapterRegistry::describe(const Key& key, const Entry& entry) const {
  const inference::Adapter& adapter = *entry.adapter;
  return {.name = key.name,
          .tenant = key.tenant,
          .model = key.model,
          .digest = adapter.digest(),
          .rank_max = adapter.rank_max(),
          .parameter_count = adapter.parameter_count(),
          .bytes = adapter.bytes(),
          .source = entry.source,
          .is_in_use = entry.is_in_use()};
}

std::vector<AdapterDescription> AdapterRegistry::list_locked(std::optional<TenantId> tenant,
                                                             ModelIndex model) const {
  std::map<std::string, AdapterDescription> found;
  for (const auto& [key, entry] : entries_) {
    if (key.model != model || (key.tenant && key.tenant != tenant)) continue;
    // The server's come first in the order of keys, and give way to the tenant's.
    found.insert_or_assign(key.name, describe(key, entry));
  }
  std::vector<AdapterDescription> all;
  for (auto& [name, description] : found) all.push_back(std::move(description));
  return all;
}

std::vector<AdapterDescription> AdapterRegistry::list(std::optional<TenantId> tenant,
                                                      ModelIndex model) const {
  const std::lock_guard lock(mutex_);
  return list_locked(tenant, model);
}

void AdapterRegistry::take(std::optional<TenantId> tenant, std::uint64_t count,
                           std::uint64_t bytes) {
  if (!tenant) return;
  counts_.take(*tenant, count);
  bytes_.take(*tenant, bytes);
}

void AdapterRegistry::give(std::optional<TenantId> tenant, std::uint64_t count,
                           std::uint64_t bytes) {
  if (!tenant) return;
  counts_.give(*tenant, count);
  bytes_.give(*tenant, bytes);
}

// An adapter that was removed leaves the account when its last user lets it go.
void AdapterRegistry::sweep() {
  std::erase_if(leaving_, [this](const Leaving& each) {
    if (!each.adapter.expired()) return false;
    give(each.tenant, 1, each.bytes);
    return true;
  });
}

Result<void> AdapterRegistry::check_count(TenantId tenant, const std::string& name) const {
  if (counts_.may_take(tenant, 1)) return {};
  return Error(ErrorCode::QuotaExceeded,
               "adapter_count_max: adapter " + name + ": " +
                   std::to_string(counts_.count_of(tenant)) +
                   " adapters of the tenant are loaded or in use, and it may have " +
                   std::to_string(counts_.share_of(tenant)) + "; remove one");
}

Result<void> AdapterRegistry::check_bytes(TenantId tenant, const std::string& name,
                                          std::uint64_t bytes) const {
  if (bytes_.may_take(tenant, bytes)) return {};
  return Error(ErrorCode::QuotaExceeded,
               "adapter_bytes_max: adapter " + name + " takes " + std::to_string(bytes) +
                   " bytes; " + std::to_string(bytes_.count_of(tenant)) +
                   " of the tenant's are taken, and it may have " +
                   std::to_string(bytes_.share_of(tenant)) + "; remove one");
}

Result<void> AdapterRegistry::check_room(std::optional<TenantId> tenant, const std::string& name,
                                         std::uint64_t bytes) {
  TRY(check_name(name));
  if (!tenant) return {};
  const std::lock_guard lock(mutex_);
  sweep();
  TRY(check_count(*tenant, name));
  return check_bytes(*tenant, name, bytes);
}

// A place for one more, and what it may be.
Result<inference::AdapterLimits> AdapterRegistry::begin(const Key& key) {
  inference::AdapterLimits limits{.rank_max = options_.rank_max, .bytes_max = options_.bytes_max};
  if (!key.tenant) return limits;
  sweep();
  TRY(check_count(*key.tenant, key.name));
  const auto quota = quotas_.find(*key.tenant);
  if (quota != quotas_.end()) {
    limits.rank_max = std::min(limits.rank_max, quota->second.rank_max.value_or(limits.rank_max));
  }
  const std::uint64_t share = bytes_.share_of(*key.tenant);
  limits.bytes_max = share - std::min(share, bytes_.count_of(*key.tenant));
  counts_.take(*key.tenant, 1);
  ++reading_counts_[*key.tenant];
  return limits;
}

Result<AdapterDescription> AdapterRegistry::finish(
    const Key& key, const std::string& source, std::shared_ptr<const inference::Adapter> adapter) {
  const auto existing = entries_.find(key);
  if (existing != entries_.end()) {
    if (existing->second.adapter->digest() == adapter->digest()) {
      return describe(key, existing->second);
    }
    return Error(ErrorCode::AlreadyExists,
                 "another adapter is named " + key.name + " (digest " +
                     hex(existing->second.adapter->digest()).substr(0, 16) +
                     "); remove it first, or give this one another name");
  }
  const std::uint64_t bytes = adapter->bytes();
  if (key.tenant) TRY(check_bytes(*key.tenant, key.name, bytes));
  ChosenAdaptersRef alone =
      TRY(make_chosen_adapters({{.name = key.name, .adapter = adapter, .scale = 1.0f}}));
  take(key.tenant, 1, bytes);
  const auto made =
      entries_.emplace(key, Entry{std::move(adapter), source, std::move(alone)}).first;
  return describe(key, made->second);
}

// Clients ask for models and for adapters by one member of a request.
Result<void> AdapterRegistry::check_name(const std::string& name) const {
  TRY(check_adapter_name(name));
  const auto found = std::ranges::find(models_, name, &AdapterModel::name);
  if (found == models_.end()) return {};
  return Error(ErrorCode::AlreadyExists,
               name + " is the name of a model of this server: give the adapter another name");
}

Result<AdapterDescription> AdapterRegistry::add_read(const Key& key, const std::string& source,
                                                     const Read& read) {
  TRY(check_name(key.name));
  const inference::AdapterReader& reader = *TRY(reader_of(key.model));
  inference::AdapterLimits limits;
  {
    const std::lock_guard lock(mutex_);
    limits = TRY(begin(key));
  }
  Result<std::shared_ptr<const inference::Adapter>> adapter = read(reader, limits);
  const std::lock_guard lock(mutex_);
  if (key.tenant) {  // finish() takes the place again, for an adapter.
    counts_.give(*key.tenant, 1);
    if (--reading_counts_[*key.tenant] == 0) reading_counts_.erase(*key.tenant);
  }
  if (!adapter.ok()) return std::move(adapter).take_error();
  return finish(key, source, std::move(adapter).take());
}

Result<std::uint64_t> AdapterRegistry::bytes_of(ModelIndex model, const AdapterPath& path) const {
  return TRY(reader_of(model))->bytes_of({.path = path.path, .beneath = path.beneath});
}

Result<AdapterDescription> AdapterRegistry::add(std::optional<TenantId> tenant, ModelIndex model,
                                                const std::string& name, const AdapterPath& path) {
  return add_read({model, tenant, name}, path.path,
                  [&](const inference::AdapterReader& reader, const auto& limits) {
                    return reader.read({.path = path.path, .beneath = path.beneath}, limits);
                  });
}

Result<AdapterDescription> AdapterRegistry::add(std::optional<TenantId> tenant, ModelIndex model,
                                                const std::string& name, AdapterUpload upload) {
  return add_read({model, tenant, name}, "upload",
                  [&](const inference::AdapterReader& reader, const auto& limits) {
                    std::vector<inference::AdapterFile> files;
                    for (AdapterUpload::File& file : upload.files) {
                      files.push_back({std::move(file.name), std::move(file.bytes)});
                    }
                    return reader.read(std::move(files), limits);
                  });
}

Result<void> AdapterRegistry::remove(std::optional<TenantId> tenant, ModelIndex model,
                                     const std::string& name) {
  TRY(reader_of(model));
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find({model, tenant, name});
  if (found == entries_.end()) {
    std::vector<AdapterDescription> own = list_locked(tenant, model);
    std::erase_if(own, [&](const AdapterDescription& each) { return each.tenant != tenant; });
    if (!entries_.contains({model, std::nullopt, name})) return unknown(model, name, own);
    return Error(ErrorCode::NotFound, "adapter " + name +
                                          " is the server's; only a key that may operate removes "
                                          "it");
  }
  const std::uint64_t bytes = found->second.adapter->bytes();
  leaving_.push_back({tenant, found->second.adapter, bytes});
  entries_.erase(found);
  sweep();
  return {};
}

std::shared_ptr<const inference::Adapter> AdapterRegistry::find(TenantId tenant, ModelIndex model,
                                                                const Digest& digest) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, entry] : entries_) {
    const bool may_use = !key.tenant || key.tenant == tenant;
    if (key.model == model && may_use && entry.adapter->digest() == digest) return entry.adapter;
  }
  return nullptr;
}

AdapterCount AdapterRegistry::count() const {
  const std::lock_guard lock(mutex_);
  AdapterCount all;
  for (const auto& [key, entry] : entries_) {
    ++all.count;
    all.bytes += entry.adapter->bytes();
  }
  for (const Leaving& each : leaving_) {
    if (each.adapter.expired()) continue;
    ++all.count;
    all.bytes += each.bytes;
  }
  return all;
}

AdapterCount AdapterRegistry::count_of(TenantId tenant) const {
  const std::lock_guard lock(mutex_);
  AdapterCount own{counts_.count_of(tenant), bytes_.count_of(tenant)};
  // An adapter whose last user went is in the account until the tenant adds or removes one.
  for (const Leaving& each : leaving_) {
    if (each.tenant != tenant || !each.adapter.expired()) continue;
    --own.count;
    own.bytes -= each.bytes;
  }
  return own;
}

AdapterQuota AdapterRegistry::quota_of(TenantId tenant) const {
  const std::lock_guard lock(mutex_);
  const auto found = quotas_.find(tenant);
  return found == quotas_.end() ? AdapterQuota{} : found->second;
}

void AdapterRegistry::verify() const {
  const std::lock_guard lock(mutex_);
  std::map<TenantId, std::uint64_t> counts = reading_counts_;
  std::map<TenantId, std::uint64_t> bytes;
  for (const auto& [key, entry] : entries_) {
    if (!key.tenant) continue;
    ++counts[*key.tenant];
    bytes[*key.tenant] += entry.adapter->bytes();
  }
  for (const Leaving& each : leaving_) {
    if (!each.tenant) continue;
    ++counts[*each.tenant];
    bytes[*each.tenant] += each.bytes;
  }
  QUIRE_CHECK(counts == counts_.counts() && bytes == bytes_.counts(), "AR1");
}

}  // namespace quire::control
