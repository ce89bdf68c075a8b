#pragma once
// Batch: what the device is to do next. Completion: what it did. Two of the four nouns.
//
// Values only: a process boundary could go here. A Batch carries changes to page tables that live
// on the device's side, ordered page copies, then rows. A row is one token of one forward pass.
//
// Slots. A sequence's page table is a list of entries; the logical slot of a token is its entry's
// index times the page size plus its offset. An entry with kNoPage is a hole that keeps the
// numbering. `visible` has a bit for each slot of the page that may be attended to: written (also
// by this batch) and not masked in this view.
//
// Visibility. Row r of a forward pass sees a slot s when s is visible in the table,
// s < visible_slot_end, and the key's position is smaller than the row's, or equal and s <= the
// row's own slot (for a row that writes nothing: s < visible_slot_end). An explicit mask replaces
// the rule about positions: bit [row][s] alone then decides among visible slots.
//
// Order within one batch: table changes, copies, then all forward passes together: every layer
// writes the keys and values of all rows before any row attends.
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "inference/api/types.h"

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

// Copies keys, values and positions of slots within one pool. Copies run in order.
struct PageCopy {
  PageId from{};
  PageId to{};
  std::uint32_t from_slot = 0;
  std::uint32_t to_slot = 0;
  std::uint32_t slot_count = 0;
};

// One token of a forward pass. Its input is `token`, or the vector in `embed` where that is set.
struct Row {
  TokenId token{};
  EmbedSlot embed = kNoEmbedSlot;
  std::uint32_t position = 0;
  std::uint32_t slot = kNoSlot;             // Logical slot that takes its keys and values.
  EmbedSlot output = kNoEmbedSlot;          // Where its final hidden state is kept, if anywhere.
};

// Boolean [row_count][slot_count], packed row by row into 64-bit words, bit 0 first.
struct SlotMask {
  std::uint32_t slot_count = 0;
  std::vector<std::uint64_t> words{};       // row_count * words_per_row
  std::uint32_t words_per_row() const { return (slot_count + 63) / 64; }
};

// Consecutive rows [row_first, row_first + row_count) of one sequence.
struct ForwardPass {
  SequenceId sequence{};
  std::uint32_t row_first = 0;
  std::uint32_t row_count = 0;
  std::uint32_t visible_slot_end = 0;
  std::optional<SlotMask> mask{};
};

enum class DistributionKind : std::uint8_t { TopK, Logits };

// Asks for the next-token distribution of an output: of a row of this batch, or of a kept vector.
struct DistributionRequest {
  std::uint32_t row = kNoSlot;              // Index into Batch::rows, or kNoSlot to use `embed`.
  EmbedSlot embed = kNoEmbedSlot;
  DistributionKind kind = DistributionKind::TopK;
  std::uint32_t top_k = 256;
  float temperature = 1.0f;                 // Divides the logits of TopK before the softmax.
};

struct Batch {
  BatchId id{};
  ModelId model{};
  std::vector<TableChange> table_changes{};
  std::vector<PageCopy> copies{};
  std::vector<Row> rows{};
  std::vector<ForwardPass> passes{};        // Cover `rows` in order, without gaps.
  std::vector<DistributionRequest> distributions{};
};

// Sorted by falling probability, ties by rising token id. Probabilities are of the full softmax,
// cut to the top K and not renormalised.
struct Distribution {
  std::vector<TokenId> tokens;
  std::vector<float> probabilities;
  std::vector<float> logits;                // [vocabulary_size]; only for DistributionKind::Logits.
};

struct Completion {
  BatchId id{};
  // One for each pass and each distribution of the batch, in its order. A failure is that one's
  // alone: the rest of the batch completes.
  std::vector<Result<void>> passes;
  std::vector<Result<Distribution>> distributions;
  std::uint64_t device_ns = 0;              // From start to end on the device.
};

}  // namespace quire::inference
