#include "control/objects/operation_table.h"

#include <utility>

#include "base/check.h"

namespace quire::control {
namespace {

bool is_barrier(const Operation& operation) {
  return is<Synchronize>(operation) || is<DestroyQueue>(operation);
}

}  // namespace

Operation* OperationTable::make(Instance& instance, Replica* replica, Command&& command) {
  Operation* made = operations.make();
  made->age = ++age_;
  made->instance = &instance;
  made->replica = replica;
  made->future = command.future;
  made->argument_bytes = command.argument_bytes;
  made->body = std::move(command.body);
  made->type = static_cast<std::uint8_t>(made->body.index());
  made->instance_previous = instance.unfinished.last;
  (instance.unfinished.last == nullptr ? instance.unfinished.first
                                       : instance.unfinished.last->instance_next) = made;
  instance.unfinished.last = made;
  ++instance.unfinished.operation_count;
  instance.unfinished.argument_bytes += made->argument_bytes;
  if (made->future != kNoFuture) {
    instance.futures[static_cast<std::uint32_t>(made->future)] = Ref<Operation>(made);
  }
  return made;
}

void OperationTable::enter_queue(Operation& operation, QueueObject& queue) {
  operation.queue = &queue;
  operation.queue_previous = queue.last;
  (queue.last == nullptr ? queue.first : queue.last->queue_next) = &operation;
  queue.last = &operation;
}

void OperationTable::issue(Operation& operation) {
  if (operation.wait_count > 0) return;
  operation.state = OperationState::Ready;
  runnable_.push_back(Ref<Operation>(&operation));
}

Operation* OperationTable::next_runnable() {
  Operation* next = nullptr;
  while (next == nullptr && runnable_first_ < runnable_.size()) {
    next = runnable_[runnable_first_++].get();
    if (next != nullptr && next->state != OperationState::Ready) next = nullptr;
  }
  if (runnable_first_ == runnable_.size()) {
    runnable_.clear();
    runnable_first_ = 0;
  }
  return next;
}

void OperationTable::release_successors(Operation& operation) {
  for (const Ref<Operation>& each : operation.successors) {
    Operation* next = each.get();
    if (next == nullptr) continue;
    QUIRE_CHECK(next->wait_count > 0, "O2");
    if (--next->wait_count == 0) issue(*next);
  }
  operation.successors.clear();
}

void OperationTable::place(Operation& operation) {
  operation.state = OperationState::Placed;
  if (!operation.successors.empty()) release_successors(operation);
}

void OperationTable::unlink(Operation& operation) {
  Instance& instance = *operation.instance;
  Operation* before = operation.instance_previous;
  Operation* after = operation.instance_next;
  (before == nullptr ? instance.unfinished.first : before->instance_next) = after;
  (after == nullptr ? instance.unfinished.last : after->instance_previous) = before;
  --instance.unfinished.operation_count;
  instance.unfinished.argument_bytes -= operation.argument_bytes;
  if (operation.future != kNoFuture) {
    instance.futures.erase(static_cast<std::uint32_t>(operation.future));
  }
  if (operation.queue == nullptr) return;
  QueueObject& queue = *operation.queue;
  before = operation.queue_previous;
  after = operation.queue_next;
  (before == nullptr ? queue.first : before->queue_next) = after;
  (after == nullptr ? queue.last : after->queue_previous) = before;
  if (queue.first != nullptr && before == nullptr && is_barrier(*queue.first)) issue(*queue.first);
}

void OperationTable::finish(Operation& operation, Result<AnswerBody> answer) {
  dispatcher.answer(operation.instance->id, operation.future, std::move(answer));
  discard(operation);
}

void OperationTable::discard(Operation& operation) {
  if (operation.context != nullptr) operation.context->parts().end_operation();
  release_successors(operation);
  unlink(operation);
  operations.destroy(&operation);
}

void OperationTable::verify() const {
  exports.verify();
  for (const auto& [order, instance] : instances) {
    QUIRE_CHECK(order == instance->order, "O3");
    std::uint32_t count = 0;
    std::uint64_t age = 0;
    for (const Operation* each = instance->unfinished.first; each != nullptr;
         each = each->instance_next) {
      QUIRE_CHECK(each->age > age, "O1");
      QUIRE_CHECK(each->type == each->body.index(), "O4");
      QUIRE_CHECK(
          (each->state == OperationState::Waiting) == (each->wait_count > 0) || is_barrier(*each),
          "O2");
      age = each->age;
      ++count;
    }
    QUIRE_CHECK(count == instance->unfinished.operation_count, "O3");
  }
}

}  // namespace quire::control
