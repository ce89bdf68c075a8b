#include "control/objects/export_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace quire::control {
namespace {

Error beyond(const char* limit, std::uint64_t wanted, std::uint64_t held, std::uint64_t maximum) {
  return Error(ErrorCode::QuotaExceeded, std::string(limit) + ": " + std::to_string(wanted) +
                                             " more wanted, " + std::to_string(held) + " of " +
                                             std::to_string(maximum) + " exported");
}

template <typename Map>
auto figure_of(const Map& figures, const typename Map::key_type& key) {
  const auto found = figures.find(key);
  return found == figures.end() ? typename Map::mapped_type{} : found->second;
}

// At least two, so that there is a share of one page in the smallest pool.
std::uint64_t pinned_count_max(std::uint32_t pool_page_count) {
  return std::max(pool_page_count / ExportTable::kPoolPartMax, 2u);
}

Error no_such(std::string_view name) {
  return Error(ErrorCode::NotFound, "no export \"" + std::string(name) + "\"");
}

}  // namespace

Result<void> ExportTable::check_new(const PageExport& wanted, std::uint32_t page_count,
                                    const InstanceLimits& limits,
                                    std::uint32_t pool_page_count) const {
  const bool is_taken = all_.contains(Key(wanted.tenant, wanted.name)) ||
                        (wanted.is_public && public_.contains(wanted.name));
  if (is_taken) {
    return Error(ErrorCode::AlreadyExists, "export \"" + wanted.name + "\" exists");
  }
  const Figures held = figures(wanted.tenant);
  if (held.export_count >= limits.export_count_max) {
    return beyond("export_count_max", 1, held.export_count, limits.export_count_max);
  }
  if (held.page_count + page_count > limits.export_page_count_max) {
    return beyond("export_page_count_max", page_count, held.page_count,
                  limits.export_page_count_max);
  }
  const std::uint64_t pinned_max = pinned_count_max(pool_page_count);
  const auto found = of_replicas_.find(wanted.replica);
  const TenantShares none(pinned_max);
  const TenantShares& pinned = found == of_replicas_.end() ? none : found->second;
  if (pinned.may_take(wanted.tenant, page_count)) return {};
  // The message leaves out the present share, which would disclose the exports of other tenants.
  return Error(ErrorCode::QuotaExceeded,
               "export_pool_page_count_max: " + std::to_string(page_count) + " more wanted, " +
                   std::to_string(pinned.count_of(wanted.tenant)) + " exported, of " +
                   std::to_string(pinned_max) + " that all tenants share");
}

void ExportTable::add(PageExport made, std::uint32_t pool_page_count) {
  Figures& figures = of_tenants_[made.tenant];
  ++figures.export_count;
  figures.page_count += made.pages.size();
  TenantShares& pinned =
      of_replicas_.try_emplace(made.replica, pinned_count_max(pool_page_count)).first->second;
  pinned.take(made.tenant, made.pages.size());
  if (made.is_public) public_.emplace(made.name, made.tenant);
  Key key(made.tenant, made.name);
  const bool is_new = all_.emplace(std::move(key), std::move(made)).second;
  QUIRE_CHECK(is_new, "exported twice under one name");
}

ExportTable::Figures ExportTable::figures(TenantId tenant) const {
  return figure_of(of_tenants_, tenant);
}

Result<const PageExport*> ExportTable::find(TenantId tenant, std::string_view name) const {
  if (const auto own = all_.find(Key(tenant, name)); own != all_.end()) return &own->second;
  if (const auto of_all = public_.find(name); of_all != public_.end()) {
    return &all_.at(Key(of_all->second, name));
  }
  return no_such(name);
}

Result<PageExport> ExportTable::take(TenantId tenant, std::string_view name) {
  const auto found = all_.find(Key(tenant, name));
  if (found == all_.end()) return no_such(name);
  PageExport taken = std::move(found->second);
  all_.erase(found);
  if (taken.is_public) public_.erase(public_.find(taken.name));
  Figures& figures = of_tenants_.at(tenant);
  --figures.export_count;
  figures.page_count -= taken.pages.size();
  if (figures == Figures{}) of_tenants_.erase(tenant);
  of_replicas_.at(taken.replica).give(tenant, taken.pages.size());
  return taken;
}

std::vector<const PageExport*> ExportTable::visible_to(TenantId tenant) const {
  std::vector<const PageExport*> visible;
  for (auto own = all_.lower_bound(Key(tenant, "")); own != all_.end(); ++own) {
    if (own->first.first != tenant) break;
    visible.push_back(&own->second);
  }
  for (const auto& [name, owner] : public_) {
    if (owner != tenant) visible.push_back(&all_.at(Key(owner, name)));
  }
  return visible;
}

void ExportTable::verify() const {
  OfTenants of_tenants;
  OfReplicas of_replicas;
  for (const auto& [model, pinned] : of_replicas_) {
    of_replicas.try_emplace(model, pinned.count_max());
  }
  std::size_t public_count = 0;
  for (const auto& [key, each] : all_) {
    QUIRE_CHECK(key == Key(each.tenant, each.name), "E1");
    Figures& figures = of_tenants[each.tenant];
    ++figures.export_count;
    figures.page_count += each.pages.size();
    const auto pinned = of_replicas.find(each.replica);
    QUIRE_CHECK(pinned != of_replicas.end(), "E1");
    pinned->second.take(each.tenant, each.pages.size());
    for (const PageObject* page : each.pages) {
      QUIRE_CHECK(page->is_shared && page->replica == each.replica, "an export's page is written");
    }
    if (!each.is_public) continue;
    ++public_count;
    const auto named = public_.find(each.name);
    QUIRE_CHECK(named != public_.end() && named->second == each.tenant, "E2");
  }
  QUIRE_CHECK(of_tenants == of_tenants_ && of_replicas == of_replicas_, "E1");
  QUIRE_CHECK(public_count == public_.size(), "E2");
}

}  // namespace quire::control
