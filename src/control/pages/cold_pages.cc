#include "control/pages/cold_pages.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/planted_fault.h"

namespace quire::control {
namespace {

constexpr std::uint32_t kKeptShare = 2;  // One page in so many of a tenant's share may be kept.

}  // namespace

ColdPages::ColdPages(const EvictionPolicyOptions& options)
    : policy_(make_eviction_policy(options)),
      queue_count_(policy_->queue_count()),
      entries_(options.entry_count),
      keeps_(options.entry_count) {
  QUIRE_CHECK(queue_count_ <= kQueueCountMax, "a set of queues is one word");
}

// ---- tenants ----------------------------------------------------------------------------------

void ColdPages::set_weight(TenantId tenant, std::uint32_t weight) {
  QUIRE_CHECK(weight > 0, "a share is more than nothing");
  weight_by_id_[static_cast<std::uint32_t>(tenant)] = weight;
  const auto found = tenant_by_id_.find(static_cast<std::uint32_t>(tenant));
  if (found == tenant_by_id_.end()) return;
  weight_sum_ += weight;
  weight_sum_ -= tenants_[found->second].weight;
  tenants_[found->second].weight = weight;
  for (std::uint32_t phase = 0; phase < kPhaseCount; ++phase) update_heaps(found->second, phase);
}

std::uint32_t ColdPages::weight_of(TenantId tenant) const {
  const auto found = weight_by_id_.find(static_cast<std::uint32_t>(tenant));
  return found == weight_by_id_.end() ? 1 : found->second;
}

std::uint32_t ColdPages::tenant_index(TenantId tenant) {
  const auto id = static_cast<std::uint32_t>(tenant);
  const auto found = tenant_by_id_.find(id);
  if (found != tenant_by_id_.end()) return found->second;
  auto index = static_cast<std::uint32_t>(tenants_.size());
  if (free_tenants_.empty()) {
    tenants_.emplace_back();
  } else {
    index = free_tenants_.back();
    free_tenants_.pop_back();
  }
  Tenant& one = tenants_[index];
  one.id = tenant;
  one.weight = weight_of(tenant);
  one.queues.resize(std::size_t{kTierCount} * queue_count_);
  weight_sum_ += one.weight;
  tenant_by_id_.emplace(id, index);
  return index;
}

void ColdPages::charge(std::uint32_t tenant, bool is_more) {
  Tenant& one = tenants_[tenant];
  one.page_count += is_more ? 1u : -1u;
  for (std::uint32_t phase = 0; phase < kPhaseCount; ++phase) {
    if (most_above_[phase].has(tenant)) {
      most_above_[phase].put(tenant, one.page_count, one.weight);
    }
  }
  if (one.page_count > 0) return;
  weight_sum_ -= one.weight;
  tenant_by_id_.erase(static_cast<std::uint32_t>(one.id));
  free_tenants_.push_back(tenant);
}

void ColdPages::update_heaps(std::uint32_t tenant, std::uint32_t phase) {
  const Tenant& one = tenants_[tenant];
  std::uint64_t in_use = 0;
  for (std::uint32_t tier = 0; tier < kTierCount; ++tier) {
    if (phase_of(tier) == phase) in_use |= one.queues_in_use[tier];
  }
  if (in_use != 0) {
    most_above_[phase].put(tenant, one.page_count, one.weight);
  } else if (most_above_[phase].has(tenant)) {
    most_above_[phase].erase(tenant);
  }
}

std::uint32_t ColdPages::page_count_of(TenantId tenant) const {
  const auto found = tenant_by_id_.find(static_cast<std::uint32_t>(tenant));
  return found == tenant_by_id_.end() ? 0 : tenants_[found->second].page_count;
}

std::uint32_t ColdPages::kept_count_of(TenantId tenant) const {
  const auto found = tenant_by_id_.find(static_cast<std::uint32_t>(tenant));
  return found == tenant_by_id_.end() ? 0 : tenants_[found->second].kept_count;
}

// ---- queues -----------------------------------------------------------------------------------

ColdPages::Queue& ColdPages::queue_of(const Entry& one) {
  return tenants_[one.tenant].queues[one.tier * queue_count_ + one.queue];
}

void ColdPages::push_newest(EntryId entry) {
  Entry& one = at(entry);
  Queue& queue = queue_of(one);
  one.place = Place::Queued;
  one.older = queue.newest;
  one.newer = kNoEntry;
  (queue.newest == kNoEntry ? queue.oldest : at(queue.newest).newer) = entry;
  queue.newest = entry;
  if (queue.count++ > 0) return;
  tenants_[one.tenant].queues_in_use[one.tier] |= std::uint64_t{1} << one.queue;
  update_heaps(one.tenant, phase_of(one.tier));
}

void ColdPages::push_oldest(EntryId entry) {
  Entry& one = at(entry);
  Queue& queue = queue_of(one);
  if (queue.count == 0) return push_newest(entry);
  one.place = Place::Queued;
  one.newer = queue.oldest;
  one.older = kNoEntry;
  at(queue.oldest).older = entry;
  queue.oldest = entry;
  ++queue.count;
}

void ColdPages::pull_out(EntryId entry) {
  Entry& one = at(entry);
  Queue& queue = queue_of(one);
  (one.older == kNoEntry ? queue.oldest : at(one.older).newer) = one.newer;
  (one.newer == kNoEntry ? queue.newest : at(one.newer).older) = one.older;
  one.older = one.newer = kNoEntry;
  one.place = Place::None;
  if (--queue.count > 0) return;
  tenants_[one.tenant].queues_in_use[one.tier] &= ~(std::uint64_t{1} << one.queue);
  update_heaps(one.tenant, phase_of(one.tier));
}

void ColdPages::unplace(EntryId entry) {
  if (at(entry).place == Place::Queued) pull_out(entry);
  at(entry).place = Place::None;  // A fenced entry's id stays in fenced_, and is skipped.
}

// ---- the life of an entry ---------------------------------------------------------------------

EntryId ColdPages::parent_of(EntryId entry) const {
  const Entry& one = at(entry);
  if (one.parent == kNoEntry || at(one.parent).life != one.parent_life) return kNoEntry;
  return one.parent;
}

void ColdPages::leave_parent(Entry& one) {
  if (one.parent == kNoEntry || at(one.parent).life != one.parent_life) return;
  Entry& parent = at(one.parent);
  --parent.cold_child_count;
  if (parent.cold_child_count == 0 && parent.place == Place::Blocked) push_oldest(one.parent);
}

void ColdPages::insert(EntryId entry, const NewEntry& description) {
  Entry& one = at(entry);
  QUIRE_CHECK(one.state == State::Absent, "inserted twice");
  const std::uint32_t life = one.life;
  one = {};
  one.life = life;
  one.state = State::Held;
  one.parent = description.parent;
  one.depth = description.depth;
  one.tenant = tenant_index(description.tenant);
  if (description.parent != kNoEntry) {
    Entry& parent = at(description.parent);
    QUIRE_CHECK(parent.state != State::Absent, "below a page that is not here");
    one.parent_life = parent.life;
    one.depth = parent.depth + 1;
    parent.has_branched = parent.has_branched || parent.had_children;
    parent.had_children = true;
  }
  charge(one.tenant, true);
  policy_->inserted(entry, description.content_hash);
}

ColdPages::Tier ColdPages::tier_of(Entry& one, const ColdHint& hint) const {
  const Tenant& tenant = tenants_[one.tenant];
  if (hint.hint == EvictionHint::SharedPrefix) one.is_shared_prefix = true;
  switch (hint.hint) {
    case EvictionHint::Keep:
      if (std::uint64_t{tenant.kept_count} * kKeptShare * weight_sum_ <
          std::uint64_t{tenant.weight} * entries_.size()) {
        return kKept;
      }
      return kResume;
    case EvictionHint::WillResume:
    case EvictionHint::SharedPrefix:
      return kResume;
    case EvictionHint::Done:
      if (!one.is_shared_prefix && !one.has_branched) return kDone;
      break;
    case EvictionHint::None:
      break;
  }
  return one.is_shared_prefix ? kResume : kPlain;
}

void ColdPages::go_cold(EntryId entry, const ColdHint& hint, std::uint64_t now_ns) {
  Entry& one = at(entry);
  QUIRE_CHECK(one.state == State::Held, "only a held entry turns cold");
  if (hint.hint == EvictionHint::Keep) end_keeps(now_ns);
  one.state = State::Cold;
  ++cold_count_;
  const bool is_tail = one.chain_page_count == 0;
  if (is_tail) one.chain_page_count = one.depth + 1;
  one.parent = parent_of(entry);
  if (one.parent != kNoEntry) {
    Entry& parent = at(one.parent);
    ++parent.cold_child_count;
    parent.chain_page_count = std::max(parent.chain_page_count, one.chain_page_count);
  }
  const std::uint32_t queue =
      policy_->gone_cold(entry, {.chain_page_count = one.chain_page_count, .is_tail = is_tail});
  QUIRE_CHECK(queue < queue_count_, "a policy names one of its queues");
  const Tier tier = tier_of(one, hint);
  const bool is_at_home = one.tier == tier && one.queue == queue;
  if (one.place == Place::Queued && !is_at_home) pull_out(entry);
  const bool goes_to_head = one.returns_to_head && is_at_home;
  one.returns_to_head = false;
  one.tier = tier;
  one.queue = static_cast<std::uint8_t>(queue);
  if (tier == kKept) {
    ++tenants_[one.tenant].kept_count;
    keeps_.put(entry, hint.keep_seconds, now_ns);
  }
  if (one.place == Place::Queued) return;
  goes_to_head ? push_oldest(entry) : push_newest(entry);
}

void ColdPages::leave_tier(EntryId entry) {
  Entry& one = at(entry);
  if (!keeps_.has(entry)) return;
  keeps_.erase(entry);
  --tenants_[one.tenant].kept_count;
}

void ColdPages::revive(EntryId entry) {
  Entry& one = at(entry);
  QUIRE_CHECK(one.state == State::Cold, "only a cold entry is revived");
  leave_tier(entry);
  if (one.place != Place::Queued || !policy_->keeps_place()) {
    one.returns_to_head = policy_->keeps_place();
    unplace(entry);
  }
  one.state = State::Held;
  one.chain_page_count = 0;
  --cold_count_;
  leave_parent(one);
  policy_->hit(entry);
}

void ColdPages::hit(EntryId entry) {
  QUIRE_CHECK(at(entry).state == State::Held, "a cold entry is revived");
  policy_->hit(entry);
}

void ColdPages::forget(EntryId entry) {
  Entry& one = at(entry);
  leave_tier(entry);
  unplace(entry);
  if (one.state == State::Cold) {
    --cold_count_;
    leave_parent(one);
  }
  one.state = State::Absent;
  one.cold_child_count = 0;
  ++one.life;
  charge(one.tenant, false);
}

void ColdPages::remove(EntryId entry) {
  QUIRE_CHECK(is_present(entry), "removed twice");
  policy_->removed(entry);
  forget(entry);
}

// ---- eviction ---------------------------------------------------------------------------------

void ColdPages::end_keeps(std::uint64_t now_ns) {
  ended_keeps_.clear();
  keeps_.advance(now_ns, ended_keeps_);
  for (const EntryId entry : ended_keeps_) {
    Entry& one = at(entry);
    --tenants_[one.tenant].kept_count;
    const bool is_queued = one.place == Place::Queued;
    if (is_queued) pull_out(entry);
    one.tier = one.is_shared_prefix ? kResume : kPlain;
    if (is_queued) push_oldest(entry);
  }
  step_count_ += ended_keeps_.size();
}

// The oldest entry of the queue that may go now; those that may not are taken out on the way, each
// once until what is in its way has gone.
EntryId ColdPages::clear_head(Queue& queue, const IsFenced& is_fenced) {
  while (queue.oldest != kNoEntry) {
    const EntryId entry = queue.oldest;
    Entry& one = at(entry);
    ++step_count_;
    const bool is_held = one.state == State::Held;
    const bool is_leaf = one.cold_child_count == 0 || is_planted(Fault::EvictedBeforeLeaves);
    if (!is_held && is_leaf && !is_fenced(entry)) return entry;
    pull_out(entry);
    if (const auto next = policy_->passed_over(entry, one.queue)) {
      one.queue = static_cast<std::uint8_t>(*next);
      push_newest(entry);
    } else if (is_held) {
      one.returns_to_head = true;
    } else if (one.cold_child_count > 0) {
      one.place = Place::Blocked;
    } else {
      one.place = Place::Fenced;
      fenced_.push_back(entry);
    }
  }
  return kNoEntry;
}

EntryId ColdPages::victim_of(std::uint32_t tenant, std::uint32_t tier, const IsFenced& is_fenced) {
  std::array<QueueHead, kQueueCountMax> heads;
  for (;;) {
    std::uint32_t head_count = 0;
    for (std::uint64_t left = tenants_[tenant].queues_in_use[tier]; left != 0; left &= left - 1) {
      const auto index = static_cast<std::uint32_t>(std::countr_zero(left));
      Queue& queue = tenants_[tenant].queues[tier * queue_count_ + index];
      const EntryId entry = clear_head(queue, is_fenced);
      if (entry == kNoEntry) continue;
      heads[head_count++] = {.queue = index, .entry = entry, .entry_count = queue.count};
    }
    if (head_count == 0) return kNoEntry;
    const Choice choice = policy_->choose({heads.data(), head_count});
    QUIRE_CHECK(choice.head_index < head_count, "a policy chooses a head");
    const EntryId entry = heads[choice.head_index].entry;
    if (choice.action == Choice::Action::Evict) return entry;
    pull_out(entry);
    at(entry).queue = static_cast<std::uint8_t>(choice.queue);
    push_newest(entry);
  }
}

EvictionHint ColdPages::hint_of(std::uint32_t tier) {
  switch (tier) {
    case kDone:
      return EvictionHint::Done;
    case kResume:
      return EvictionHint::WillResume;
    case kKept:
      return EvictionHint::Keep;
    default:
      return EvictionHint::None;
  }
}

std::optional<EntryId> ColdPages::evict(const IsFenced& is_fenced, std::uint64_t now_ns) {
  end_keeps(now_ns);
  for (std::uint32_t phase = 0; phase < kPhaseCount; ++phase) {
    // A tenant without a victim has had its queues of this phase emptied, and left the heap.
    while (!most_above_[phase].empty()) {
      const std::uint32_t tenant = most_above_[phase].top();
      for (std::uint32_t tier = 0; tier < kTierCount; ++tier) {
        if (phase_of(tier) != phase) continue;
        const EntryId entry = victim_of(tenant, tier, is_fenced);
        if (entry == kNoEntry) continue;
        QUIRE_CHECK(at(entry).cold_child_count == 0, "leaves first");
        policy_->evicted(entry);
        forget(entry);
        victim_hint_ = hint_of(tier);
        return entry;
      }
    }
  }
  return std::nullopt;
}

void ColdPages::lift_fences() {
  for (auto entry = fenced_.rbegin(); entry != fenced_.rend(); ++entry) {
    ++step_count_;
    if (at(*entry).place == Place::Fenced) push_oldest(*entry);
  }
  fenced_.clear();
}

}  // namespace quire::control
