#pragma once
// Context is what a program has of a model, by its handle: committed pages, then a working tail,
// then tokens not yet computed. It is bound to its replica and to its instance's ledger when it is
// made, and it alone changes what it holds of them, through its parts (context_parts.h). The edits
// that a program asks for are in context_edits.h.
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

#include "base/slab.h"
#include "control/contexts/context_parts.h"
#include "control/store/records.h"

namespace quire::control {

struct Operation;

class alignas(64) Context {
 public:
  // Fields that the slab and the table of operations keep in each object.
  std::uint32_t generation = 0;
  Ref<Operation> last_operation;
  void recycle();

  void bind(const ContextOwner& owner) { parts_.bind(owner); }
  const ContextOwner& owner() const { return parts_.owner(); }
  Replica* replica() const { return owner().replica; }
  Instance* instance() const { return owner().instance; }
  QueueObject* queue() const { return owner().queue; }
  std::uint32_t index() const { return index_; }  // Among its instance's contexts.
  void set_index(std::uint32_t index) { index_ = index; }

  bool is_in_flight() const { return is_in_flight_; }
  bool is_opening() const { return is_opening_; }      // A snapshot: its pages come one by one.
  bool is_suspended() const { return is_suspended_; }  // Holds no page.
  const ContextParts& parts() const { return parts_; }
  ContextParts& parts() { return parts_; }
  const TailTokens& tokens() const { return parts_.tokens(); }
  const WorkingPages& working() const { return parts_.working(); }
  const CommittedChain& chain() const { return parts_.chain(); }
  const DeviceTable& table() const { return parts_.table(); }
  const SlotView& view() const { return parts_.view(); }  // Which slots were dropped, and when.
  const ContextAdapters& adapters() const { return parts_.adapters(); }  // Those queued included.
  const ContextWishes& wishes() const { return parts_.wishes(); }
  const SwappedContext* swapped() const { return swapped_.get(); }  // Null: not on a tier.
  const AwayMark& away() const { return away_; }
  const ContextUse& use() const { return use_; }
  std::uint32_t page_size() const { return parts_.page_size(); }
  bool is_idle() const;   // Nothing is on its way in it, and its pages are here.
  bool is_plain() const;  // Its tokens give its bits.
  std::uint32_t seq_len() const { return parts_.seq_len(); }
  ContextCounters counters() const;
  // The count includes queued tokens.
  std::uint64_t held_token_count() const { return parts_.held_token_count(); }

  void open(NodeId root) { parts_.open(root); }  // It begins, empty.
  void drop();                                   // It gives everything back, also in flight.
  // `child`, bound to the same owner, becomes a second context with the same content. Commits what
  // is full. Requires: not in flight.
  void fork_to(Context& child);

  // Queues tokens. The first beyond the context length is kept, further ones are only counted:
  // computing either is an error.
  void append(std::span<const std::uint32_t> tokens);
  void append_drawn(std::uint32_t token);  // By the host.

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
  // Puts the next `count` queued tokens in flight. Claims the pages they fill, and the one they
  // begin if more tokens to fill it are queued. `drafts` come after all that is queued: they are in
  // flight too, and may have to go again, so no context waits for a page that they are to fill.
  void begin_flight(std::uint32_t count, std::span<const inference::TokenId> drafts = {});
  // The batch is done: commits the pages that are full now, or gives the tokens back to the queue.
  // `rejected_count`: drafts, the last ones, that go as if they had never been there.
  void end_flight(bool is_written, std::uint32_t rejected_count = 0);

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

  void set_away_index(std::uint32_t index) { away_.index = index; }  // PageLedger's.
  void forget_away();                                                // It lacks nothing, or ends.
  void note_use(BatchId batch) { use_.batch = static_cast<std::uint64_t>(batch); }
  void note_miss(std::uint64_t miss) { use_.miss = miss; }
  void note_replay(std::uint64_t miss) { use_.replay = miss; }
  // Written tokens are computed again for their states; with the last one, up to the end.
  void note_replayed(std::uint32_t count, bool has_last);
  void add_found(std::uint32_t count) { use_.found_token_count += count; }
  DrawHistory& drawn() { return drawn_; }
  void set_hint(ContextHintKind kind, std::uint32_t seconds);
  void set_beyond(bool is_allowed);
  void verify() const;

 private:
  friend class ContextBuilder;  // Makes one of pages that come from elsewhere.

  void note_away();
  void keep_away_head(NodeId head, std::uint32_t count);
  void fork_away(Context& child) const;
  void drop_away_head();
  void fork_swapped(Context& child) const;
  void unpin_swapped();

  bool is_in_flight_ = false;
  bool is_opening_ = false;
  bool is_suspended_ = false;
  ContextParts parts_;
  std::unique_ptr<SwappedContext> swapped_;
  DrawHistory drawn_;
  ContextUse use_;
  AwayMark away_;
  store::TicketId taken_ticket_ = store::kNoTicket;
  std::uint32_t index_ = 0;
};

}  // namespace quire::control
