#include "control/contexts/context_states.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"

namespace quire::control {
namespace {

// Reading a state of 20 MB takes about as long as computing so many tokens (docs/internals).
constexpr std::uint32_t kStoredTokensMin = 16;

bool may_keep(const StatedChain& of, NodeId node) {
  return !of.cache.trie().is_opaque(node) && of.cache.is_resident(node);
}

// The last page of the chain that ends after `first` to `last` tokens and for which that holds.
template <typename Predicate>
std::optional<ContextStates::Stored> last_page_where(const StatedChain& of, std::uint32_t first,
                                                     std::uint32_t last,
                                                     const Predicate& predicate) {
  const std::uint32_t page_size = of.cache.page_size();
  NodeId node = of.chain.head();
  for (std::uint32_t index = of.chain.page_count(); index * page_size >= first; --index) {
    if (index * page_size <= last && predicate(node)) {
      return ContextStates::Stored{node, index * page_size};
    }
    node = of.cache.parent(node);
  }
  return std::nullopt;
}

}  // namespace

StandingState ContextStates::nearest(const StatedChain& of, std::uint32_t length) const {
  StandingState best;
  for (const StandingState& each : {current_, before_}) {
    const bool is_nearer = each.length <= length && each.length > best.length;
    if (is_nearer && of.states.is_there(each.ref)) best = each;
  }
  const auto is_kept = [&of](NodeId node) { return of.states.find(node).has_value(); };
  if (const auto kept = last_page_where(of, best.length + 1, length, is_kept)) {
    return {*of.states.find(kept->node), kept->length};
  }
  if (is_planted(Fault::StateOffByOne) && best.length > 0 && best.length < length) ++best.length;
  return best;
}

std::optional<ContextStates::Stored> ContextStates::nearest_stored(const StatedChain& of,
                                                                   const StandingState& best,
                                                                   std::uint32_t length) const {
  const auto is_it = [&of](NodeId node) { return of.states.is_stored(node); };
  return last_page_where(of, best.length + kStoredTokensMin, length, is_it);
}

bool ContextStates::is_coming(const StatedChain& of, const StandingState& best,
                              std::uint32_t length) const {
  if (!of.states.has_claims()) return false;
  const auto is_it = [&of](NodeId node) { return of.states.is_claimed(node); };
  return last_page_where(of, best.length + of.cache.page_size(), length, is_it).has_value();
}

// ---- a pass ----

void ContextStates::add_write(StateCache& states, std::uint32_t length) {
  if (const auto slot = states.take(pass_.importance)) {
    writes_.push_back({.length = length, .slot = *slot});
  }
}

// The states within the pass that are to be kept, as far as there are slots.
void ContextStates::add_page_ends(const StatedChain& of) {
  const std::uint32_t begin = pass_.from.length;
  const auto add = [&](std::uint32_t length) {
    const bool is_within = length > begin && length < pass_.end;
    if (is_within && std::ranges::count(writes_, length, &Write::length) == 0) {
      add_write(of.states, length);
    }
  };
  std::ranges::for_each(marks_, add);
  add(pass_.end - pass_.end % of.cache.page_size());
  std::uint32_t at = (begin / kStateMultiple + 1) * kStateMultiple;
  for (; at < pass_.end; at += kStateMultiple) add(at);
}

// Claims the states after pages that are there already: another context may be about to compute the
// same tokens. The other pages are claimed themselves.
void ContextStates::claim_writes(const StatedChain& of) {
  const std::uint32_t page_size = of.cache.page_size();
  NodeId node = of.chain.head();
  std::uint32_t index = of.chain.page_count();
  for (auto write = writes_.rbegin(); write != writes_.rend(); ++write) {
    const std::uint32_t page = write->length / page_size;
    if (write->length % page_size != 0 || page > of.chain.page_count()) continue;
    for (; index > page; --index) node = of.cache.parent(node);
    if (!may_keep(of, node) || of.states.find(node)) continue;
    of.states.claim(node);
    claims_.push_back(node);
  }
}

void ContextStates::end_claims(StateCache& states) {
  for (const NodeId node : claims_) states.end_claim(node);
  claims_.clear();
}

bool ContextStates::begin_flight(const StatedChain& of, const StatedPass& pass) {
  QUIRE_CHECK(!is_in_flight_ && pass.end >= pass.from.length, "N1");
  StateCache& states = of.states;
  states.set_time(of.cache.now_ns());
  const StateRef& from = pass.from.ref;
  const bool has_slot = from.slot != kNoState;
  if (has_slot) states.hold(from);
  pass_ = pass;
  writes_.clear();
  const std::uint32_t row_count = pass.end - pass.from.length;
  if (has_slot && row_count == 1 && states.may_change(from.slot)) {
    writes_.push_back({.length = pass.end, .slot = from.slot});
  } else if (row_count > 0) {
    add_write(states, pass.end);
    if (writes_.empty()) {
      if (!has_slot) return false;
      reserve(states, from.slot);
      states.lay_back(from.slot);
      return false;
    }
    add_page_ends(of);
    std::ranges::sort(writes_, {}, &Write::length);
    claim_writes(of);
  }
  if (has_slot && pass.from.ref != current_.ref && from != before_.ref) {
    states.note_used(from.slot);
    origin_ = from;
  }
  if (has_slot && is_planted(Fault::StateSlotNotHeld)) states.lay_back(from.slot);
  is_in_flight_ = true;
  return true;
}

void ContextStates::cancel_flight(StateCache& states) {
  is_in_flight_ = false;
  end_claims(states);
  const StateSlot from = pass_.from.ref.slot;
  for (const Write& each : writes_) {
    if (each.slot != from) states.release(each.slot);
  }
  if (from == kNoState) return;
  reserve(states, from);
  states.lay_back(from);
}

// The operation goes on from this one, which is held.
void ContextStates::reserve(StateCache& states, StateSlot slot) {
  reserve_for(states, slot, pass_.importance);
}

void ContextStates::reserve_for(StateCache& states, StateSlot slot, const Importance& importance) {
  end_operation(states);  // It went on from another one before.
  states.reserve(slot, importance);
  reserved_ = states.ref(slot);
  reserved_for_ = importance;
}

void ContextStates::end_operation(StateCache& states) {
  states.end_reserve(std::exchange(reserved_, {}), reserved_for_);
}

void ContextStates::describe(inference::Batch& batch, inference::ForwardPass& pass) const {
  pass.state_from = pass_.from.ref.slot;
  pass.state_write_first = static_cast<std::uint32_t>(batch.state_writes.size());
  pass.state_write_count = static_cast<std::uint32_t>(writes_.size());
  for (const Write& each : writes_) {
    batch.state_writes.push_back({.row_count = each.length - pass_.from.length, .slot = each.slot});
  }
}

void ContextStates::fail_flight(StateCache& states) {
  end_claims(states);
  const bool was_in_place = is_in_place();
  if (pass_.from.ref.slot != kNoState) states.release(pass_.from.ref.slot);
  if (was_in_place) return forget(states, pass_.from, {});  // Perhaps a part of it was written.
  for (const Write& each : writes_) states.release(each.slot);
}

void ContextStates::keep(const StatedChain& of, const Write& write) {
  const std::uint32_t page_size = of.cache.page_size();
  const std::uint32_t index = write.length / page_size;
  if (write.length % page_size != 0 || index > of.chain.page_count()) return;
  NodeId node = of.chain.head();
  for (std::uint32_t above = of.chain.page_count(); above > index; --above) {
    node = of.cache.parent(node);
  }
  if (!may_keep(of, node)) return;
  StateKind kind = StateKind::Running;
  if (write.length % kStateMultiple == 0) kind = StateKind::Multiple;
  if (is_marked(write.length)) kind = StateKind::Marked;
  of.states.keep(node, write.slot, kind, write.length);
  const StateRef kept = *of.states.find(node);
  if (kept != running_) of.states.end_running(std::exchange(running_, kept));
}

// `one` is not remembered any more. If no other context can know it, its slot is free.
void ContextStates::forget(StateCache& states, StandingState& one, const StandingState& other) {
  if (one.ref != other.ref) states.discard(one.ref);
  one = {};
}

void ContextStates::end_flight(const StatedChain& of, bool is_written, std::uint32_t length) {
  QUIRE_CHECK(is_in_flight_, "N1");
  is_in_flight_ = false;
  if (!is_written) return fail_flight(of.states);
  end_claims(of.states);
  const bool was_in_place = is_in_place();
  const StandingState last = settle_writes(of, length);
  settle_marks(of);
  std::erase_if(marks_, [&](std::uint32_t mark) { return mark <= length; });
  const StandingState& from = pass_.from;
  if (!was_in_place && from.ref.slot != kNoState) of.states.release(from.ref.slot);
  if (writes_.empty()) return;
  const bool was_current = from.ref == current_.ref;
  if (last.length - from.length > 1) {
    if (before_.ref != from.ref) forget(of.states, before_, from);
    before_ = from;
    if (!was_current) forget(of.states, current_, before_);
  } else {
    if (was_in_place && before_.ref == from.ref) before_ = {};
    if (!was_in_place || !was_current) forget(of.states, current_, before_);
  }
  current_ = last;
  if (is_planted(Fault::DraftStateKept)) current_.length = std::min(current_.length, length);
  cut(of.states, length);  // Drafts that do not stand.
}

// The states that were written are there, and kept after whole pages. Returns the last one.
StandingState ContextStates::settle_writes(const StatedChain& of, std::uint32_t length) {
  StateCache& states = of.states;
  StandingState last;
  for (const Write& each : writes_) {
    states.note_written(each.slot, of.tenant);
    if (each.length <= length) keep(of, each);
    last = {states.ref(each.slot), each.length};
  }
  if (!writes_.empty() && !pass_.is_last) reserve(states, last.ref.slot);
  for (const Write& each : writes_) {
    states.release(each.slot);
    if (each.slot != last.ref.slot) states.discard(states.ref(each.slot));  // Unless it is kept.
  }
  return last;
}

// ---- marks ----

bool ContextStates::is_marked(std::uint32_t length) const {
  return std::ranges::count(marks_, length) > 0;
}

void ContextStates::mark(const StatedChain& of, std::uint64_t token_count) {
  const std::uint32_t page_size = of.cache.page_size();
  const auto length = static_cast<std::uint32_t>(token_count / page_size * page_size);
  if (length == 0 || is_marked(length)) return;
  if (marks_.size() == kMarkCountMax) marks_.erase(marks_.begin());
  marks_.push_back(length);
  settle_marks(of);
}

void ContextStates::settle_marks(const StatedChain& of) {
  if (marks_.empty()) return;
  const std::uint32_t page_size = of.cache.page_size();
  const std::uint32_t first = *std::ranges::min_element(marks_);
  NodeId node = of.chain.head();
  for (std::uint32_t index = of.chain.page_count(); index * page_size >= first; --index) {
    const auto found = is_marked(index * page_size) ? of.states.find(node) : std::nullopt;
    if (found) {
      of.states.raise(*found, StateKind::Marked);
      std::erase(marks_, index * page_size);
    }
    node = of.cache.parent(node);
  }
}

void ContextStates::cut_marks(std::uint64_t token_count) {
  std::erase_if(marks_, [&](std::uint32_t mark) { return mark > token_count; });
}

// ---- what becomes of them ----

void ContextStates::end_turn(StateCache& states) {
  states.raise(running_, StateKind::Turn);
  const bool is_later = running_.slot != kNoState && running_ != origin_;
  if (is_later) states.supersede(std::exchange(origin_, {}));
  running_ = {};
}

void ContextStates::cut(StateCache& states, std::uint32_t length) {
  if (current_.length > length) forget(states, current_, before_);
  if (before_.length > length) forget(states, before_, current_);
}

void ContextStates::note_hint(const StatedChain& of, const ColdHint& said) const {
  if (said.hint == EvictionHint::None) return;
  // A page that another context holds, or that several texts share, may have another hint.
  const auto counts = [&of](NodeId node) {
    const ColdPages& cold = of.cache.cold_pages();
    const EntryId entry{static_cast<std::uint32_t>(of.cache.page_of(node))};
    return cold.is_cold(entry) && cold.hint_of(entry) != EvictionHint::None;
  };
  std::vector<NodeId> nodes;
  NodeId node = of.chain.head();
  for (std::uint32_t index = of.chain.page_count(); index > 0; --index) {
    if (of.states.find(node) && counts(node)) nodes.push_back(node);
    node = of.cache.parent(node);
  }
  // The state that turns cold last is evicted last: the one nearest to the end.
  for (auto each = nodes.rbegin(); each != nodes.rend(); ++each) of.states.note_hint(*each, said);
}

void ContextStates::fork_from(StateCache& states, ContextStates& parent) {
  states.seal(parent.current_.ref);
  states.seal(parent.before_.ref);
  parent.end_turn(states);
  current_ = parent.current_;
  before_ = parent.before_;
  marks_ = parent.marks_;
}

void ContextStates::leave(StateCache& states) {
  if (is_in_flight_) {
    is_in_flight_ = false;
    fail_flight(states);
  }
  end_operation(states);
  end_turn(states);
  marks_.clear();
  forget(states, before_, current_);
  forget(states, current_, before_);
}

std::vector<StateSlot> ContextStates::held() const {
  std::vector<StateSlot> slots;
  if (!is_in_flight_) return slots;
  const StateSlot from = pass_.from.ref.slot;
  if (from != kNoState) slots.push_back(from);
  for (const Write& each : writes_) {
    if (each.slot != from) slots.push_back(each.slot);
  }
  return slots;
}

void ContextStates::verify(const StateCache& states, std::uint32_t length,
                           bool is_in_flight) const {
  QUIRE_CHECK(!is_in_flight_ || is_in_flight, "N1");
  for (const StandingState& each : {current_, before_}) {
    QUIRE_CHECK(each.length <= length, "N2");
  }
  QUIRE_CHECK(marks_.size() <= kMarkCountMax, "N3");
  QUIRE_CHECK(is_in_flight_ || claims_.empty(), "N4");
  if (!is_in_flight_) return;
  const StateRef& from = pass_.from.ref;
  QUIRE_CHECK(from.slot == kNoState || states.is_there(from), "N1");
}

}  // namespace quire::control
