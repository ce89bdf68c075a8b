#pragma once
// Batch: what the device is to do next. Completion: what it did. Two of the four nouns.
//
// Values only: a process boundary could go here. A Batch carries changes to page tables that live
// on the device's side, whole pages that come back from another tier, ordered page copies, then
// rows, then pages that are wanted in another tier. A row is one token of one forward pass. Each
// part may be empty: a batch of loads and saves alone is a batch.
//
// Slots. A sequence's page table is a list of entries; the logical slot of a token is its entry's
// index times the page size plus its offset. An entry with kNoPage is a hole that keeps the
// numbering. `visible` has a bit for each slot of the page that may be attended to: written (also
// by this batch) and not masked in this view.
//
// Visibility. Row r of a forward pass sees a slot s if s is visible in the table,
// s < visible_slot_end, and the rule about positions allows it. The rule allows a key with a
// smaller position than the row's. It also allows an equal position if s <= the row's own slot, or
// if the row writes nothing. An explicit mask replaces the rule: bit [row][s] alone then decides
// among visible slots.
//
// States. Some models have layers that keep no keys and values, but one state, which each row
// changes and which cannot be taken back. Their device has slots for states. A state holds that of
// all such layers after some row, and the output of that row. A pass begins from the state in one
// slot, or from the state before any text, and every one of its rows changes the state in turn,
// whether it writes keys and values or not. The pass says after which of its rows the state is
// wanted, and in which slots. No slot is written twice in a batch. A slot that a pass writes is
// read by no other pass of the batch, and by its own pass only if that has one row, which then
// changes the state in place. After a failed pass the content of the slots that it was to write is
// undefined. States are loaded and saved like pages. No pass writes a slot that the batch loads.
//
// Order within one batch:
//   1. table changes;
//   2. loads, in any order among themselves;
//   3. copies, in their order: one may read a page that this batch loads;
//   4. all forward passes together: every layer writes the keys and values of all rows before any
//      row attends;
//   5. saves and distributions: a page that this batch loads, copies into or writes can be saved in
//      the same step.
// Batches take effect in the order of submission.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "inference/api/adapter.h"
#include "inference/api/draw_masks.h"
#include "inference/api/page_bytes.h"
#include "inference/api/types.h"
#include "quire/draw_rule.h"

