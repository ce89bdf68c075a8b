#pragma once
// ReadyQueue holds the operations that can go into a batch, with what their order needs.
//
// Thread   engine thread only.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "control/contexts/context.h"
#include "control/objects/command_kinds.h"
#include "control/objects/replica.h"

namespace quire::control {

// An operation that is ready, with what its order depends on.
struct Candidate {
  Ref<Operation> operation{};
  FairShare* share = nullptr;  // Lives while the operation does.
  std::uint64_t age = 0;
  std::uint64_t deadline_ns = kNoDeadline;
  WaitingState waiting{};
  std::uint32_t slot_count = 0;  // That its next row attends to, about.
  std::uint32_t row_count = 0;   // Those that it still needs, at most; 0: none.
  double row_cost = 1;           // Of each, in rows of the model alone.
  Priority priority = Priority::Normal;
  std::uint8_t level = 0;
  bool is_prefill = false;
  bool is_host = false;    // Needs no device, and waits for one who is there.
  bool overtakes = false;  // It goes before a longer prompt whose turn it is.
};

// Operations on names have no queue.
inline Priority priority_of(const Operation& operation) {
  return operation.queue != nullptr ? operation.queue->priority : Priority::Normal;
}

// Rows that it may need: an upper bound, as what is found in the trie needs none.
inline std::uint32_t row_count_of(const Operation& operation, std::uint32_t page_size) {
  if (const Context* context = operation.context) {
    const bool may_have_lost_all = context->is_suspended();
    const std::size_t drafts = operation.read != nullptr ? operation.read->drafts.size() : 0;
    return context->tokens().queued_count() +
           static_cast<std::uint32_t>(operation.requeries.size() + drafts) +
           context->parts().replay_count() +
           (may_have_lost_all ? context->chain().page_count() * page_size : 0);
  }
  return static_cast<std::uint32_t>(operation.input_embeds.size()) - operation.done_count;
}
// Slots that its next row attends to, about.
inline std::uint32_t slot_count_of(const Operation& operation, std::uint32_t page_size) {
  if (const Context* context = operation.context) {
    return context->chain().page_count() * page_size + context->tokens().written_count();
  }
  return static_cast<std::uint32_t>(operation.input_pages.size()) * page_size;
}

class ReadyQueue {
 public:
  // An operation of at most `decode_row_count_max` rows is decoding.
  ReadyQueue(const Replica& replica, std::uint32_t decode_row_count_max)
      : replica_(replica), decode_row_count_max_(decode_row_count_max) {}

  Candidate candidate_of(Operation& operation) const;
  double row_cost_of(const Operation& operation) const {
    const Context* context = operation.context;
    if (context == nullptr || context->adapters().in_force == nullptr) return 1;
    return 1 + adapter_cost(context->adapters().in_force, replica_.model_number_count);
  }
  bool is_prefill(std::uint32_t row_count) const { return row_count > decode_row_count_max_; }
  void add(Operation& operation) { all_.push_back(candidate_of(operation)); }
  void add(const Candidate& candidate) { all_.push_back(candidate); }
  // Transfers put the operations here that they let go on, until add_woken().
  std::vector<Ref<Operation>>& woken() { return woken_; }
  void add_woken();

  std::size_t size() const { return all_.size(); }
  bool is_empty() const { return all_.empty(); }
  Candidate& operator[](std::size_t index) { return all_[index]; }
  // Removes those whose operations have ended.
  void forget_ended() {
    std::erase_if(all_, [](const Candidate& each) { return each.operation.get() == nullptr; });
  }
  // All of them, into `taken`, whose memory the queue goes on with.
  void take_all(std::vector<Candidate>& taken) {
    taken.clear();
    taken.swap(all_);
  }

 private:
  const Replica& replica_;
  const std::uint32_t decode_row_count_max_;
  std::vector<Candidate> all_;
  std::vector<Ref<Operation>> woken_;
};

inline Candidate ReadyQueue::candidate_of(Operation& operation) const {
  const std::uint32_t page_size = replica_.resources.cache.page_size();
  const bool is_host = !needs_any(operation, needs::Batch);
  const bool has_rows = needs_any(operation, needs::Rows);
  const std::uint32_t row_count = has_rows ? row_count_of(operation, page_size) : 0;
  return {.operation = Ref<Operation>(&operation),
          .share = &replica_.share(*operation.instance),
          .age = operation.age,
          .deadline_ns = operation.instance->limits.deadline_ns,
          .waiting = operation.waiting,
          .slot_count = has_rows ? slot_count_of(operation, page_size) : 0,
          .row_count = row_count,
          .row_cost = has_rows ? row_cost_of(operation) : 1,
          .priority = priority_of(operation),
          .is_prefill = is_prefill(row_count),
          .is_host = is_host};
}

}  // namespace quire::control
