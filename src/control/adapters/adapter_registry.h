#pragma once
// AdapterRegistry holds the adapters of all models of a server, by tenant and name.
//
// Owns     the names, and each adapter as long as it has one. A context holds its adapters too, so
//          one that is removed stays in memory, and in its tenant's account, while it is in use.
// Thread   any; a lock guards everything, and is not held while files are read.
// Errors   as AdapterCatalog says.
// Bound    ServerLimit::AdapterCountMax and AdapterBytesMax, of which each tenant has a share.
//
// Invariants, checked by verify():
//   AR1  A tenant's account has its named adapters, those that were removed and are in use, and
//        those that are being read.
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/server_limits.h"
#include "control/api/adapter_catalog.h"
#include "control/api/tenant_shares.h"
#include "inference/api/adapter_reader.h"

namespace quire::control {

struct AdapterRegistryOptions {
  std::uint64_t count_max = default_of<ServerLimit::AdapterCountMax>();  // Of all tenants.
  std::uint64_t bytes_max = default_of<ServerLimit::AdapterBytesMax>();
  std::uint32_t rank_max = inference::kAdapterRankMax;  // Of one adapter.
};

// A model that can have adapters. Null: it can have none.
struct AdapterModel {
  std::string name;
  const inference::AdapterReader* reader = nullptr;
};

class AdapterRegistry final : public AdapterCatalog {
 public:
  AdapterRegistry(std::vector<AdapterModel> models, const AdapterRegistryOptions& options);

  // The operator's word on one tenant.
  void set_quota(TenantId tenant, const AdapterQuota& quota);

  void set_several(bool are_several) override;
  bool is_open(ModelIndex model) const override;
  Result<ChosenAdaptersRef> choose(TenantId tenant, ModelIndex model,
                                   const std::vector<AdapterChoice>& choices) const override;
  std::shared_ptr<const inference::Adapter> find(TenantId tenant, ModelIndex model,
                                                 const Digest& digest) const override;
  std::vector<AdapterDescription> list(std::optional<TenantId> tenant,
                                       ModelIndex model) const override;
  Result<AdapterDescription> add(std::optional<TenantId> tenant, ModelIndex model,
                                 const std::string& name, const AdapterPath& path) override;
  Result<AdapterDescription> add(std::optional<TenantId> tenant, ModelIndex model,
                                 const std::string& name, AdapterUpload upload) override;
  Result<std::uint64_t> bytes_of(ModelIndex model, const AdapterPath& path) const override;
  Result<void> check_room(std::optional<TenantId> tenant, const std::string& name,
                          std::uint64_t bytes) override;
  Result<void> remove(std::optional<TenantId> tenant, ModelIndex model,
                      const std::string& name) override;
  AdapterCount count() const override;
  AdapterCount count_of(TenantId tenant) const override;
  AdapterQuota quota_of(TenantId tenant) const override;
  void verify() const;

 private:
  struct Key {
    ModelIndex model{};
    std::optional<TenantId> tenant;
    std::string name;
    auto operator<=>(const Key&) const = default;
  };
  struct Entry {
    std::shared_ptr<const inference::Adapter> adapter;
    std::string source;
    ChosenAdaptersRef alone;  // With the scale 1: one set for all who choose just that.
    bool is_in_use() const { return alone.use_count() > 1 || adapter.use_count() > 2; }
  };
  // Removed, and perhaps in use.
  struct Leaving {
    std::optional<TenantId> tenant;
    std::weak_ptr<const inference::Adapter> adapter;
    std::uint64_t bytes = 0;
  };
  using Read = std::function<Result<std::shared_ptr<const inference::Adapter>>(
      const inference::AdapterReader&, const inference::AdapterLimits&)>;

  Result<void> check_name(const std::string& name) const;
  Result<AdapterDescription> add_read(const Key& key, const std::string& source, const Read& read);
  Result<const inference::AdapterReader*> reader_of(ModelIndex model) const;
  Result<inference::AdapterLimits> begin(const Key& key);  // Under the lock, as all below.
  Result<AdapterDescription> finish(const Key& key, const std::string& source,
                                    std::shared_ptr<const inference::Adapter> adapter);
  void take(std::optional<TenantId> tenant, std::uint64_t count, std::uint64_t bytes);
  void give(std::optional<TenantId> tenant, std::uint64_t count, std::uint64_t bytes);
  void sweep();
  const Entry* find_name(TenantId tenant, ModelIndex model, const std::string& name) const;
  Error unknown(ModelIndex model, const std::string& name,
                const std::vector<AdapterDescription>& known) const;
  Result<void> check_count(TenantId tenant, const std::string& name) const;
  Result<void> check_bytes(TenantId tenant, const std::string& name, std::uint64_t bytes) const;
  AdapterDescription describe(const Key& key, const Entry& entry) const;
  std::vector<AdapterDescription> list_locked(std::optional<TenantId> tenant,
                                              ModelIndex model) const;

  const std::vector<AdapterModel> models_;
  const AdapterRegistryOptions options_;
  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
  std::vector<Leaving> leaving_;
  TenantShares counts_;
  TenantShares bytes_;
  std::map<TenantId, AdapterQuota> quotas_;           // Of those that the operator gave one.
  std::map<TenantId, std::uint64_t> reading_counts_;  // Of adds under way.
};

}  // namespace quire::control
