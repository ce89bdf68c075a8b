#pragma once
// StateCache has the slots for states of one model: it takes, shares, keeps, finds and evicts them.
// A state is what the recurrent layers know after some token (inference/api/batch.h); it cannot be
// cut back, so a context goes back to the nearest state before, and computes again from there.
//
// A slot is Working from take() until its state is there, says note_written(). Then it is held or
// cold. A context holds the slots of a pass only while the pass is in a batch, and remembers them
// by StateRef in between. So no context keeps a slot from another, and one that finds its slot
// gone computes from an earlier state.
//
// A kept state stands after a whole page, and is found by the node of that page: what a page's name
// stands for (tokens, positions, adapters, sharing domain) decides its bits. It goes when the page
// loses its bytes, and keeps no page. States between pages are never kept, because the keys and
// values of the tokens in between have no name.
//
// No pass writes a sealed state: keep() seals, and so does a fork. One that is not sealed belongs
// to one context, which may change it in place.
//
// A state that an unfinished operation goes on from is reserved for it: one that is less important
// does not take its slot. So the most important operation gets on, however few slots there are.
//
// Order of victims:
//   1. multiples that were never used again, the fewest trailing zeros of the multiple's number
//      first, then the oldest;
//   2. by ColdPages: superseded ones; then of the tenant most above its share the others, marked
//      ones last; of equal ones the one that turned cold first. A marked one that is superseded
//      counts as one that is neither;
//   3. reserved ones, the least important first.
//
// A program's hint for pages is one for their states, once those pages are cold. It holds until the
// state is used again. So states that it is done with go with the superseded ones, those that it
// will want go with the marked ones, and those that it keeps go last.
//
// Thread   engine thread only. Reads no clock: set_time() says what time it is.
// Errors   none; misuse is a bug and stops the process.
//
// Invariants, checked by verify():
//   R1  The nodes with a state and the slots with a node are inverse to one another. Such a slot is
//       sealed, and not Working; its node has bytes.
//   R2  A cold slot is in ColdPages, or in the list of reserved ones, or in that of unused
//       multiples. Other slots are in none of these.
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "control/pages/cold_pages.h"
#include "control/pages/importance.h"
#include "control/pages/page_cache.h"
#include "control/pages/page_pool.h"
#include "control/pages/page_trie.h"

namespace quire::control {

using inference::kNoState;
using inference::StateSlot;

// A slot as a context knew it; its state may have gone since.
struct StateRef {
  StateSlot slot = kNoState;
  std::uint32_t generation = 0;
  friend bool operator==(const StateRef&, const StateRef&) = default;
};

// By rising worth.
enum class StateKind : std::uint8_t {
  Multiple,  // After a multiple of kStateMultiple tokens.
  Running,   // After the last whole page of a context that goes on.
  Turn,      // After the last whole page of something that ended: a prompt, a context.
  Marked,    // Where a program said so.
};
inline constexpr std::uint32_t kStateMultiple = 1024;  // Tokens.

struct StateCounts {
  std::uint64_t used_count = 0;  // Kept ones that a context went on from.
  std::uint64_t evicted_count = 0;
  std::uint64_t saved_count = 0;   // To the store.
  std::uint64_t loaded_count = 0;  // From it.
};

class StateCache final : public LostPageSink {
 public:
  explicit StateCache(std::uint32_t slot_count);

  std::uint32_t slot_count() const { return slots_.page_count(); }
  void set_weight(TenantId tenant, std::uint32_t weight) { cold_.set_weight(tenant, weight); }
  void set_time(std::uint64_t now_ns) { now_ns_ = now_ns; }

  // A slot, held once, for a pass of an operation so important. Nothing: it gets none now.
  std::optional<StateSlot> take(const Importance& importance);
  // The pass has written it, for a context of that tenant.
  void note_written(StateSlot slot, TenantId tenant);
  bool is_there(const StateRef& ref) const;
  StateRef ref(StateSlot slot) const;
  // One hold more. Requires: is_there().
  void hold(const StateRef& ref);
  // The last hold leaves a written state cold, and another slot free.
  void release(StateSlot slot);
  // For one operation, until this is said to be over. It may be released and held in between.
  // Requires: it is held.
  void reserve(StateSlot slot, const Importance& importance);
  void end_reserve(const StateRef& ref, const Importance& importance);
  // Gives back a hold of which no pass came: the slot can be evicted at once.
  void lay_back(StateSlot slot);
  // Whether its only holder may change it in place.
  bool may_change(StateSlot slot) const;
  void seal(const StateRef& ref);
  // The state is not wanted any more. One that is held, kept, forked or gone stays.
  void discard(const StateRef& ref);

