#pragma once
// OperationTable owns everything that instances own: instances, objects, operations on their way,
// and the order among them.
//
// Thread   engine thread only.
//
// Order: an operation waits for the last one issued on each of its objects, until that is placed in
// a batch or done. Synchronize and destroy_queue wait until they are the first of their queue.
//
// Invariants, all checked by verify():
//   O1  Every unfinished operation is in the list of its instance, in order of age, and in that of
//       its queue, if it has one.
//   O2  An operation is Waiting exactly while its wait_count is positive.
//   O3  Counts of instances equal recounts.
//   O4  The type of an operation is the place of its body in CommandBody.
//   O5  The contexts of an instance are those among its objects (checked by Controller::verify()).
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/wakeup.h"
#include "base/walk.h"
#include "control/objects/command_kinds.h"
#include "control/objects/dispatcher.h"
#include "control/objects/export_table.h"
#include "control/objects/instance.h"

namespace quire::control {

// Runs an operation that waits for no other.
class OperationRunner {
 public:
  virtual ~OperationRunner() = default;
  virtual void run(Operation& operation) = 0;
};

class OperationTable {
 public:
  OperationTable(Dispatcher& answers, const Clock& time, Wakeup& engine, WalkSink* trace)
      : dispatcher(answers), clock(time), wakeup(engine), walk(trace) {}

  Operation* make(Instance& instance, Replica* replica, Command&& command);
  void enter_queue(Operation& operation, QueueObject& queue);
  // `operation` acts on `object` after what was issued on it before.
  template <typename Object>
  void chain(Operation& operation, Object& object) {
    Operation* before = object.last_operation.get();
    if (before != nullptr && before != &operation && before->state != OperationState::Placed) {
      before->successors.push_back(Ref<Operation>(&operation));
      ++operation.wait_count;
    }
    object.last_operation = Ref<Operation>(&operation);
  }
  // All of its objects are chained: it may run as soon as it waits for nothing.
  void issue(Operation& operation);

  // The operation is in a batch: operations issued after it may join.
  void place(Operation& operation);
  void finish(Operation& operation, Result<AnswerBody> answer);
  // Removes it without an answer: its instance ends, or the answer is not wanted.
  void discard(Operation& operation);

  // Sets the runner of operations, of all replicas. Called once, before the first is issued.
  void set_runner(OperationRunner& runner) { runner_ = &runner; }
  // Runs those that became able to, one after the other, also those that become so meanwhile.
  void run_ready() {
    while (!runnable_.empty()) {
      if (Operation* next = next_runnable()) runner_->run(*next);
    }
  }

  std::uint64_t next_stamp() { return ++stamp_; }
  std::uint64_t next_batch() { return ++batch_; }

  Slab<Operation> operations;
  Slab<QueueObject> queues;
  Slab<PageObject> pages;
  Slab<EmbedObject> embeds;
  Slab<Context> contexts;
  Slab<MatcherObject> matchers;
  std::map<std::uint64_t, std::unique_ptr<Instance>> instances;  // By order of start.
  ExportTable exports;  // Of tenants, not of instances; their pages are in `pages`.

  Dispatcher& dispatcher;
  const Clock& clock;
  Wakeup& wakeup;
  WalkSink* walk;

  void verify() const;

 private:
  void release_successors(Operation& operation);
  void unlink(Operation& operation);
  Operation* next_runnable();  // Null when there is none left.

  OperationRunner* runner_ = nullptr;
  std::vector<Ref<Operation>> runnable_;
  std::size_t runnable_first_ = 0;
  std::uint64_t age_ = 0;
  std::uint64_t stamp_ = 0;
  std::uint64_t batch_ = 0;
};

}  // namespace quire::control
