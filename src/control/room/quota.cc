#include "control/room/quota.h"

#include <algorithm>
#include <string>

#include "control/contexts/away_pages.h"

namespace quire::control {

Result<void> Quota::may_hold(Instance& instance, std::uint32_t count,
                             const Context* returning) const {
  if (count == 0) return {};
  ModelResources& resources = replica_.resources;
  PageLedger& ledger = replica_.ledger(instance);
  const std::uint32_t given_up = returning == nullptr ? 0 : away_page_count(*returning);
  const std::uint32_t quota = of(instance);
  // Forks that shared a page are to have one each, which may be more than went.
  const std::uint64_t held = ledger.page_count() + coming_page_count(ledger, resources, returning);
  if (held + count > quota) return beyond(instance, count);
  if (count <= given_up) return {};
  const std::uint32_t more = count - given_up;
  const std::uint32_t enough = quota - std::min(quota, more);
  const PageCharge charge = charge_of(ledger, resources, enough);
  if (more <= quota && charge.page_count <= enough) return {};
  if (returning != nullptr) {
    const std::uint32_t known = counted_ahead(*returning, charge);
    if (more <= known || std::uint64_t{charge.page_count} + more - known <= quota) return {};
  }
  return beyond(instance, more);
}

Result<void> Quota::may_find(Instance& instance, NodeId node) const {
  PageLedger& ledger = replica_.ledger(instance);
  if (ledger.holds(replica_.resources.cache.page_of(node))) return {};
  const std::uint32_t quota = of(instance);
  const PageCharge charge = charge_of(ledger, replica_.resources, quota - std::min(quota, 1u));
  if (charge.page_count < quota || charge.counts(node)) return {};
  return beyond(instance, 1);
}

Result<void> Quota::may_compute(Instance& instance, std::uint64_t count) {
  std::uint64_t& metered = instance.statistics.metered_token_count;
  const std::uint64_t maximum = instance.limits.token_count_max;
  if (metered + count > maximum) {
    return Error(ErrorCode::QuotaExceeded, "token_count_max: " + std::to_string(count) +
                                               " more wanted, " + std::to_string(metered) + " of " +
                                               instance.limits.token_limit().text("used"));
  }
  metered += count;
  return {};
}

std::uint64_t Quota::computable_count(const Instance& instance) {
  const std::uint64_t maximum = instance.limits.token_count_max;
  return maximum - std::min(maximum, instance.statistics.metered_token_count);
}

void Quota::note_computed(Instance& instance, std::uint64_t count) {
  instance.statistics.metered_token_count += count;
}

std::uint32_t Quota::of(Instance& instance) const {
  const std::uint32_t quota = own(instance);
  const TenantPages& tenant = *instance.tenant_pages;
  const std::uint64_t maximum = tenant.options.page_count_max;
  if (maximum == kNoPageCountMax) return quota;
  const std::uint64_t left = maximum - std::min(maximum, tenant.page_count);
  // The common case, in which the suspended pages need not be counted.
  if (quota <= replica_.ledger(instance).page_count() + left) return quota;
  const std::uint64_t held = charge_of(replica_.ledger(instance), replica_.resources, 0).page_count;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(quota, held + left));
}

std::uint32_t Quota::own(Instance& instance) const {
  const std::uint32_t maximum = instance.limits.page_count_max;
  std::uint64_t elsewhere = 0;
  for (ReplicaShare& of : instance.of_replica) {
    PageLedger& each = of.ledger;
    if (&each == &replica_.ledger(instance)) continue;
    elsewhere += each.away().empty()
                     ? each.page_count()
                     : charge_of(each, *each.away().front()->owner().resources, 0).page_count;
  }
  return maximum - static_cast<std::uint32_t>(std::min<std::uint64_t>(maximum, elsewhere));
}

Error Quota::beyond(Instance& instance, std::uint32_t count) const {
  PageLedger& ledger = replica_.ledger(instance);
  const std::uint32_t held = ledger.page_count();
  const std::uint32_t away = charge_of(ledger, replica_.resources, 0).page_count - held;
  const std::uint32_t maximum = instance.limits.page_count_max;
  const std::uint32_t own_quota = own(instance);
  if (of(instance) < own_quota) return beyond_tenant(instance, count);
  const std::uint32_t elsewhere = maximum - own_quota;
  std::string message = "page_count_max: " + std::to_string(count) + " more wanted, " +
                        std::to_string(held) + " of " + instance.limits.page_limit().text("held");
  if (elsewhere > 0) message += ", " + std::to_string(elsewhere) + " of other models";
  if (away > 0) message += ", " + std::to_string(away) + " of suspended contexts to come back";
  return Error(ErrorCode::QuotaExceeded, std::move(message));
}

Error Quota::beyond_tenant(const Instance& instance, std::uint32_t count) const {
  const TenantPages& tenant = *instance.tenant_pages;
  return Error(ErrorCode::QuotaExceeded,
               "tenant " + std::to_string(static_cast<std::uint32_t>(instance.tenant)) +
                   ": page_count_max: " + std::to_string(count) + " more wanted, its " +
                   std::to_string(tenant.instance_count) + " programs hold " +
                   std::to_string(tenant.page_count) + " of " +
                   std::to_string(tenant.options.page_count_max) +
                   "; release some, or wait until another one ends");
}

}  // namespace quire::control
