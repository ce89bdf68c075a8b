#include "control/states/state_cache.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/check.h"
#include "base/planted_fault.h"

namespace quire::control {

StateCache::StateCache(std::uint32_t slot_count)
    : slots_(slot_count),
      cold_({.kind = EvictionPolicyKind::Lru, .entry_count = slot_count}),
      entries_(slot_count) {}

// ---- slots ----

std::optional<StateSlot> StateCache::take(const Importance& importance) {
  const bool has_free =
      slots_.free_count() > 0 || evict_multiple() || evict_cold() || evict_reserved(importance);
  if (!has_free) return std::nullopt;
  const std::optional<PageId> taken = slots_.allocate();
  QUIRE_CHECK(taken.has_value(), "a slot was evicted");
  const StateSlot slot{static_cast<std::uint32_t>(*taken)};
  at(slot) = Entry();
  return slot;
}

void StateCache::note_written(StateSlot slot, TenantId tenant) {
  if (slots_.state(page_of(slot)) == PageState::Committed) return;  // It was changed in place.
  slots_.commit(page_of(slot));
  cold_.insert(entry_of(slot), {.tenant = tenant});
}

bool StateCache::is_there(const StateRef& ref) const {
  if (ref.slot == kNoState || slots_.generation(page_of(ref.slot)) != ref.generation) return false;
  const PageState state = slots_.state(page_of(ref.slot));
  return state == PageState::Committed || state == PageState::Cold;
}

StateRef StateCache::ref(StateSlot slot) const {
  return {.slot = slot, .generation = slots_.generation(page_of(slot))};
}

void StateCache::hold(const StateRef& ref) {
  QUIRE_CHECK(is_there(ref), "held a state that is gone");
  if (!is_cold(ref.slot)) return slots_.retain(page_of(ref.slot));
  leave_cold(ref.slot);
  at(ref.slot).is_superseded = false;
  at(ref.slot).said = {};
  slots_.revive(page_of(ref.slot));
}

void StateCache::release(StateSlot slot) {
  if (slots_.release(page_of(slot)) > 0) return;
  if (is_cold(slot)) go_cold(slot);
}

void StateCache::lay_back(StateSlot slot) {
  if (slots_.hold_count(page_of(slot)) > 1) return release(slot);
  slots_.lay_back(page_of(slot));
  go_cold(slot);
}

void StateCache::reserve(StateSlot slot, const Importance& importance) {
  QUIRE_CHECK(!is_cold(slot), "a state is reserved by one who holds it");
  at(slot).reserved_for.push_back(importance);
}

void StateCache::end_reserve(const StateRef& ref, const Importance& importance) {
  if (!is_there(ref)) return;
  auto& all = at(ref.slot).reserved_for;
  const auto own = std::ranges::find(all, importance);
  if (own == all.end()) return;
  const bool was_cold = is_cold(ref.slot);
  if (was_cold) leave_cold(ref.slot);
  all.erase(own);
  if (was_cold) go_cold(ref.slot);
}

Importance StateCache::reserved_for(const Entry& entry) {
  const auto most = std::ranges::min_element(entry.reserved_for);
  return most == entry.reserved_for.end() ? kNobody : *most;
}

bool StateCache::may_change(StateSlot slot) const {
  if (is_planted(Fault::SharedStateChanged)) return true;
  return !at(slot).is_sealed && slots_.hold_count(page_of(slot)) == 1;
}

void StateCache::seal(const StateRef& ref) {
  if (is_there(ref)) at(ref.slot).is_sealed = at(ref.slot).is_forked = true;
}

void StateCache::discard(const StateRef& ref) {
  if (!is_there(ref) || !is_cold(ref.slot)) return;
  if (at(ref.slot).is_forked || at(ref.slot).node != kNoNode) return;
  leave_cold(ref.slot);
  cold_.remove(entry_of(ref.slot));
  slots_.discard(page_of(ref.slot));
}

// ---- cold ones ----

StateCache::Multiple StateCache::multiple_of(StateSlot slot, const Entry& entry) {
  return {std::countr_zero(entry.length / kStateMultiple), entry.cold_at,
          static_cast<std::uint32_t>(slot)};
}

// The hint that counts is the one for its page. A mark counts like the hint that the page will
// resume, and a superseded state is worth one step less.
ColdHint StateCache::hint_of(const Entry& entry) {
  ColdHint hint = entry.said;
  const bool is_marked = entry.node != kNoNode && entry.kind == StateKind::Marked;
  if (is_marked && hint.hint == EvictionHint::None) hint.hint = EvictionHint::WillResume;
  if (!entry.is_superseded) return hint;
  switch (hint.hint) {
    case EvictionHint::Keep:
      return {.hint = EvictionHint::WillResume};
    case EvictionHint::WillResume:
      return {};
    case EvictionHint::None:
      return {.hint = EvictionHint::Done};
    case EvictionHint::Done:
    case EvictionHint::SharedPrefix:  // Many texts go on from it.
      break;
  }
  return hint;
}

void StateCache::go_cold(StateSlot slot) {
  Entry& entry = at(slot);
  if (!entry.reserved_for.empty()) {
    reserved_.insert({reserved_for(entry), static_cast<std::uint32_t>(slot)});
    return;
  }
  if (is_unused_multiple(entry)) {
    entry.cold_at = ++cold_count_;
    multiples_.insert(multiple_of(slot, entry));
    return;
  }
  cold_.go_cold(entry_of(slot), hint_of(entry), now_ns_);
}

void StateCache::leave_cold(StateSlot slot) {
  const Entry& entry = at(slot);
  if (!entry.reserved_for.empty()) {
    reserved_.erase({reserved_for(entry), static_cast<std::uint32_t>(slot)});
  } else if (is_unused_multiple(entry)) {
    multiples_.erase(multiple_of(slot, entry));
  } else {
    cold_.revive(entry_of(slot));
  }
}

void StateCache::evict(StateSlot slot) {
  unkeep(slot);
  slots_.evict(page_of(slot));
  ++counts_.evicted_count;
}

bool StateCache::evict_multiple() {
  for (const Multiple& each : multiples_) {
    const StateSlot slot{std::get<2>(each)};
    if (slots_.is_fenced(page_of(slot))) continue;
    multiples_.erase(each);
    cold_.remove(entry_of(slot));
    evict(slot);
    return true;
  }
  return false;
}

bool StateCache::evict_cold() {
  const auto is_fenced = [this](EntryId entry) {
    return slots_.is_fenced(PageId{index_of(entry)});
  };
  const std::optional<EntryId> victim = cold_.evict(is_fenced, now_ns_);
  if (victim) evict(StateSlot{index_of(*victim)});
  return victim.has_value();
}

bool StateCache::evict_reserved(const Importance& importance) {
  for (auto each = reserved_.rbegin(); each != reserved_.rend(); ++each) {
    if (each->first <= importance) return false;
    const StateSlot slot{each->second};
    if (slots_.is_fenced(page_of(slot))) continue;
    reserved_.erase(std::next(each).base());
    cold_.remove(entry_of(slot));
    evict(slot);
    return true;
  }
  return false;
}

// ---- kept ones ----

void StateCache::keep(NodeId node, StateSlot slot, StateKind kind, std::uint32_t length) {
  QUIRE_CHECK(at(slot).node == kNoNode, "a slot is kept after one page");
  if (const auto found = by_node_.find(node); found != by_node_.end()) {
    return set_kind(found->second, kind);
  }
  Entry& entry = at(slot);
  const bool was_cold = is_cold(slot);
  if (was_cold) leave_cold(slot);
  entry.node = node;
  entry.kind = kind;
  entry.length = length;
  entry.is_sealed = true;
  entry.is_used = entry.is_superseded = false;
  by_node_.emplace(node, slot);
  if (was_cold) go_cold(slot);
}

std::optional<StateRef> StateCache::find(NodeId node) const {
  const auto found = by_node_.find(node);
  if (found == by_node_.end()) return std::nullopt;
  return ref(found->second);
}

void StateCache::note_used(StateSlot slot) {
  Entry& entry = at(slot);
  if (entry.node == kNoNode) return;
  QUIRE_CHECK(!is_cold(slot), "a state that is used is held");
  entry.is_used = true;
  ++counts_.used_count;
}

void StateCache::set_kind(StateSlot slot, StateKind kind) {
  Entry& entry = at(slot);
  if (kind <= entry.kind) return;
  const bool was_cold = is_cold(slot);
  if (was_cold) leave_cold(slot);
  entry.kind = kind;
  if (was_cold) go_cold(slot);
}

bool StateCache::is_kept(const StateRef& ref) const {
  return is_there(ref) && at(ref.slot).node != kNoNode;
}

void StateCache::end_running(const StateRef& ref) {
  if (is_kept(ref) && at(ref.slot).kind == StateKind::Running) drop_kept(at(ref.slot).node);
}

void StateCache::raise(const StateRef& ref, StateKind kind) {
  if (is_kept(ref)) set_kind(ref.slot, kind);
}

void StateCache::supersede(const StateRef& ref) {
  if (!is_kept(ref)) return;
  const bool was_cold = is_cold(ref.slot);
  if (was_cold) leave_cold(ref.slot);
  at(ref.slot).is_superseded = true;
  if (was_cold) go_cold(ref.slot);
}

void StateCache::note_hint(NodeId node, const ColdHint& hint) {
  const auto found = by_node_.find(node);
  if (found == by_node_.end()) return;
  const StateSlot slot = found->second;
  const bool was_cold = is_cold(slot);
  if (was_cold) leave_cold(slot);
  at(slot).said = hint;
  if (was_cold) go_cold(slot);
}

void StateCache::end_claim(NodeId node) {
  const auto claim = claims_.find(node);
  QUIRE_CHECK(claim != claims_.end(), "the states lost a claim");
  if (--claim->second == 0) claims_.erase(claim);
}

void StateCache::page_gone(NodeId node) {
  stored_.erase(node);
  if (!is_planted(Fault::StateKeptBehindPage)) drop_kept(node);
}

// Nothing is kept after `node` any more.
void StateCache::drop_kept(NodeId node) {
  const auto found = by_node_.find(node);
  if (found == by_node_.end()) return;
  const StateSlot slot = found->second;
  if (is_cold(slot)) {
    leave_cold(slot);
    cold_.remove(entry_of(slot));
    unkeep(slot);
    slots_.discard(page_of(slot));
  } else {
    unkeep(slot);  // Who holds it goes on.
  }
}

void StateCache::unkeep(StateSlot slot) {
  Entry& entry = at(slot);
  if (entry.node == kNoNode) return;
  by_node_.erase(entry.node);
  entry.node = kNoNode;
}

void StateCache::verify() const {
  slots_.verify();
  cold_.verify();
  std::size_t kept = 0;
  std::size_t multiples = 0;
  std::size_t reserved = 0;
  for (std::uint32_t index = 0; index < slot_count(); ++index) {
    const StateSlot slot{index};
    const Entry& entry = at(slot);
    const PageState state = slots_.state(page_of(slot));
    const bool is_written = state == PageState::Committed || state == PageState::Cold;
    const bool is_kept = is_written && entry.node != kNoNode;
    if (is_kept) {
      const auto found = by_node_.find(entry.node);
      QUIRE_CHECK(found != by_node_.end() && found->second == slot, "R1");
      QUIRE_CHECK(entry.is_sealed, "R1");
      ++kept;
    }
    const bool is_reserved = state == PageState::Cold && !entry.reserved_for.empty();
    if (is_reserved) QUIRE_CHECK(reserved_.contains({reserved_for(entry), index}), "R2");
    const bool is_multiple = state == PageState::Cold && !is_reserved && is_unused_multiple(entry);
    if (is_multiple) QUIRE_CHECK(multiples_.contains(multiple_of(slot, entry)), "R2");
    multiples += is_multiple;
    reserved += is_reserved;
    const bool is_queued = state == PageState::Cold && !is_reserved && !is_multiple;
    QUIRE_CHECK(cold_.is_present(entry_of(slot)) == is_written, "R2");
    QUIRE_CHECK(cold_.is_cold(entry_of(slot)) == is_queued, "R2");
  }
  QUIRE_CHECK(kept == by_node_.size(), "R1");
  QUIRE_CHECK(multiples == multiples_.size() && reserved == reserved_.size(), "R2");
}

}  // namespace quire::control
