// Placement decides which operations come into the batch that is built, in what order, and how many
// rows each may have.
#include <algorithm>
#include <span>
#include <utility>

#include "base/check.h"
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

std::uint32_t Scheduler::rows_of(const Operation& operation) const {
  return row_count_of(operation, replica_.resources.cache.page_size());
}

std::uint32_t Scheduler::slots_of(const Operation& operation) const {
  return slot_count_of(operation, replica_.resources.cache.page_size());
}

Attempt Scheduler::attempt(Operation& operation) {
  Steps& steps = families_.of(operation);
  if (operation.error) return steps.fail(operation, std::move(*std::exchange(operation.error, {})));
  return steps.attempt(operation, draft_ ? &*draft_ : nullptr);
}

void Scheduler::settle(Operation& operation, Attempt attempt) {
  switch (attempt) {
    case Attempt::Done:
      families_.turn.has_progress = true;
      break;
    case Attempt::Placed:
      break;
    case Attempt::Blocked:
      operation.wanted_page_count = 0;
      break;
    case Attempt::Later:
      operation.wanted_page_count = 0;  // It waits for something else now.
      families_.ready.add(operation);
      break;
    case Attempt::WaitPage:
      families_.room.note_waiting(operation);
      break;
  }
}

// One of the commands that are ready, with so many rows at most. How many it got.
std::uint32_t Scheduler::take(Operation& operation, bool is_prefill, std::uint32_t rows_max) {
  return draft_->take(is_prefill, rows_max, [&] {
    const Attempt outcome = attempt(operation);
    if (outcome != Attempt::Placed) settle(operation, outcome);
  });
}

// Everything that is ready, and what prefill may have beside it.
void Scheduler::collect() {
  families_.ready.take_all(taken_);
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
  Ref<Operation>& first_next = families_.turn.first_next;
  const Operation* first = first_next.get();
  first_now_ = first != nullptr && first->wanted_page_count == 0 ? first_next : Ref<Operation>();
  first_next = served_first_ = {};
  decode_row_count_ = decoding_of_batch();
  draft_->share_guesses(order_.decode_row_count());
  draft_->budget() = steps_.next_budget(decode_row_count_);
  is_probing_ = draft_->budget().is_spent();
}

// The rows of decoding that the batch takes. Now and then it takes all that is ready, to see what
// such a step costs.
std::uint64_t Scheduler::decoding_of_batch() {
  constexpr std::uint32_t kUnlimitedEvery = 64;
  const std::uint64_t all = order_.decode_row_count();
  const std::optional<double> step_rows = steps_.step_rows();
  if (!step_rows || timer_.takes_few()) return all;
  const std::uint64_t rows =
      order_.limit_decoding(*step_rows, order_.has_prefill() ? StepModel::kStretch : 1.0);
  if (rows < all && ++limited_count_ % kUnlimitedEvery == 0) {
    order_.lift_limits();
    return all;
  }
  return rows;
}

void Scheduler::serve_waiters() {
  families_.room.serve([&](Operation& operation) {
    if (draft_->commands_left() == 0) return settle(operation, Attempt::WaitPage);
    // A waiter gets a row even if the budget is spent, because those after it wait for its pages.
    const bool is_prefill = families_.ready.is_prefill(rows_of(operation));
    const std::uint32_t rows_max = std::max(draft_->budget().rows(slots_of(operation)), 1u);
    take(operation, is_prefill, is_prefill ? rows_max : draft_->device_row_limit());
  });
  table_.run_ready();
}

// Places the operation whose rows cannot be parted and found no room. A tenant that has had more
// than its share is left out: it would keep that by taking every other batch as a whole.
void Scheduler::place_first() {
  Operation* first = first_now_.get();
  if (first == nullptr || first->state != OperationState::Ready) return;
  if (draft_->commands_left() == 0) {  // Waiters took all that the policy lets in.
    families_.turn.first_next = first_now_;
    return;
  }
  if (!replica_.shares.is_in_turn(share_of(*first))) return;
  served_first_ = first_now_;
  take(*first, true, draft_->device_row_limit());
  table_.run_ready();
}

