#pragma once
// ColdPages decides which cold page is evicted. It keeps the rules that hold whatever the policy:
// leaves first, nothing that a batch touches, hints before habits, shares between tenants. Within
// them an EvictionPolicy orders.
//
// Who calls what, when (the page cache calls all of it):
//   insert     a page is committed: it is on the device and held. Its parent may be held, cold or
//              not here at all.
//   go_cold    its last holder let go. Of a chain, leaves before their parents.
//   revive     a cold page was found and is held again. A hit.
//   hit        a page was found that is held already. Optional: the policies count it.
//   evict      a page is wanted: chooses a victim and forgets it. The caller frees it.
//   lift_fences  a batch completed: pages that evict() passed over because of `is_fenced` may be
//              chosen again.
//   remove     a page leaves for another reason (opaque, moved, discarded).
//
// A cold page stands on its parent: the parent does not go before it. A held page stands on nothing
// here: the holder of a chain holds all of it, and the holder of a single page needs no parent. A
// parent that goes is forgotten by its children, and not theirs again if it returns.
//
// Order of victims. (1) Pages of any tenant that their program said it is done with. (2) Of the
// tenant most above its share: first pages of which nothing was said, then those that `will_resume`
// or are a `shared_prefix`. (3) Kept pages, when nothing else is left, again of the tenant most
// above its share. What a hint says of a page holds until the page is used again, but a shared
// prefix stays one. `done` is not believed of a page on which several chains stood: another program
// may want it.
//
// Shares. A tenant is charged for the pages it inserted. The most above its share is the one with
// the most pages for its weight (1 unless set). With a full pool no other can be further above.
//
// Keep is bounded: at most kKeepSecondsMax seconds, and at most half of the tenant's share of the
// pool at a time; what is beyond that counts as will_resume. When its time is over a page counts as
// one of which nothing was said. Time is passed in and only ever compared.
//
// Cost     O(1) amortised for all calls, times the logarithm of the number of tenants that have
//          pages; evict() compares at most kQueueCountMax heads. Time that passes costs a step for
//          each second, at most kKeepSecondsMax.
// Thread   engine thread only.
// Errors   none; misuse is a bug and stops the process.
//
// Invariants, all checked by verify():
//   E1  A cold entry is in one queue of its tenant and tier, or blocked (it came to the head while
//       it had cold children), or fenced. A held entry is in none, or, if the policy keeps places,
//       may be in a queue.
//   E2  An entry's count of cold children equals a recount.
//   E3  A queue's links, count and bit agree; a tenant is in the heap of a phase exactly when one
//       of the phase's queues has an entry.
//   E4  A tenant's page count equals a recount; so does its count of kept pages; its weight is the
//       one that was set last, else 1; tenants without pages do not exist.
//   E5  A blocked entry has cold children; a fenced entry is in the list of fenced entries.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "control/api/types.h"
#include "control/pages/eviction_policy.h"
#include "control/pages/keep_wheel.h"
#include "control/pages/share_heap.h"

namespace quire::control {

enum class EvictionHint : std::uint8_t { None, Done, WillResume, SharedPrefix, Keep };

struct ColdHint {
  EvictionHint hint = EvictionHint::None;
  std::uint64_t keep_seconds = 0;  // Keep: from the time of the call.
};

struct NewEntry {
  EntryId parent = kNoEntry;  // kNoEntry: below a root, or it is not here.
  TenantId tenant{};
  std::uint64_t content_hash = 0;
  std::uint32_t depth = 0;  // Pages above it; counts only without a parent.
};

class ColdPages {
 public:
  using IsFenced = std::function<bool(EntryId)>;

  explicit ColdPages(const EvictionPolicyOptions& options);

  // From now on, whether the tenant has pages or not; the weight stays until it is set again.
  void set_weight(TenantId tenant, std::uint32_t weight);  // At least 1.
  std::uint32_t weight_of(TenantId tenant) const;

  void insert(EntryId entry, const NewEntry& description);
  void go_cold(EntryId entry, const ColdHint& hint, std::uint64_t now_ns);
  void revive(EntryId entry);
  void hit(EntryId entry);
  void remove(EntryId entry);
  // Nothing if every cold entry is fenced or has cold children that are.
  std::optional<EntryId> evict(const IsFenced& is_fenced, std::uint64_t now_ns);
  // The latest hint of the page that evict() chose last; a shared prefix will resume.
  EvictionHint victim_hint() const { return victim_hint_; }
  void lift_fences();

