// Which operations come into the batch that is built, in what order, and how many rows each may
// have.
#include <algorithm>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"
#include "control/scheduler/scheduler.h"

namespace quire::control {
namespace {

// As a step reads what lies there soon.
void fetch_lines(const void* address, std::size_t byte_count) {
  constexpr std::size_t kLineBytes = 64;
  const char* first = static_cast<const char*>(address);
  for (std::size_t at = 0; at < byte_count; at += kLineBytes) __builtin_prefetch(first + at);
}

// As long as what each step looks at lies in the first lines of an object.
constexpr std::size_t kOperationBytes = 256;
constexpr std::size_t kContextBytes = 192;

}  // namespace

// An upper bound: what is found in the trie needs no row.
std::uint32_t Scheduler::row_count_of(const Operation& operation) const {
  if (const Context* context = operation.context) {
    const bool may_have_lost_all = context->is_suspended;
    const std::size_t drafts = operation.read != nullptr ? operation.read->drafts.size() : 0;
    return queued_count(*context) +
           static_cast<std::uint32_t>(operation.requeries.size() + drafts) +
           (may_have_lost_all ? context->committed_count * resources_.cache.page_size() : 0);
  }
  return static_cast<std::uint32_t>(operation.input_embeds.size()) - operation.done_count;
}

// Slots that its next row attends to, about.
std::uint32_t Scheduler::slot_count_of(const Operation& operation) const {
  const std::uint32_t page_size = resources_.cache.page_size();
  if (const Context* context = operation.context) {
    return context->committed_count * page_size + context->written_count;
  }
  return static_cast<std::uint32_t>(operation.input_pages.size()) * page_size;
}

Candidate Scheduler::candidate_of(Operation& operation) const {
  const bool is_host = !is_any(operation, kNeedsBatch);
  const bool has_rows = is_any(operation, kComputes);
  const std::uint32_t row_count = has_rows ? row_count_of(operation) : 0;
  return {.operation = Ref<Operation>(&operation),
          .share = &share_of(operation),
          .age = operation.age,
          .deadline_ns = operation.instance->limits.deadline_ns,
          .since_ns = operation.ready_since_ns,
          .slot_count = has_rows ? slot_count_of(operation) : 0,
          .row_count = row_count,
          .priority = priority_of(operation),
          .is_prefill = row_count > options_.decode_row_count_max,
          .is_host = is_host};
}

void Scheduler::add_ready(Operation& operation) {
  ready_.push_back(candidate_of(operation));
}

void Scheduler::add_woken() {
  for (const Ref<Operation>& each : woken_) {
    if (Operation* operation = each.get()) add_ready(*operation);
  }
  woken_.clear();
}

void Scheduler::charge(Operation& operation, std::uint32_t row_count) {
  if (is_prefilling_) {
    const std::uint32_t slot_count = slot_count_of(operation) + row_count / 2;
    building_.step.prefill_row_count += row_count;
    building_.step.prefill_slot_count += std::uint64_t{row_count} * slot_count;
    budget_.spend(row_count, slot_count);
  } else {
    building_.step.decode_row_count += row_count;
  }
  operation.instance->statistics.computed_token_count += row_count;
  operation.ready_since_ns = kNotSeen;  // Whoever gets rows has not waited.
  shares_.charge(share_of(operation), row_count);
}

// One of the commands that are ready, with so many rows at most. How many it got.
std::uint32_t Scheduler::take(Operation& operation, bool is_prefill, std::uint32_t rows_max) {
  const bool counts = timer_.takes_few();
  QUIRE_CHECK(!counts || commands_left_ > 0, "more commands than the policy lets in");
  const std::size_t parts = counts ? batch_part_count() : 0;
  const auto rows = static_cast<std::uint32_t>(batch_.rows.size());
  const std::uint32_t limit = device_row_limit();
  row_limit_ = rows + std::min(rows_max, limit - std::min(limit, rows));
  is_prefilling_ = is_prefill;
  const Attempt outcome = attempt(operation);
  is_prefilling_ = false;
  row_limit_ = limit;
  if (counts && batch_part_count() > parts) --commands_left_;
  if (outcome != Attempt::Placed) settle(operation, outcome);
  return static_cast<std::uint32_t>(batch_.rows.size()) - rows;
}

std::uint32_t Scheduler::device_row_limit() const {
  return resources_.device.row_count_max + (is_planted(Fault::BatchOverLimit) ? 1 : 0);
}

// For a read or a copy: each can make the next one ready, and so all of them come into one batch.
bool Scheduler::has_rowless_room(const Operation& operation) {
  Instance& instance = *operation.instance;
  const auto batch = static_cast<std::uint32_t>(batch_.id);
  if (instance.rowless_batch != batch) {
    instance.rowless_batch = batch;
    instance.rowless_count = 0;
  }
  if (instance.rowless_count >= options_.rowless_count_max) return false;
  if (building_.rowless_count < device_row_limit()) return true;
  shares_.leave_waiting(share_of(operation));
  return false;
}

void Scheduler::note_rowless(const Operation& operation, std::uint32_t count) {
  operation.instance->rowless_count += count;
  building_.rowless_count += count;
  shares_.charge(share_of(operation), FairShares::kRowsOfRowless * count);
}

// Everything that is ready, and what prefill may have beside it.
void Scheduler::collect() {
  taken_.clear();
  taken_.swap(ready_);
  for (std::size_t index = 0; index < taken_.size(); ++index) {
    constexpr std::size_t kAhead = 12;
    if (index + kAhead < taken_.size()) {
      __builtin_prefetch(taken_[index + kAhead].operation.address());
    }
    Candidate& each = taken_[index];
    const Operation* operation = each.operation.get();
    if (operation == nullptr) continue;
    if (has_new_priorities_) each.priority = priority_of(*operation);
    order_.add(each);
  }
  has_new_priorities_ = false;
  // Not one that waits for pages: it is served among those.
  const Operation* first = first_next_.get();
  first_now_ = first != nullptr && first->wanted_page_count == 0 ? first_next_ : Ref<Operation>();
  first_next_ = served_first_ = {};
  budget_ = steps_.next_budget(order_.decode_row_count());
  is_probing_ = budget_.is_spent();
  row_limit_ = device_row_limit();
}

void Scheduler::serve_waiters() {
  first_waiter_ = kNobody;
  if (waiters_.empty()) return;
  std::vector<Ref<Operation>> waiters = std::exchange(waiters_, {});
  std::erase_if(waiters, [](const Ref<Operation>& each) { return each.get() == nullptr; });
  std::sort(waiters.begin(), waiters.end(),
            [](const Ref<Operation>& left, const Ref<Operation>& right) {
              return importance_of(*left.get()) < importance_of(*right.get());
            });
  for (std::size_t index = 0; index < waiters.size(); ++index) {
    Operation* operation = waiters[index].get();
    if (operation == nullptr) continue;
    const std::size_t waiting = waiters_.size();
    if (commands_left_ > 0) {
      // Also where the budget is spent: those behind it wait for its pages.
      const bool is_prefill = row_count_of(*operation) > options_.decode_row_count_max;
      const std::uint32_t rows_max = std::max(budget_.rows(slot_count_of(*operation)), 1u);
      take(*operation, is_prefill, is_prefill ? rows_max : device_row_limit());
      if (waiters_.size() == waiting) continue;
    } else {
      settle(*operation, Attempt::WaitPage);
    }
    // Whoever is less important waits as well.
    waiters_.insert(waiters_.end(), waiters.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                    waiters.end());
    break;
  }
  drain();
}

// Whose rows cannot be parted and found no room, unless its tenant has had more than its share: it
// would go on having that by taking every other batch as a whole.
void Scheduler::place_first() {
  Operation* first = first_now_.get();
  if (first == nullptr || first->state != OperationState::Ready) return;
  if (commands_left_ == 0) {  // Waiters took all that the policy lets in.
    first_next_ = first_now_;
    return;
  }
  if (!shares_.is_in_turn(share_of(*first))) return;
  served_first_ = first_now_;
  take(*first, true, device_row_limit());
  drain();
}

// All decoding, and prefill under its budget. Where that is more than the device takes, whoever has
// had least goes first, and the tail is cut.
void Scheduler::place_all() {
  place_first();
  const std::uint32_t prefill =
      order_.has_prefill() ? budget_.rows(order_.prefill_slot_count_least()) : 0;
  const std::uint64_t wanted = batch_.rows.size() + order_.decode_row_count() + prefill;
  if (wanted > device_row_limit() || timer_.takes_few()) {
    place(Turn::Both, prefill);
  } else {
    place(Turn::Decode, prefill);
    if (!is_probing_) place(Turn::Owed, prefill);
    place(Turn::Prefill, prefill);
  }
  order_.end_batch();
}

// Beyond so many rows what a batch touches, 1.5 KB for each, has left the second-level cache when
// the next one is built, and most of the time would be waiting for the third.
constexpr std::uint64_t kFetchAheadRowsMin = 256;

// What the next ones that decode will need: first the operation, then what it names, then what that
// names, each in time to be there when it is read for the next.
void Scheduler::fetch_ahead() const {
  constexpr std::size_t kOperationAhead = 12;
  constexpr std::size_t kObjectsAhead = 8;
  constexpr std::size_t kContentsAhead = 5;
  constexpr std::size_t kPageAhead = 2;
  const std::span<const Candidate> ahead = order_.decoding_ahead();
  if (ahead.size() <= kOperationAhead) return;
  const Operation* next = ahead[kOperationAhead].operation.address();
  fetch_lines(next, kOperationBytes);
  __builtin_prefetch(&next->output_tokens);
  if (const Operation* operation = ahead[kObjectsAhead].operation.get()) {
    __builtin_prefetch(&operation->instance->shares);
    __builtin_prefetch(&operation->instance->statistics);
    if (operation->context != nullptr) fetch_lines(operation->context, kContextBytes);
    for (const Ref<Operation>& each : operation->successors) {
      fetch_lines(each.address(), kOperationBytes);
    }
  }
  if (const Operation* operation = ahead[kContentsAhead].operation.get()) {
    for (const EmbedObject* each : operation->output_embeds) __builtin_prefetch(each);
    if (const Context* context = operation->context) {
      if (!context->tokens.empty()) __builtin_prefetch(&context->tokens.back());
      if (!context->tail.empty()) __builtin_prefetch(&context->tail.back());
    }
  }
  if (const Operation* operation = ahead[kPageAhead].operation.get()) {
    const Context* context = operation->context;
    if (context != nullptr && !context->tail.empty()) {
      resources_.cache.fetch_state(context->tail.back());
    }
  }
}

void Scheduler::place(Turn turn, std::uint32_t prefill_rows_max) {
  order_.begin(turn, prefill_rows_max);
  const bool fetches_ahead = order_.decode_row_count() >= kFetchAheadRowsMin;
  while (std::optional<Candidate> next = order_.next()) {
    if (fetches_ahead) fetch_ahead();
    Operation* operation = next->operation.get();
    if (operation == nullptr || operation->state != OperationState::Ready) continue;
    if (operation == served_first_.get()) continue;  // It is in a list of the next batch already.
    if (next->row_count > 0 && !next->is_prefill && next->row_count < row_count_of(*operation)) {
      next = candidate_of(*operation);  // Its context was suspended meanwhile.
      if (next->is_prefill && turn == Turn::Decode) {
        order_.add(*next);
        continue;
      }
    }
    // What needs no device may have to bring its context back first.
    const bool is_prefill = next->is_prefill || next->is_host;
    std::uint32_t rows_max = device_row_limit();
    if (turn == Turn::Owed) {
      rows_max = static_cast<std::uint32_t>(next->share->prefill_credit);
    } else if (is_prefill) {
      rows_max = budget_.rows(next->slot_count);
    }
    if (commands_left_ == 0 || (next->row_count > 0 && std::min(rows_max, rows_left()) == 0)) {
      order_.note_waiting(*next);
      ready_.push_back(*next);
      continue;
    }
    operation->ready_since_ns = next->since_ns;
    const std::size_t ready = ready_.size();
    const std::uint32_t rows = take(*operation, is_prefill, rows_max);
    order_.note_served(*next, rows);
    const bool goes_on = rows > 0 && ready_.size() > ready;
    if (goes_on) order_.note_waiting(*next);
    drain();
  }
}

// While the device works on the batch just submitted: what the prompts that wait for room will find
// in the trie, so that the next batch need not look. Takes no page of the pool.
void Scheduler::look_ahead() {
  constexpr std::uint32_t kLookAheadCountMax = 16;  // Prompts.
  lookups_left_ = options_.lookup_page_count_max;
  std::uint32_t count = 0;
  for (std::size_t index = 0; index < ready_.size() && count < kLookAheadCountMax; ++index) {
    Operation* operation = ready_[index].operation.get();
    if (operation == nullptr || !ready_[index].is_prefill || !computes_context(*operation)) {
      continue;
    }
    const Context& context = *operation->context;
    if (context.is_in_flight || context.is_suspended || context.lost_count > 0) continue;
    ++count;
    if (operation->error || (!operation->is_started && !start_context(*operation).ok())) {
      continue;  // It is told when its turn comes.
    }
    if (find_context(*operation) == FindEnd::Claimed) operation->has_waited = true;
    operation->ready_since_ns = ready_[index].since_ns;
    ready_[index] = candidate_of(*operation);
  }
}

}  // namespace quire::control
