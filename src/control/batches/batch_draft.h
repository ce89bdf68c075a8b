#pragma once
// BatchDraft is the batch that is being built: its rows, reads, copies, loads and saves, the
// records of their outcomes (Flight), and the room that is left.
//
// It exists exactly while a batch is built, so code that has one may add to it.
//
// Thread   engine thread only.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "control/batches/flight.h"
#include "control/batches/ready_queue.h"
#include "control/objects/give_back.h"
#include "control/objects/replica.h"
#include "inference/api/batch.h"

namespace quire::control {

// The memory of a draft, which the next draft uses again.
struct BatchBuffers {
  inference::Batch batch;
  Flight flight;
};

class BatchDraft {
 public:
  struct Limits {
    // The most reads and copied pages of one instance in a batch, because work without rows takes
    // the device's time too. Long answers count more than once. All instances together may have as
    // many as rows.
    std::uint32_t rowless_count_max = 32;
    // The most bytes of a batch's answers. A single answer has room, however long it is.
    std::uint64_t answer_bytes_max = 64u << 20;
    std::uint32_t lookup_page_count_max = 512;      // Looked up in one build: 100 us.
    std::uint32_t command_count_max = 0xffffffffu;  // That the dispatch policy lets in.
    bool counts_commands = false;                   // Only so many; otherwise there is no limit.
    // Rows of decoding and of drafts in a batch, beyond which no drafts are computed. A further row
    // costs a CPU about a seventh of a step of one row. A draft beside one row pays off if one in
    // seven is drawn. Beside 16 rows it pays off only if nearly all are.
    std::uint32_t guess_row_count_max = 32;
    // Operations issued after a command in the batch may join it.
    bool joins = true;
  };
  BatchDraft(Replica& replica, BatchId id, BatchBuffers buffers, const Limits& limits);

  BatchId id() const { return batch_.id; }
  bool is_of_this(std::uint64_t batch) const { return batch == static_cast<std::uint64_t>(id()); }
  // By a pass of this batch, which copies before it.
  bool is_being_written(const PageObject& page) const { return is_of_this(page.writer_batch); }
  // For steps, which put their copies and table changes into it.
  inference::Batch& batch() { return batch_; }
  bool is_empty() const;

  // --- Room ---
  std::uint32_t row_count() const { return static_cast<std::uint32_t>(batch_.rows.size()); }
  std::uint32_t device_row_limit() const { return device_row_limit_; }
  std::uint32_t rows_left() const {
    if (is_closed()) return 0;
    return row_limit_ > row_count() ? row_limit_ - row_count() : 0;
  }
  // Whether the draft takes no more commands, not even after one that it has.
  bool is_closed() const { return commands_left_ == 0 && !limits_.joins; }
  std::uint32_t commands_left() const { return commands_left_; }
  // The drafts that each draw may have, once it is known that so many rows of decoding are ready.
  void share_guesses(std::uint64_t decode_row_count) {
    const std::uint64_t each =
        limits_.guess_row_count_max / std::max<std::uint64_t>(decode_row_count, 1);
    guess_share_ = static_cast<std::uint32_t>(each) - (each > 0 ? 1 : 0);
  }
  std::uint32_t guess_share() const { return guess_share_; }
  std::uint32_t& lookups_left() { return lookups_left_; }
  PrefillBudget& budget() { return budget_; }
  // Attempts one command, with at most `rows_max` rows; how many it got.
  template <typename Try>
  std::uint32_t take(bool is_prefill, std::uint32_t rows_max, Try attempt);
  // For a read or a copy: each can make the next one ready, and so all of them come into one batch.
  bool has_rowless_room(const Operation& operation);
  void note_rowless(const Operation& operation, std::uint32_t count);
  // Whether the batch has room for an answer of so many bytes, which counts then.
  bool takes_answer(const Operation& operation, std::uint64_t bytes);

  // --- Passes ---
  PassRecord& begin_pass(PassOwner& owner, Operation& operation);
  void add_row(const inference::Row& row) { batch_.rows.push_back(row); }
  // The number by which rows say that they are computed under `set`.
  std::uint32_t adapters_of(const ChosenAdaptersRef& set);
  // The output of the row, one of the pass that was begun last, goes to `embed`.
  void want_output(EmbedObject& embed, std::uint32_t row);
  // Ends the pass, whose rows are the last ones of the batch: charges them to the operation's
  // tenant.
  void end_pass(Operation& operation, inference::ForwardPass pass);
  PassRecord& last_pass() { return flight_.passes.back(); }
  std::uint32_t last_pass_index() const {
    return static_cast<std::uint32_t>(flight_.passes.size()) - 1;
  }
  std::uint32_t pass_count() const { return static_cast<std::uint32_t>(flight_.passes.size()); }
  bool has_passes() const { return !flight_.passes.empty(); }
  std::uint32_t forward_count() const {
    return static_cast<std::uint32_t>(flight_.forwards.size());
  }
  void add_forward(ForwardRecord record) { flight_.forwards.push_back(std::move(record)); }

  // --- Reads ---
  inference::DistributionRequest& add_request() { return batch_.distributions.emplace_back(); }
  // Adds the record of a read. Each has requests of the batch, one after the other.
  void add_read(const ReadRecord& record) { flight_.reads.push_back(record); }

