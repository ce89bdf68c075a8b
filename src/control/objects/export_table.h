#pragma once
// ExportTable: pages that programs left under a name, for other programs to import.
//
// An export belongs to a tenant and to no instance: it holds its pages until it is unexported.
// Names are a tenant's own; a public one can be imported by all, where they have no export of their
// own by that name.
//
// Owns     the exports. Their pages are objects of the OperationTable that no instance knows; they
//          hold what they stand for, outside every ledger, and are all shared.
// Thread   engine thread only.
// Errors   NotFound, AlreadyExists; QuotaExceeded names the limit.
//
// Invariants, checked by verify():
//   E1  The figures of a tenant are the sums over its exports, and so are those of a tenant with a
//       replica. A replica's exports of all tenants are within their limit.
//   E2  A public name leads to the one public export that has it.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "control/api/tenant_shares.h"
#include "control/objects/instance.h"

namespace quire::control {

struct PageExport {
  TenantId tenant{};
  std::string name;
  bool is_public = false;
  Replica* replica = nullptr;
  std::vector<PageObject*> pages;
};

class ExportTable {
 public:
  // Exports of all tenants together pin at most this part of a replica's pool: nothing evicts them.
  // Each tenant has a share of it (tenant_shares.h). The share shrinks when another tenant exports;
  // pages that were within it when they were exported stay.
  static constexpr std::uint32_t kPoolPartMax = 2;  // One half.

  // Whether an export of `page_count` more pages may be made, with a pool of `pool_page_count`.
  Result<void> check_new(const PageExport& wanted, std::uint32_t page_count,
                         const InstanceLimits& limits, std::uint32_t pool_page_count) const;
  // Requires: check_new(), of the same pool.
  void add(PageExport made, std::uint32_t pool_page_count);
  // The tenant's own, else a public one.
  Result<const PageExport*> find(TenantId tenant, std::string_view name) const;
  // The tenant's own, which is no more; the caller gives its pages back.
  Result<PageExport> take(TenantId tenant, std::string_view name);

  // The tenant's own by name, then the public ones of other tenants, by name.
  std::vector<const PageExport*> visible_to(TenantId tenant) const;
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [key, each] : all_) visit(each);
  }
  struct Figures {
    std::uint32_t export_count = 0;
    std::uint64_t page_count = 0;
    bool operator==(const Figures&) const = default;
  };
  Figures figures(TenantId tenant) const;  // Of its own.
  void verify() const;

 private:
  using Key = std::pair<TenantId, std::string>;
  using OfTenants = std::map<TenantId, Figures>;
  using OfReplicas = std::map<const Replica*, TenantShares>;  // Pages.

  std::map<Key, PageExport> all_;
  std::map<std::string, TenantId, std::less<>> public_;
  OfTenants of_tenants_;
  OfReplicas of_replicas_;
};

}  // namespace quire::control