namespace quire::inference {

struct TableEntry {
  PageId page = kNoPage;
  std::uint32_t visible = 0;  // Bit i: slot i of the page may be attended to.
};

// Replaces entries [entry_first, entry_first + entries.size()) and sets the table's length.
// A sequence exists from its first change until one with `release`.
struct TableChange {
  SequenceId sequence{};
  std::uint32_t entry_first = 0;
  std::vector<TableEntry> entries{};
  std::uint32_t entry_count = 0;
  bool release = false;
};

// Replaces all of a page by what a PageSave gave, of this page or of any other (page_bytes.h says
// when that means something). A batch loads a page at most once.
// A load with another number of bytes than BackendCapabilities::page_bytes, or state_bytes for a
// state, is refused (InvalidArgument). The backend does not check the bytes: the tier that kept
// them does. After a failed load the page is undefined. What reads it in the batch still runs.
struct PageLoad {
  PageId page{};
  PageBytes bytes{};
  StateSlot state = kNoState;  // If it is set: the slot that is replaced, and not a page.
};

// Asks for the bytes of a page. `slots` has a bit for each slot that was written and is wanted. All
// other slots have zeros as keys, values and positions, for two reasons: a recycled page still
// holds what its last user wrote, which must not be kept, and equal content gives equal bytes. A
// save gives what lies in the page, even if the pass that was to write it failed.
//
// The bytes are written into `memory` if it is given, and into new memory if it is empty. A
// `memory` with another number of bytes than BackendCapabilities::page_bytes is an error
// (InvalidArgument). New memory can cost several times the copy, because it faults in piece by
// piece while the device waits. A tier that saves often therefore keeps buffers and gives them.
struct PageSave {
  PageId page{};
  std::uint32_t slots = kAllSlots;
  PageBytes memory{};
  StateSlot state = kNoState;  // If it is set: the slot that is wanted, and not a page.
};

// Copies keys, values and positions of slots within one pool. Copies run in order.
struct PageCopy {
  PageId from{};
  PageId to{};
  std::uint32_t from_slot = 0;
  std::uint32_t to_slot = 0;
  std::uint32_t slot_count = 0;
};

inline constexpr std::uint32_t kNoAdapters = 0xffffffffu;  // The base alone.

// One token of a forward pass. Its input is `token`, or the vector in `embed` where that is set.
struct Row {
  TokenId token{};
  EmbedSlot embed = kNoEmbedSlot;
  std::uint32_t position = 0;
  std::uint32_t slot = kNoSlot;     // Logical slot that takes its keys and values.
  EmbedSlot output = kNoEmbedSlot;  // Where its final hidden state is kept, if anywhere.
  // What acts on this row: an index into Batch::adapter_sets. Its keys, its values and its output
  // are those of the set; what it sees of other rows is as their own sets made it.
  std::uint32_t adapters = kNoAdapters;
  // The row is not computed: its output is the one in the state that its pass begins from. Such a
  // row is its pass's only one.
  bool is_of_state = false;
};

// Boolean [row_count][slot_count], packed row by row into 64-bit words, bit 0 first.
struct SlotMask {
  std::uint32_t slot_count = 0;
  std::vector<std::uint64_t> words{};  // row_count * words_per_row
  std::uint32_t words_per_row() const { return (slot_count + 63) / 64; }
};

// The state after the first row_count rows of a pass goes into a slot.
struct StateWrite {
  std::uint32_t row_count = 0;
  StateSlot slot{};
};

// Consecutive rows [row_first, row_first + row_count) of one sequence.
struct ForwardPass {
  SequenceId sequence{};
  std::uint32_t row_first = 0;
  std::uint32_t row_count = 0;
  std::uint32_t visible_slot_end = 0;
  std::optional<SlotMask> mask{};
  // No slot to begin from: the state before any text, or a model without states.
  StateSlot state_from = kNoState;
  std::uint32_t state_write_first = 0, state_write_count = 0;  // In Batch::state_writes, rising.
};

enum class DistributionKind : std::uint8_t {
  TopK,      // Tokens and probabilities.
  Logits,    // All of them, before the softmax.
  Logprobs,  // Natural logarithms of the full softmax, of the tokens that are named.
  Entropy,   // Of the full softmax, in nats.
  Vector,    // The output itself: what the logits are computed from.
  Draw,      // One token, drawn by a rule, and its probability.
};

// The options of Draw. quire/draw_arithmetic.h does the draw, also for programs. A rule that leaves
// logits alone draws from the probabilities that TopK gives, under the same mask.
struct DrawOptions {
  std::shared_ptr<const DrawRule> rule{};  // Never null.
  double random = 0.0;  // In [0, 1): which token it becomes is decided by this number alone.
  // The last history_window(*rule) tokens before the drawn one, or all of them, oldest first.
  std::vector<TokenId> history{};
  std::uint64_t history_first = 0;  // The place of the first of them in the context.
  std::uint32_t top_count = 0;  // How many of the most probable tokens to report; see Distribution.
};
inline constexpr std::uint32_t kTopCountMax = 64;

// Bit i % 32 of word i / 32: token i may come. It has a word for each 32 tokens of the vocabulary.
// Bits beyond the vocabulary mean nothing. Null: all tokens may come.
using TokenMask = std::shared_ptr<const std::vector<std::uint32_t>>;

// The error of TopK and Draw if their mask allows no token. No other error of a distribution has
// this code.
inline constexpr ErrorCode kNoTokenAllowed = ErrorCode::OutOfRange;

// Asks for the next-token distribution of an output in one of its forms: of a row of this batch, or
// of a kept vector.
struct DistributionRequest {
  std::uint32_t row = kNoSlot;  // Index into Batch::rows, or kNoSlot to use `embed`.
  EmbedSlot embed = kNoEmbedSlot;
  DistributionKind kind = DistributionKind::TopK;
  std::uint32_t top_k = 256;      // Of TopK.
  float temperature = 1.0f;       // Divides the logits of TopK before the softmax.
  std::vector<TokenId> tokens{};  // Of Logprobs.
  DrawOptions draw{};             // Of Draw.
  TokenMask mask{};               // Of TopK and Draw.
  // Draw can have masks that another thread fills, instead of `mask`, and its place in them. If
  // they are not ready when the token is to be drawn, the draw is deferred. If they end before the
  // place, nothing is drawn.
  std::shared_ptr<const DrawMasks> masks{};
  std::uint32_t place = 0;
};

struct Batch {
  BatchId id{};
  ModelId model{};
  std::vector<TableChange> table_changes{};
  std::vector<PageLoad> loads{};
  std::vector<PageCopy> copies{};
  std::vector<Row> rows{};
  // The sets that rows name. A set may be there several times, or be named by no row. Sets need a
  // backend whose BackendCapabilities::adapters is true.
  std::vector<AdapterSet> adapter_sets{};
  std::vector<ForwardPass> passes{};  // Cover `rows` in order, without gaps.
  std::vector<StateWrite> state_writes{};
  std::vector<DistributionRequest> distributions{};
  std::vector<PageSave> saves{};

  // Empties the lists, which keep their memory.
  void clear() {
    table_changes.clear();
    loads.clear();
    copies.clear();
    rows.clear();
    adapter_sets.clear();
    passes.clear();
    state_writes.clear();
    distributions.clear();
    saves.clear();
  }
};

// TopK gives tokens by falling probability, ties by rising token id, cut to the top K. Without a
// mask the probabilities are of the full softmax; with one, of the softmax over the allowed tokens.
// Draw gives the drawn token, then the top_count most probable ones of the full softmax. All its
// probabilities are of the full softmax, before mask, adjustments and temperature. The other kinds
// give values.
struct Distribution {
  bool is_deferred = false;  // Of Draw: its masks were not ready. Nothing was drawn.
  std::vector<TokenId> tokens;
  std::vector<float> probabilities;
  std::vector<float> values;  // [vocabulary_size], [tokens], [1] or [embedding_width].
};

struct Completion {
  BatchId id{};
  // One for each load, pass, distribution and save of the batch, in its order. A failure is that
  // one's alone: the rest of the batch completes.
  std::vector<Result<void>> loads;
  std::vector<Result<void>> passes;
  std::vector<Result<Distribution>> distributions;
  std::vector<Result<PageBytes>> saves;
  // The bytes of each load as they were given, whether it failed or not: a tier keeps them, or uses
  // their memory for a save.
  std::vector<PageBytes> load_bytes;
  std::uint64_t device_ns = 0;  // From start to end on the device.
  // The batch itself, or nothing: the next one is made in its memory.
  Batch batch{};
};

}  // namespace quire::inference
