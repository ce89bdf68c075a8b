#pragma once
// Small values that a context holds.
//
// Thread   engine thread only.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "control/api/context_commands.h"
#include "control/contexts/committed_chain.h"
#include "control/tiers/page_tiers.h"
#include "inference/api/batch.h"

namespace quire::control {

struct Instance;
struct ModelResources;
struct QueueObject;
struct Replica;
class PageLedger;

// The owner of a context, and the counts that its pages are in; all of these outlive it.
struct ContextOwner {
  Replica* replica = nullptr;
  Instance* instance = nullptr;
  QueueObject* queue = nullptr;
  ModelResources* resources = nullptr;  // The replica's.
  PageLedger* ledger = nullptr;         // The instance's, of the replica.
  TenantId tenant{};
};

enum class FindEnd : std::uint8_t { NoMore, Claimed, Slice, Quota };
struct FindResult {
  std::uint32_t token_count = 0;   // Queued tokens whose pages were found.
  std::uint32_t reused_count = 0;  // So many tokens less are computed than without.
  FindEnd end = FindEnd::NoMore;
};

// A program's wishes for a context: for its pages, once they have no holder, and for its length.
struct ContextWishes {
  ContextHintKind hint = ContextHintKind::None;
  std::uint32_t hint_seconds = 0;
  bool is_beyond_context = false;  // The model's context length does not limit it.

  ColdHint cold() const {
    switch (hint) {
      case ContextHintKind::WillResume:
        return {.hint = EvictionHint::WillResume};
      case ContextHintKind::Done:
        return {.hint = EvictionHint::Done};
      case ContextHintKind::Keep:
        return {.hint = EvictionHint::Keep, .keep_seconds = hint_seconds};
      case ContextHintKind::SharedPrefix:
        return {.hint = EvictionHint::SharedPrefix};
      case ContextHintKind::None:
        break;
    }
    return {};
  }
};

// DrawHistory records which of a context's last tokens were drawn, by the host or by the program
// itself. It distinguishes prompts from tokens that continue drawn ones.
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
  // The history of a fork: the child's tokens are drawn anew.
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

// How a context was used.
struct ContextUse {
  std::uint64_t batch = 0;              // The last one that computed it.
  std::uint32_t found_token_count = 0;  // In all.
  std::uint64_t miss = 0;    // Why tokens are computed since the last one found; MissLog.
  std::uint64_t replay = 0;  // Likewise, why written ones are computed again.
  // What a snapshot gave counts as found, as far as no recurrent layer wants it computed again.
  bool is_opened = false;  // That is to be seen.
};

inline constexpr std::uint32_t kNotAway = 0xffffffffu;

// The mark of a suspension, for the quota: see away_pages.h.
struct AwayMark {
  std::uint32_t index = kNotAway;  // In its ledger.
  NodeId head = kNoNode;           // The last full page of what it had, held by name,
  std::uint32_t head_count = 0;    // and the pages from the root to there.
};

// The bytes of a page of a tail, as they were written. Forks share them, and shared bytes never
// change.
using TailBytes = std::shared_ptr<inference::PageBytes>;

// What a context has besides its tokens while its pages are on a tier: see Context::swap_out().
struct SwappedContext {
  std::vector<WindowPage> pages;   // Committed ones that it held, root first,
  std::vector<PinId> pins;         // each pinned.
  std::uint32_t anchor_count = 0;  // Of these, from the first, held as a chain.
  std::uint32_t written_count = 0;
  std::uint32_t reserved_count = 0;
  std::vector<TailBytes> tail;  // Of its working pages; null: not come yet, or being loaded.
  std::optional<Error> error;   // Why one of these never will come.

  // The committed pages that must be in the pool, root first.
  std::vector<NodeId> nodes() const {
    std::vector<NodeId> all;
    for (const WindowPage& page : pages) all.push_back(page.node);
    return all;
  }
  // Whether all pages of its tail have come.
  bool has_tail() const {
    return std::all_of(tail.begin(), tail.end(),
                       [](const TailBytes& bytes) { return bytes != nullptr; });
  }
  // Working pages that it needs beside those.
  std::uint32_t tail_count() const {
    return std::max(static_cast<std::uint32_t>(tail.size()), reserved_count);
  }
};

// A page of a context that is swapped out, in the batch being built. A committed page that is on no
// tier yet goes to one; a page of the tail goes to the context itself.
struct SwapSave {
  inference::PageId page{};
  std::uint32_t slots = inference::kAllSlots;
  NodeId node = kNoNode;  // kNoNode: of the tail,
  std::uint32_t tail_index = 0;
  TransferId transfer = kNoTransfer;
  // One that a fork has too, which could write it before it is saved: there is a hold on it, which
  // the caller gives back when it is.
  bool is_held = false;
};

}  // namespace quire::control
