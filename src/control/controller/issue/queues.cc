// Commands on queues, and on futures.
#include <string>

#include "base/planted_fault.h"
#include "control/controller/issue/issuer.h"

namespace quire::control {

Result<void> issue(Issuer& to, Instance& instance, Command& command, const CreateQueue& body) {
  TRY(to.check_new(instance, {body.queue}));
  if (static_cast<std::size_t>(body.model) >= to.replicas.size()) {
    return Error(ErrorCode::NotFound,
                 "no model " + std::to_string(static_cast<std::uint32_t>(body.model)));
  }
  if (instance.held.queues >= instance.limits.queue_count_max) {
    return beyond("queue_count_max", 1, instance.held.queues, instance.limits.queue_count_max);
  }
  ++instance.held.queues;
  QueueObject* queue = to.table.queues.make();
  queue->replica = to.replicas[static_cast<std::size_t>(body.model)].get();
  queue->priority = body.priority;
  instance.objects[static_cast<std::uint32_t>(body.queue)] = {ObjectKind::Queue, queue};
  to.done(instance, command);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const DestroyQueue& body) {
  QueueObject* queue = TRY(to.find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  instance.objects.erase(static_cast<std::uint32_t>(body.queue));
  --instance.held.queues;  // Now, as the program counts: it may make another at once.
  Operation* operation = to.enqueue(instance, command, *queue);
  to.table.issue(*operation);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const SetQueuePriority& body) {
  QueueObject* queue = TRY(to.find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  queue->priority = body.priority;
  to.schedulers[queue->replica->place]->note_priorities();
  to.done(instance, command);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const Synchronize& body) {
  QueueObject* queue = TRY(to.find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  Operation* operation = to.enqueue(instance, command, *queue);
  to.table.issue(*operation);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command&, const DropFuture& body) {
  const auto key = static_cast<std::uint32_t>(body.dropped);
  Ref<Operation>* found = instance.futures.find(key);
  Operation* operation = found == nullptr ? nullptr : found->get();
  if (operation == nullptr) {
    to.jobs.forget(instance.id, body.dropped);
    to.store_jobs.forget(instance.id, body.dropped);
    return {};
  }
  // Taken back where it only reads and nothing was issued that counts on its turn.
  if ((reads_output(*operation) && operation->state == OperationState::Ready) ||
      is<Synchronize>(*operation)) {
    to.table.discard(*operation);
    return {};
  }
  instance.futures.erase(key);
  if (!is_planted(Fault::AnswerBehindDrop)) operation->future = kNoFuture;
  return {};
}

}  // namespace quire::control
