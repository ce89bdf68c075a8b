#pragma once
// Context: what a program has of a model, by its handle.
//
// Thread   engine thread only.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/slab.h"
#include "control/api/adapter_runs.h"
#include "control/api/context_commands.h"
#include "control/objects/adapter_set.h"
#include "control/objects/queue_object.h"
#include "control/pages/slot_view.h"
#include "control/store/records.h"
#include "control/tiers/page_tiers.h"
#include "inference/api/batch.h"

namespace quire::control {

struct Instance;
struct Operation;
struct Replica;

// A committed page that a context holds alone, because it dropped one before it.
struct WindowPage {
  std::uint32_t index = 0;  // In the context, from 0.
  NodeId node = kNoNode;
};

// The bytes of a page of a tail, as they were written. Forks share them, and nobody changes bytes
// that are shared.
using TailBytes = std::shared_ptr<inference::PageBytes>;

// What a context has besides its tokens while its pages are on a tier: see context_swap.h.
struct SwappedContext {
  std::vector<WindowPage> pages;   // Committed ones that it held, root first,
  std::vector<PinId> pins;         // each pinned.
  std::uint32_t anchor_count = 0;  // Of these, from the first, held as a chain.
  std::uint32_t written_count = 0;
  std::uint32_t reserved_count = 0;
  std::vector<TailBytes> tail;  // Of its working pages; null: not come yet, or being loaded.
  std::optional<Error> error;   // Why one of these never will come.
};

// What was drawn of a context's last tokens, by the host or by the program itself: it tells prompts
// from the tokens that go on with what was drawn.
class DrawHistory {
 public:
  // A token that the host drew is queued.
  void note_queued() { ++queued_count_; }
  // `own` queued tokens begin to be computed, with outputs for the program or without. How many of
  // them are prompt: not those that the host drew, and not a single one after an output, which the
  // program drew itself.
  std::uint32_t take_prompt(std::uint32_t own, bool wants_output) {
    const std::uint32_t drawn = std::min(own, std::exchange(queued_count_, 0));
    const bool is_step = drawn == 0 && own == 1 && gave_output_;
    if (own > 0 || wants_output) gave_output_ = wants_output;
    const std::uint32_t prompt = is_step ? 0 : own - drawn;
    if (prompt > 0) at_ns_ = 0;  // What was appended in between may have been waited for.
    return prompt;
  }
  // A token is drawn at `now_ns`. When the one before it was; 0: prompt came in between.
  std::uint64_t note_drawn(std::uint64_t now_ns) { return std::exchange(at_ns_, now_ns); }
  // Of a fork: the child's tokens are drawn anew.
  DrawHistory forked() const {
    DrawHistory child = *this;
    child.at_ns_ = 0;
    return child;
  }

 private:
  bool gave_output_ = false;        // When it was last computed, the program got outputs.
  std::uint32_t queued_count_ = 0;  // Of the tokens queued, those that the host drew.
  std::uint64_t at_ns_ = 0;         // When the last token was drawn.
};

inline constexpr inference::SequenceId kNoSequence{0xffffffffu};
inline constexpr std::uint32_t kNotAway = 0xffffffffu;

// A context: committed pages, then a working tail, then tokens not yet computed. Its behaviour is
// in context.h. What each step looks at lies together, as in an Operation.
struct alignas(64) Context {
  std::uint32_t generation = 0;
  bool is_in_flight = false;
  bool is_opening = false;         // Of a snapshot: its pages come one by one.
  bool is_suspended = false;       // Holds no page: see context_suspend.h.
  bool is_beyond_context = false;  // The model's context length does not bound it.
  // The tail's first page has slots that were never written, or whose content has no name.
  bool has_unnamed_start = false;
  bool has_opaque_page = false;       // Among those committed, now or once.
  std::uint32_t committed_count = 0;  // Pages from the root to the head, dropped ones included.
  std::uint32_t written_count = 0;    // In the tail.
  std::uint32_t flight_count = 0;     // Being computed by a batch.
  std::uint32_t claim_count = 0;      // Pages of the tail, from the first, claimed in the trie.
  // Tokens that were written and whose pages went: the first of those in `tokens` that are neither
  // written nor in flight.
  std::uint32_t lost_count = 0;
  // Pages of the tail, from the first, that stay though empty. After a suspension the tail may lack
  // some of them until something needs them; while pages are lost, they count as pages of the tail.
  std::uint32_t reserved_count = 0;
  // tokens[token_first ..): written ones of the tail, those in flight, those queued.
  std::uint32_t token_first = 0;
  std::vector<inference::TokenId> tokens;
  std::vector<PageId> tail;  // Pages behind the head, the first partly written.
  // Where a rewind ended within a committed page: the tail's first page is that node's, held as a
  // page, until the first who writes copies it.
  NodeId boundary = kNoNode;
  NodeId head = kNoNode;  // The last committed page, or the root; held by name.
  // The device's copy of the table.
  inference::SequenceId sequence = kNoSequence;
  std::uint32_t table_clean_count = 0;      // Entries that the device has, except for
  std::vector<SlotRange> table_dirty;       // these, by index of entry.
  std::unique_ptr<SwappedContext> swapped;  // Suspended, and its bytes are on a tier.
  std::uint64_t overflow_count = 0;         // Appended beyond what is kept; only counted.
  std::uint64_t used_batch = 0;             // The last batch that computed it.
  DrawHistory drawn;
  std::uint64_t miss = 0;  // Why tokens are computed since the last one found; MissLog.
  SlotView view;           // Which slots were dropped, and when.
  SlotAdapters<AdapterSetRef> adapters;  // Under which its tokens were appended, and
  AdapterSetRef adapters_in_force;       // those to come.
  // Up to the first page that was dropped whole, the chain is held at its end. Behind that, each
  // page that is left is held alone.
  NodeId anchor = kNoNode;  // Held as a chain; the head, where no page was dropped.
  std::uint32_t anchor_count = 0;
  std::vector<WindowPage> window;  // By rising index.
  Replica* replica = nullptr;
  Instance* instance = nullptr;
  QueueObject* queue = nullptr;
  std::uint32_t found_token_count = 0;
  // What a suspension took, for the quota: see away_pages.h.
  std::uint32_t away_index = kNotAway;  // In its ledger.
  NodeId away_head = kNoNode;           // The last full page of what it had, held by name,
  std::uint32_t away_head_count = 0;    // and the pages from the root to there.
  // Of a snapshot that it was taken from, until its program is known to have it.
  store::TicketId taken_ticket = store::kNoTicket;
  ContextHintKind hint = ContextHintKind::None;
  std::uint32_t hint_seconds = 0;
  std::uint32_t index = 0;  // Among its instance's contexts.
  Ref<Operation> last_operation;
  void recycle() {
    const std::uint32_t kept = generation;
    *this = Context();
    generation = kept;
  }
};

}  // namespace quire::control