  bool is_present(EntryId entry) const { return at(entry).state != State::Absent; }
  bool is_cold(EntryId entry) const { return at(entry).state == State::Cold; }
  // The hint that counts for a cold entry; a shared prefix will resume.
  EvictionHint hint_of(EntryId entry) const { return hint_of(at(entry).tier); }
  std::uint32_t cold_count() const { return cold_count_; }
  // The parent that insert() was given, until it goes; else kNoEntry.
  EntryId parent_of(EntryId entry) const;
  std::uint32_t page_count_of(TenantId tenant) const;
  std::uint32_t kept_count_of(TenantId tenant) const;
  const EvictionPolicy& policy() const { return *policy_; }
  // Entries looked at so far, here and in the policy.
  std::uint64_t step_count() const { return step_count_ + policy_->step_count(); }
  void verify() const;

 private:
  enum class State : std::uint8_t { Absent, Held, Cold };
  enum class Place : std::uint8_t { None, Queued, Blocked, Fenced };
  enum Tier : std::uint8_t { kDone, kPlain, kResume, kKept, kTierCount };
  static constexpr std::uint32_t kPhaseCount = 3;
  static constexpr std::uint32_t phase_of(std::uint32_t tier) {
    return tier == kDone ? 0 : tier == kKept ? 2 : 1;
  }

  struct Entry {
    EntryId parent = kNoEntry;
    EntryId newer = kNoEntry;
    EntryId older = kNoEntry;
    std::uint32_t life = 0;         // Raised when it goes, so that
    std::uint32_t parent_life = 0;  // a parent that went differs from the next at its place.
    std::uint32_t cold_child_count = 0;
    std::uint32_t depth = 0;             // Pages above it.
    std::uint32_t chain_page_count = 0;  // 0: nothing below it turned cold since it was held.
    std::uint32_t tenant = 0;            // Index into tenants_.
    State state = State::Absent;
    Place place = Place::None;
    Tier tier = kPlain;
    std::uint8_t queue = 0;
    bool had_children = false;
    bool has_branched = false;
    bool is_shared_prefix = false;
    bool returns_to_head = false;  // Lost its place while it was held.
  };
  struct Queue {
    EntryId oldest = kNoEntry;
    EntryId newest = kNoEntry;
    std::uint32_t count = 0;
  };
  struct Tenant {
    TenantId id{};
    std::uint32_t weight = 1;
    std::uint32_t page_count = 0;
    std::uint32_t kept_count = 0;
    std::array<std::uint64_t, kTierCount> queues_in_use{};  // A bit for each queue.
    std::vector<Queue> queues;                              // [kTierCount * queue_count]
  };

  const Entry& at(EntryId entry) const { return entries_[index_of(entry)]; }
  Entry& at(EntryId entry) { return entries_[index_of(entry)]; }
  void leave_parent(Entry& one);  // `one` is cold no more.
  Queue& queue_of(const Entry& one);
  std::uint32_t tenant_index(TenantId tenant);
  void charge(std::uint32_t tenant, bool is_more);
  void update_heaps(std::uint32_t tenant, std::uint32_t phase);
  Tier tier_of(Entry& one, const ColdHint& hint) const;
  static EvictionHint hint_of(std::uint32_t tier);
  void unplace(EntryId entry);
  void push_newest(EntryId entry);
  void push_oldest(EntryId entry);
  void pull_out(EntryId entry);
  void leave_tier(EntryId entry);
  void forget(EntryId entry);
  void end_keeps(std::uint64_t now_ns);
  EntryId clear_head(Queue& queue, const IsFenced& is_fenced);
  EntryId victim_of(std::uint32_t tenant, std::uint32_t tier, const IsFenced& is_fenced);
  void verify_queues(std::vector<std::uint8_t>& queued) const;
  void verify_tenants() const;

  std::unique_ptr<EvictionPolicy> policy_;
  const std::uint32_t queue_count_;
  std::vector<Entry> entries_;
  std::vector<Tenant> tenants_;
  std::vector<std::uint32_t> free_tenants_;
  std::unordered_map<std::uint32_t, std::uint32_t> tenant_by_id_;
  std::unordered_map<std::uint32_t, std::uint32_t> weight_by_id_;
  std::uint64_t weight_sum_ = 0;  // Of the tenants that have pages.
  std::array<ShareHeap, kPhaseCount> most_above_;
  KeepWheel keeps_;
  std::vector<EntryId> fenced_;
  std::vector<EntryId> ended_keeps_;
  EvictionHint victim_hint_ = EvictionHint::None;
  std::uint32_t cold_count_ = 0;
  std::uint64_t step_count_ = 0;
};

}  // namespace quire::control
