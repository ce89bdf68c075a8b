#pragma once
// Context is what a program has of a model, by its handle: committed pages, then a working tail,
// then tokens not yet computed. It is bound to its replica and to its instance's ledger when it is
// made, and it alone changes what it holds of them.
//
// Token i of the tail has position chain().page_count() * page_size + i, which is also its logical
// slot.
//
// Thread   engine thread only.
// Errors   OutOfRange for a context longer than the model's; NoFreePage for one longer than the
//          pool; QuotaExceeded. Nothing has changed when an error is returned.
//
// Invariants, all checked by verify():
//   X1  The head is a root or a committed page, page_count() pages below its root. The first
//       anchor_count() of them are held as a chain, the pages of the window alone, and the others
//       are wholly dropped.
//   X2  Between operations the tail has as many pages as its written tokens need, or as were
//       reserved (some of which it may lack after a suspension); while an operation computes queued
//       tokens, as many as all of them need.
//   X3  Only the page that the next token goes to may be sealed or a boundary, and never while it
//       is being written.
//   X4  written + in flight + queued tokens are all tokens of the tail.
//   X5  Claims exist only while a batch computes the context.
//   X6  Only slots that were written are dropped.
//   X7  A suspended context holds nothing but the name of its head, and pins its pages on a tier if
//       it was swapped. Lost tokens are neither written nor queued by the program, and come before
//       those that are.
//   X8  The device has no more entries of the table than there are; of a suspended context, whose
//       pages may come back to other places, it has no table.
//   X9  Each committed page is named by the adapters that the context has for its slots.
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/slab.h"
#include "control/contexts/adapter_set.h"
#include "control/contexts/context_parts.h"
#include "control/contexts/device_table.h"
#include "control/contexts/model_resources.h"
#include "control/contexts/tail_tokens.h"
#include "control/contexts/working_pages.h"
#include "control/pages/slot_view.h"
#include "control/store/records.h"
#include "inference/api/batch.h"

namespace quire::control {

struct Operation;

class alignas(64) Context {
 public:
  // Fields that the slab and the table of operations keep in each object.
  std::uint32_t generation = 0;
  Ref<Operation> last_operation;
  void recycle();

  void bind(const ContextOwner& owner) { owner_ = owner; }
  const ContextOwner& owner() const { return owner_; }
  Replica* replica() const { return owner_.replica; }
  Instance* instance() const { return owner_.instance; }
  QueueObject* queue() const { return owner_.queue; }
  std::uint32_t index() const { return index_; }  // Among its instance's contexts.
  void set_index(std::uint32_t index) { index_ = index; }

  bool is_in_flight() const { return is_in_flight_; }
  bool is_opening() const { return is_opening_; }      // A snapshot: its pages come one by one.
  bool is_suspended() const { return is_suspended_; }  // Holds no page.
  const TailTokens& tokens() const { return tokens_; }
  const WorkingPages& working() const { return working_; }
  const CommittedChain& chain() const { return chain_; }
  const DeviceTable& table() const { return table_; }
  const SlotView& view() const { return view_; }  // Which slots were dropped, and when.
  const ContextAdapters& adapters() const { return adapters_; }     // Those queued included.
  const SwappedContext* swapped() const { return swapped_.get(); }  // Null: not on a tier.
  const AwayMark& away() const { return away_; }
  const ContextUse& use() const { return use_; }
  const ContextWishes& wishes() const { return wishes_; }
  std::uint32_t page_size() const { return cache().page_size(); }
  bool is_idle() const;   // Nothing is on its way in it, and its pages are here.
  bool is_plain() const;  // Its tokens give its bits.
  std::uint32_t seq_len() const;
  ContextCounters counters() const;
  std::uint64_t held_token_count() const;  // Those queued included.
  // The token at `position`, which is written. O(pages after it).
  inference::TokenId token_at(std::uint32_t position) const;
  // The last `count` tokens, oldest first; fewer if it has fewer. O(count).
  void copy_last_tokens(std::uint32_t count, std::vector<inference::TokenId>& out) const;
  std::uint32_t written_tail_count() const;  // Pages of the tail that have written slots.
  // Of page `index` of the tail, the slots that were written and that the context can see: what
  // lies in the others may be another tenant's, and is not to leave the pool.
  std::uint32_t visible_tail_slots(std::uint32_t index) const;