// Places all decoding, and prefill under its budget. If that is more than the device takes, the
// tenant that has had least goes first, and the tail is cut.
void Scheduler::place_all() {
  place_first();
  const std::uint32_t prefill =
      order_.has_prefill() ? draft_->budget().rows(order_.prefill_slot_count_least()) : 0;
  const std::uint64_t wanted = draft_->row_count() + decode_row_count_ + prefill;
  if (wanted > draft_->device_row_limit() || timer_.takes_few()) {
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

// Fetches the memory of the next operations that decode: first the operation, then the objects that
// it names, then what those name. Each is fetched in time to be there when it is read.
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
    __builtin_prefetch(&operation->instance->of_replica);
    __builtin_prefetch(&operation->instance->statistics);
    if (operation->context != nullptr) fetch_lines(operation->context, kContextBytes);
    for (const Ref<Operation>& each : operation->successors) {
      fetch_lines(each.address(), kOperationBytes);
    }
  }
  if (const Operation* operation = ahead[kContentsAhead].operation.get()) {
    for (const EmbedObject* each : operation->output_embeds) __builtin_prefetch(each);
    if (const Context* context = operation->context) {
      const TailTokens& tokens = context->tokens();
      const WorkingPages& working = context->working();
      if (!tokens.is_empty()) __builtin_prefetch(&tokens.all().back());
      if (!working.is_empty()) __builtin_prefetch(&working.pages().back());
    }
  }
  if (const Operation* operation = ahead[kPageAhead].operation.get()) {
    const Context* context = operation->context;
    if (context != nullptr && !context->working().is_empty()) {
      replica_.resources.cache.fetch_state(context->working().pages().back());
    }
  }
}

void Scheduler::place(Turn turn, std::uint32_t prefill_rows_max) {
  order_.begin(turn, prefill_rows_max);
  const bool fetches_ahead = order_.decode_row_count() >= kFetchAheadRowsMin;
  while (std::optional<Candidate> next = order_.next()) {
    if (fetches_ahead) fetch_ahead();
    place_candidate(*next, turn);
  }
}

void Scheduler::place_candidate(Candidate& next, Turn turn) {
  Operation* operation = next.operation.get();
  if (operation == nullptr || operation->state != OperationState::Ready) return;
  if (operation == served_first_.get()) return;  // It is in a list of the next batch already.
  if (next.row_count > 0 && !next.is_prefill && next.row_count < rows_of(*operation)) {
    next = families_.ready.candidate_of(*operation);  // Its context was suspended meanwhile.
    if (next.is_prefill && turn == Turn::Decode) return order_.add(next);
  }
  // An operation that needs no device may have to bring its context back first.
  const bool is_prefill = next.is_prefill || next.is_host;
  std::uint32_t rows_max = draft_->device_row_limit();
  if (turn == Turn::Owed) {
    rows_max = static_cast<std::uint32_t>(next.share->prefill_credit);
  } else if (is_prefill) {
    rows_max = draft_->budget().rows(next.slot_count);
  }
  if (draft_->commands_left() == 0 || !order_.may_have_rows(next) ||
      (next.row_count > 0 && std::min(rows_max, draft_->rows_left()) == 0)) {
    order_.note_waiting(next);
    families_.ready.add(next);
    return;
  }
  operation->waiting = next.waiting;
  const std::size_t ready = families_.ready.size();
  const std::uint32_t rows = take(*operation, is_prefill, rows_max);
  order_.note_served(next, rows);
  if (rows > 0 && families_.ready.size() > ready) order_.note_waiting(next);
  table_.run_ready();
}

// While the device works on the batch just submitted: what the prompts that wait for room will find
// in the trie, so that the next batch need not look.
void Scheduler::look_ahead() {
  constexpr std::uint32_t kLookAheadCountMax = 16;  // Prompts.
  ReadyQueue& ready = families_.ready;
  std::uint32_t lookups_left = options_.batch.lookup_page_count_max;
  std::uint32_t count = 0;
  for (std::size_t index = 0; index < ready.size() && count < kLookAheadCountMax; ++index) {
    Operation* operation = ready[index].operation.get();
    if (operation == nullptr || !ready[index].is_prefill || !computes_context(*operation)) {
      continue;
    }
    using LookAhead = ContextSteps::LookAhead;
    const LookAhead outcome = families_.contexts.look_ahead(*operation, lookups_left);
    if (outcome != LookAhead::Nothing) ++count;
    if (outcome != LookAhead::Done) continue;
    operation->waiting = ready[index].waiting;
    ready[index] = ready.candidate_of(*operation);
  }
}

}  // namespace quire::control
