#pragma once
// ContextParts are the tokens and the pages of a context, with what changes whenever these do: the
// device's page table, the view, and the adapters of its slots. Where a change of one part takes a
// change of another, both are one function here. Edits, searches, batches and suspensions are
// written with these functions, outside of the class.
//
// Thread   engine thread only.
// Errors   none; a request that cannot be met is a bug, and stops the process.
//
// Invariants X1 to X9 of context.h, which Context::verify() checks. The requirements that a
// function names are the caller's to check.
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "control/contexts/chosen_adapters.h"
#include "control/contexts/context_states.h"
#include "control/contexts/context_values.h"
#include "control/contexts/device_table.h"
#include "control/contexts/model_resources.h"
#include "control/contexts/tail_tokens.h"
#include "control/contexts/working_pages.h"
#include "control/pages/slot_view.h"
#include "inference/api/batch.h"

namespace quire::control {

class ContextParts {
 public:
  void bind(const ContextOwner& owner);
  const ContextOwner& owner() const { return owner_; }
  ModelResources& resources() const { return *owner_.resources; }
  PageCache& cache() const { return owner_.resources->cache; }
  PageLedger& ledger() const { return *owner_.ledger; }
  std::uint32_t page_size() const { return cache().page_size(); }

  const TailTokens& tokens() const { return tokens_; }
  const WorkingPages& working() const { return working_; }
  const CommittedChain& chain() const { return chain_; }
  const DeviceTable& table() const { return table_; }
  const SlotView& view() const { return view_; }
  const ContextAdapters& adapters() const { return adapters_; }
  const ContextWishes& wishes() const { return wishes_; }
  // Null: the model has no states.
  const ContextStates* states() const { return states_.get(); }
  ContextStates* states() { return states_.get(); }
  StatedChain stated_chain() const;  // Requires: states().
  std::uint32_t seq_len() const;
  std::uint32_t written_count() const;  // Of all tokens whose keys and values are here.
  // The tokens, the last ones written, that are computed again before the next one: no state stands
  // after them.
  std::uint32_t replay_count() const;
  std::uint64_t held_token_count() const;
  // The entries that the table has for the pages and for the slots that were never written.
  std::uint32_t table_entry_count() const;

  void open(NodeId root) { chain_.open(cache(), root); }
  void set_wishes(const ContextWishes& wishes) { wishes_ = wishes; }
  // Tokens that are queued from now on are of these adapters; null: of none.
  void use_adapters(ChosenAdaptersRef set) { adapters_.in_force = std::move(set); }
  // Queues the first `room` tokens, and counts the rest.
  void append(std::span<const std::uint32_t> tokens, std::uint64_t room);

  // Adds `count` pages to the tail; false if there are not as many.
  bool extend_tail(std::uint32_t count);
  // Gives pages of the tail back until `keep_count` are left.
  void release_tail(std::uint32_t keep_count);
  void trim_tail();  // Pages that no written token needs go, except for those reserved.
  void reserve(std::uint32_t count) { working_.reserve(count); }
  // Page `by` of the tail takes the place of page `index`, one before it, which is given back.
  void replace_tail_page(std::uint32_t index, std::uint32_t by);
  void commit_first();  // Requires: the first page of the tail is full.
  void commit_full();   // As many as are full. Requires: not suspended.

  // Takes the last `count` queued tokens back, those that are only counted first. Returns how many
  // are left, to be cut from those written.
  std::uint32_t take_back(std::uint32_t count);
  // Keeps the first `count` tokens of the tail, and `overflow_count` beyond them. At most
  // `lost_count_max` stay lost.
  void cut_queue(std::uint64_t count, std::uint64_t overflow_count, std::uint32_t lost_count_max);
  void clear_queue();
  // Keeps the first `count` written tokens of the tail; what is queued moves up.
  void cut_written(std::uint32_t count);
  // The context ends at `length`, which lies in a committed page or at the start of one. Nothing
  // stays queued. O(pages after `length`).
  void cut_committed(std::uint32_t length);
  // Tokens to come do not see these slots, and pages that no token can see any more are let go.
  // Requires: all of them were written.
  void drop_slots(const SlotSet& slots);

  // `nodes`, found after the head, hold all written tokens and the first queued ones. Returns the
  // number of those queued.
  std::uint32_t attach_found(std::span<const NodeId> nodes);
  // The next `count` queued tokens, and `drafts` after them, are in flight; the pages that they
  // fill are claimed.
  void begin_flight(std::uint32_t count, std::span<const inference::TokenId> drafts);
  void end_flight(bool is_written, std::uint32_t rejected_count);
  void end_operation() {
    if (states_ != nullptr) states_->end_operation(*owner_.resources->states);
  }
  // The program will come back to the end of the tokens that the context has, those queued too.
  void mark();
  void begin_sequence(inference::SequenceId sequence) { table_.begin(sequence); }
  void end_sequence() { table_.end(); }
  // Appends what the device does not know of the table yet. Requires: there is a sequence.
  void sync_table(std::vector<inference::TableChange>& changes);

  // Suspension: the written tokens of the tail are lost, and all pages go.
  void let_go();
  // Requires: let_go(). Ends at `anchor`, which has `count` pages and is held again; `lost` are the
  // tokens of the committed pages after it. Returns the head that it had, whose name is the
  // caller's then.
  NodeId return_to(NodeId anchor, std::uint32_t count, std::span<const inference::TokenId> lost);
  // Requires: let_go(). All that `swapped` names is held again, and `tail` are the working pages.
  void return_all(const SwappedContext& swapped, std::span<const PageId> tail);

  // Becomes what `parent` is, by name; and shares its pages. Requires: bound, and empty.
  void fork_name_from(ContextParts& parent);
  void fork_pages_from(const ContextParts& parent);
  // Gives the pages back, if it has any; and the name, with all else.
  void give_back_pages(bool is_suspended);
  void close();

 private:
  friend class ContextBuilder;  // Makes one of pages that come from elsewhere.
  friend struct ContextPeer;    // Breaks one, for death tests.

  void note_appended();    // The next token is of the adapters in force.
  void forget_adapters();  // Of tokens that it no longer has.
  void cut_states();       // Likewise, and their marks.
  void cut_marks();        // Queued tokens may have moved up: only those of written ones stay.
  void claim_pages(std::uint32_t end);

  TailTokens tokens_;
  WorkingPages working_;
  CommittedChain chain_;
  DeviceTable table_;
  ContextOwner owner_;
  SlotView view_;
  ContextAdapters adapters_;
  ContextWishes wishes_;
  std::unique_ptr<ContextStates> states_;
};

}  // namespace quire::control