  // --- Transfers ---
  void add_load(TransferOwner& owner, inference::PageLoad load) {
    batch_.loads.push_back(std::move(load));
    flight_.loads.push_back(&owner);
  }
  void add_save(TransferOwner& owner, inference::PageSave save) {
    batch_.saves.push_back(std::move(save));
    flight_.saves.push_back(&owner);
  }

  BatchBuffers finish() && { return {std::move(batch_), std::move(flight_)}; }

 private:
  std::size_t part_count() const {
    return batch_.passes.size() + batch_.distributions.size() + batch_.loads.size() +
           batch_.copies.size();
  }

  Replica& replica_;
  const Limits limits_;
  inference::Batch batch_;
  Flight flight_;
  double adapter_cost_of_last(std::uint32_t row_count) const;

  std::vector<ChosenAdaptersRef> adapters_;  // Those of batch_.adapter_sets,
  std::vector<double> adapter_costs_;        // and what a row under each costs more.
  PrefillBudget budget_;                     // What is left of it.
  bool is_prefilling_ = false;               // Rows that are added now are of prefill.
  std::uint32_t lookups_left_;
  std::uint32_t guess_share_ = 0;
  std::uint32_t commands_left_;
  const std::uint32_t device_row_limit_;
  std::uint32_t row_limit_;
  std::uint32_t rowless_count_ = 0;  // Reads and copied pages.
  std::uint64_t answer_bytes_ = 0;   // Of the reads.
};

// Inline: they run for each operation of each batch.
inline bool BatchDraft::has_rowless_room(const Operation& operation) {
  Instance& instance = *operation.instance;
  const auto batch = static_cast<std::uint32_t>(id());
  if (instance.rowless.batch != batch) {
    instance.rowless.batch = batch;
    instance.rowless.count = 0;
  }
  if (instance.rowless.count >= limits_.rowless_count_max) return false;
  if (rowless_count_ < device_row_limit()) return true;
  replica_.shares.leave_waiting(replica_.share(instance));
  return false;
}

inline void BatchDraft::note_rowless(const Operation& operation, std::uint32_t count) {
  operation.instance->rowless.count += count;
  rowless_count_ += count;
  replica_.shares.charge(replica_.share(*operation.instance), FairShares::kRowsOfRowless * count);
}

inline bool BatchDraft::takes_answer(const Operation& operation, std::uint64_t bytes) {
  if (answer_bytes_ > 0 && answer_bytes_ + bytes > limits_.answer_bytes_max) {
    replica_.shares.leave_waiting(replica_.share(*operation.instance));
    return false;
  }
  answer_bytes_ += bytes;
  return true;
}

inline PassRecord& BatchDraft::begin_pass(PassOwner& owner, Operation& operation) {
  PassRecord& pass = flight_.passes.emplace_back();
  pass.owner = &owner;
  pass.operation = Ref<Operation>(&operation);
  pass.output_first = static_cast<std::uint32_t>(flight_.outputs.size());
  return pass;
}

inline void BatchDraft::want_output(EmbedObject& embed, std::uint32_t row) {
  take_slot(embed);
  embed.batch = static_cast<std::uint64_t>(batch_.id);
  embed.row = row;
  embed.pass = last_pass_index();
  embed.position = batch_.rows[row].position + 1;
  batch_.rows[row].output = embed.slot;
  flight_.outputs.push_back(Ref<EmbedObject>(&embed));
  ++flight_.passes.back().output_count;
}

inline void BatchDraft::end_pass(Operation& operation, inference::ForwardPass pass) {
  const std::uint32_t row_count = pass.row_count;
  batch_.passes.push_back(std::move(pass));
  if (is_prefilling_) {
    const std::uint32_t page_size = replica_.resources.cache.page_size();
    const std::uint32_t slot_count = slot_count_of(operation, page_size) + row_count / 2;
    flight_.step.prefill_row_count += row_count;
    flight_.step.prefill_slot_count += std::uint64_t{row_count} * slot_count;
    budget_.spend(row_count, slot_count);
  } else {
    flight_.step.decode_row_count += row_count;
  }
  operation.instance->statistics.computed_token_count += row_count;
  operation.waiting.computed_row_count += row_count;
  operation.waiting.since_ns = kNotSeen;  // An operation that gets rows has not waited.
  double cost = row_count;
  if (!adapters_.empty()) cost += adapter_cost_of_last(row_count);
  replica_.shares.charge(replica_.share(*operation.instance), cost);
}

template <typename Try>
std::uint32_t BatchDraft::take(bool is_prefill, std::uint32_t rows_max, Try attempt) {
  QUIRE_CHECK(!limits_.counts_commands || commands_left_ > 0,
              "more commands than the policy lets in");
  const std::size_t parts = limits_.counts_commands ? part_count() : 0;
  const std::uint32_t rows = row_count();
  const std::uint32_t limit = device_row_limit();
  row_limit_ = rows + std::min(rows_max, limit - std::min(limit, rows));
  is_prefilling_ = is_prefill;
  attempt();
  is_prefilling_ = false;
  row_limit_ = limit;
  if (limits_.counts_commands && part_count() > parts) --commands_left_;
  return row_count() - rows;
}

}  // namespace quire::control