  void open(NodeId root);  // It begins, empty.
  void drop();             // It gives everything back, also in flight.

  // Queues tokens. The first beyond the context length is kept, further ones are only counted:
  // computing either is an error.
  void append(std::span<const std::uint32_t> tokens);
  void append_drawn(std::uint32_t token);  // By the host.
  // Tokens that are queued from now on are of these adapters; null: of none.
  void use_adapters(AdapterSetRef set) { adapters_.in_force = std::move(set); }
  // Queues the tokens of slots [begin, end) of `source` (written or queued): pages of it that say
  // the same at the same place are found when they are computed.
  Result<void> splice(const Context& source, SlotRange range);
  bool is_overfull() const;         // More is queued than it may hold: computing it is an error.
  Result<void> check_fits() const;  // All that is queued can be computed some time.
  std::uint64_t room() const;       // Tokens that can be queued in addition, and computed.

  // Whether queued tokens may be found: with those written before them they fill a page.
  bool has_page_to_find() const;
  // Attaches the full pages that exist for the queued tokens, at most `page_count_max` of them.
  // Requires: not in flight.
  FindResult find_queued(std::uint32_t quota, std::uint32_t page_count_max);
  // Whether the first `count` queued tokens, at least one, have slots of their own already: then
  // pages_wanted() is 0 and take_pages() has nothing to do.
  bool has_slots(std::uint32_t count) const;
  // Pages to be taken so that the first `count` queued tokens have slots of their own.
  std::uint32_t pages_wanted(std::uint32_t count) const;
  // Takes those for the first `count` queued tokens; false if there are not as many. A sealed tail
  // page that has another holder is copied.
  bool take_pages(std::uint32_t count, std::vector<inference::PageCopy>& copies);
  void trim_tail();  // Pages that no written token needs go: after an operation failed.

  // Puts the next `count` queued tokens in flight. Claims the pages they fill, and the one they
  // begin if more tokens to fill it are queued. `drafts` come after all that is queued: they are in
  // flight too, and may have to go again, so no context waits for a page that they are to fill.
  void begin_flight(std::uint32_t count, std::span<const inference::TokenId> drafts = {});
  // Appends what the device does not know of the table yet. Requires: the context has a sequence.
  void sync_table(std::vector<inference::TableChange>& changes);
  // The batch is done: commits the pages that are full now, or gives the tokens back to the queue.
  // `rejected_count`: drafts, the last ones, that go as if they had never been there.
  void end_flight(bool is_written, std::uint32_t rejected_count = 0);
  void begin_sequence(inference::SequenceId sequence) {
    table_.begin(sequence);
  }  // SequencePool's.
  void end_sequence() { table_.end(); }

  // `child`, bound to the same owner, becomes a second context with the same content. Commits what
  // is full. Requires: not in flight.
  void fork_to(Context& child);
  // Takes back the last tokens of the queue and of the tail.
  Result<void> truncate(std::uint32_t token_count);
  // The context ends at `length` logical tokens; what was queued is gone. A page cut in the middle
  // is copied by the next write. What was dropped stays dropped. O(pages after `length`).
  Result<void> rewind(std::uint32_t length);
  // Tokens to come do not see slots [begin, end), and pages that no token can see any more are let
  // go. Logical slots, positions and the length stay as they are.
  Result<void> drop_range(SlotRange range);
  void drop_slots(const SlotSet& slots);  // The same of many. Requires: all of them were written.

  // Published operations on the tail. reserve: `count` empty pages more, which stay.
  // Requires: pages_to_reserve() can be taken.
  std::uint32_t pages_to_reserve(std::uint32_t count) const;
  void reserve_pages(std::uint32_t count);
  // The first `count` pages of the tail become committed; PageNotFull if one has a free slot.
  Result<void> commit_pages(std::uint32_t count);
  void commit_full();  // As many as are full. Requires: not suspended.
  // Gives the last `count` pages of the tail back, with the tokens in them.
  Result<void> release_pages(std::uint32_t count);
  // Takes the last `count` written tokens of the tail back; its pages stay.
  Result<void> truncate_page_tokens(std::uint32_t count);
  // The ticket of the snapshot that it was taken from, until its program has the context: once.
  store::TicketId give_ticket() { return std::exchange(taken_ticket_, store::kNoTicket); }