  // The state after `node`, whose bytes are there, is kept from now on: this one, unless there is
  // one already. The stronger kind counts; `length` is the number of tokens up to there.
  void keep(NodeId node, StateSlot slot, StateKind kind, std::uint32_t length);
  std::optional<StateRef> find(NodeId node) const;
  // A context goes on from it: a use.
  void note_used(StateSlot slot);
  // A Running state is not kept any more, and one of another kind stays.
  void end_running(const StateRef& ref);
  // Unless it is worth more, or gone.
  void raise(const StateRef& ref, StateKind kind);
  // A text that went on from it has a later state: until it is used again, it goes first.
  void supersede(const StateRef& ref);
  // The program said this of the page of `node`, after which a state is kept.
  void note_hint(NodeId node, const ColdHint& hint);
  void page_gone(NodeId node) override;

  // A pass under way writes the state after `node`, which is kept then. Who would compute the same
  // tokens waits for it.
  void claim(NodeId node) { ++claims_[node]; }
  void end_claim(NodeId node);
  bool has_claims() const { return !claims_.empty(); }
  bool is_claimed(NodeId node) const { return claims_.contains(node); }

  // The store has the state after `node`, as far as is known. So it can come back from there.
  void note_stored(NodeId node) { stored_.insert(node); }
  bool is_stored(NodeId node) const { return stored_.contains(node); }
  void end_stored(NodeId node) { stored_.erase(node); }
  void note_saved(std::uint32_t count) { counts_.saved_count += count; }
  void note_loaded() { ++counts_.loaded_count; }

  void open_batch(inference::BatchId batch) { slots_.open_batch(batch); }
  void complete_batch(inference::BatchId batch) {
    slots_.complete_batch(batch);
    cold_.lift_fences();
  }

  std::uint32_t kept_count() const { return static_cast<std::uint32_t>(by_node_.size()); }
  const StateCounts& counts() const { return counts_; }
  const PagePool& slots() const { return slots_; }
  template <typename Visit>
  void for_each_kept(Visit visit) const {
    for (const auto& [node, slot] : by_node_) visit(node);
  }
  void verify() const;

 private:
  struct Entry {
    NodeId node = kNoNode;  // After which it is kept.
    StateKind kind = StateKind::Running;
    std::uint32_t length = 0;
    bool is_sealed = false;
    bool is_forked = false;  // Two contexts remember it.
    bool is_used = false;    // Since it was kept.
    bool is_superseded = false;
    ColdHint said{};  // Of its page, since it was used.
    std::uint64_t cold_at = 0;
    boost::container::small_vector<Importance, 1> reserved_for;  // Of each operation.
  };
  // Trailing zeros of the multiple's number, when it turned cold, the slot.
  using Multiple = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>;
  using Reserved = std::pair<Importance, std::uint32_t>;

  static PageId page_of(StateSlot slot) { return PageId{static_cast<std::uint32_t>(slot)}; }
  static EntryId entry_of(StateSlot slot) { return EntryId{static_cast<std::uint32_t>(slot)}; }
  Entry& at(StateSlot slot) { return entries_[static_cast<std::uint32_t>(slot)]; }
  const Entry& at(StateSlot slot) const { return entries_[static_cast<std::uint32_t>(slot)]; }
  static Importance reserved_for(const Entry& entry);  // The most important one, or kNobody.
  static bool is_unused_multiple(const Entry& entry) {
    return entry.node != kNoNode && entry.kind == StateKind::Multiple && !entry.is_used;
  }
  bool is_kept(const StateRef& ref) const;
  void set_kind(StateSlot slot, StateKind kind);  // If it is the stronger one.
  static Multiple multiple_of(StateSlot slot, const Entry& entry);
  static ColdHint hint_of(const Entry& entry);
  void go_cold(StateSlot slot);
  void leave_cold(StateSlot slot);  // ColdPages, or one of the lists.
  bool is_cold(StateSlot slot) const { return slots_.state(page_of(slot)) == PageState::Cold; }
  // Each: false if it has no slot to give.
  bool evict_multiple();
  bool evict_cold();
  bool evict_reserved(const Importance& importance);
  void evict(StateSlot slot);   // Requires: it left the list or queue that it was in.
  void unkeep(StateSlot slot);  // It is found no more.
  void drop_kept(NodeId node);

  PagePool slots_;  // A page of it is a slot.
  ColdPages cold_;  // Likewise.
  std::vector<Entry> entries_;
  std::set<Multiple> multiples_;  // Cold, and never used.
  std::set<Reserved> reserved_;   // Cold, and reserved.
  std::unordered_map<NodeId, StateSlot> by_node_;
  std::unordered_set<NodeId> stored_;                 // Of nodes with bytes.
  std::unordered_map<NodeId, std::uint32_t> claims_;  // How many passes write that one.
  StateCounts counts_;
  std::uint64_t cold_count_ = 0;  // So far.
  std::uint64_t now_ns_ = 0;
};

}  // namespace quire::control