  // Suspension: it gives its pages up and goes on existing; see context_suspend.cc.
  bool can_suspend() const;  // Now, and it holds a page that this would let go.
  void suspend();            // Requires: can_suspend().
  // Holds what is still there of the chain again, as far as the instance may have it: no more than
  // `quota` pages. The rest is lost. O(its pages). Requires: suspended.
  void resume(std::uint32_t quota);
  // Swapping: it gives them up to a tier, and takes the very bytes back; see context_swap.cc.
  bool may_swap() const;  // It is to be swapped, because it cannot be suspended without. O(1).
  bool can_swap() const;  // And the tiers have room for it now. O(its pages).
  void swap_out(std::vector<SwapSave>& saves);  // In the batch being built. Requires: can_swap().
  void begin_swap_in() { is_in_flight_ = true; }
  void end_swap_in() { is_in_flight_ = false; }
  // All committed pages are in the pool, and `tail` are its working pages, with the bytes of the
  // tail in the first of them; the context has a hold on each of these. No other holder's holds are
  // used up.
  void swap_in(std::span<const PageId> tail);
  // The bytes of page `index` of its tail, to be loaded; give_tail_page() where they were not.
  inference::PageBytes take_tail_page(std::size_t index);
  void give_tail_page(std::size_t index, inference::PageBytes bytes);
  void lose_tail_page(Error error) { swapped_->error = std::move(error); }

  // Pages that it had and lacks, and how many of its pages, from the root, are full ones that it
  // has or had: whatever it finds for them it is charged with already. See away_pages.h. O(1).
  std::uint32_t away_page_count() const;
  std::uint32_t charged_full_count() const;
  void set_away_index(std::uint32_t index) { away_.index = index; }  // PageLedger's.
  void forget_away();                                                // It lacks nothing, or ends.
  void note_use(BatchId batch) { use_.batch = static_cast<std::uint64_t>(batch); }
  void note_miss(std::uint64_t miss) { use_.miss = miss; }
  DrawHistory& drawn() { return drawn_; }
  void set_hint(ContextHintKind kind, std::uint32_t seconds);
  void set_beyond(bool is_allowed) { wishes_.is_beyond_context = is_allowed; }
  void verify() const;

 private:
  friend class ContextBuilder;  // Makes one of pages that come from elsewhere.
  friend struct ContextPeer;    // Of its death tests.
  PageCache& cache() const { return owner_.resources->cache; }
  PageLedger& ledger() const { return *owner_.ledger; }
  ModelResources& resources() const { return *owner_.resources; }

  std::uint32_t table_entry_count() const;
  bool extend_tail(std::uint32_t count);
  void release_tail(std::uint32_t keep_count);
  void commit_first();
  void attach_found(std::span<const NodeId> nodes, FindResult& result);
  void claim_pages(std::uint32_t end);
  void note_appended();    // The next token is of the adapters in force.
  void forget_adapters();  // Of tokens that it no longer has.
  void cut_written(std::uint32_t written_count);
  Result<void> rewind_queue(std::uint32_t written, std::uint32_t length);
  void rewind_committed(std::uint32_t length, std::uint32_t kept);
  void note_away();
  void keep_away_head(NodeId head, std::uint32_t count);
  void fork_away(Context& child) const;
  void drop_away_head();
  void fork_swapped(Context& child) const;
  void unpin_swapped();
  void verify_suspended() const;
  void verify_tail() const;
  void verify_away() const;
  void verify_adapters() const;

  bool is_in_flight_ = false;
  bool is_opening_ = false;
  bool is_suspended_ = false;
  TailTokens tokens_;
  WorkingPages working_;
  CommittedChain chain_;
  DeviceTable table_;
  ContextOwner owner_;
  SlotView view_;
  ContextAdapters adapters_;
  std::unique_ptr<SwappedContext> swapped_;
  DrawHistory drawn_;
  ContextUse use_;
  ContextWishes wishes_;
  AwayMark away_;
  store::TicketId taken_ticket_ = store::kNoTicket;
  std::uint32_t index_ = 0;
};

}  // namespace quire::control
