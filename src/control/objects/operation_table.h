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
#include "control/objects/dispatcher.h"
#include "control/objects/export_table.h"
#include "control/objects/objects.h"

namespace quire::control {

class OperationTable {
 public:
  OperationTable(Dispatcher& answers, const Clock& time, Wakeup& engine, WalkSink* trace)
      : dispatcher(answers), clock(time), wakeup(engine), walk(trace) {}

  Operation* make(Instance& instance, Scheduler* model, Command&& command);
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

  void place(Operation& operation);  // In a batch: what was issued behind it may join.
  void finish(Operation& operation, Result<AnswerBody> answer);
  void discard(Operation& operation);  // Without an answer: its instance ends, or nobody wants it.

  // Operations that became able to run; the controller gives them to their schedulers.
  bool has_runnable() const { return !runnable_.empty(); }
  Operation* next_runnable();  // Null when there is none left.

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

  std::vector<Ref<Operation>> runnable_;
  std::size_t runnable_first_ = 0;
  std::uint64_t age_ = 0;
  std::uint64_t stamp_ = 0;
  std::uint64_t batch_ = 0;
};

// The place of a type in CommandBody.
template <typename T, std::size_t kIndex = 0>
constexpr std::size_t index_of() {
  if constexpr (std::is_same_v<T, std::variant_alternative_t<kIndex, CommandVariant>>) {
    return kIndex;
  } else {
    return index_of<T, kIndex + 1>();
  }
}
template <typename T>
bool is(const Operation& operation) {
  return operation.type == index_of<T>();
}

// The body of an operation of that type. By the operation's own note of the type (O4): the body's
// lies in a line of its own.
template <typename T>
const T& body_of(const Operation& operation) {
  QUIRE_CHECK(is<T>(operation), "a body of another type");
  const T* body = std::get_if<T>(&operation.body);
  if (body == nullptr) __builtin_unreachable();
  return *body;
}

// A set of types: bit i for the alternative i.
template <typename... Types>
constexpr std::uint64_t kTypeBits = ((std::uint64_t{1} << index_of<Types>()) | ...);
static_assert(std::variant_size_v<CommandVariant> <= 64);

// Some form of the distribution at an output; changes nothing.
inline constexpr std::uint64_t kReadsOutput =
    kTypeBits<GetNextDist, GetLogits, GetLogprobs, GetEntropy, GetEmbedding, GetNextDists,
              GetLogprobsOf, DrawTokens>;
// Computes what is queued in a context.
inline constexpr std::uint64_t kComputesContext =
    kTypeBits<ContextFlush, ContextForward, ContextDraw>;
inline constexpr std::uint64_t kComputes = kComputesContext | kTypeBits<Forward>;
inline constexpr std::uint64_t kNeedsBatch =
    kComputes | kReadsOutput | kTypeBits<ContextOpen, CopyPage, ExportPages, ContextFromPages>;

inline bool is_any(const Operation& operation, std::uint64_t types) {
  return (types >> operation.type & 1) != 0;
}
inline bool reads_output(const Operation& operation) {
  return is_any(operation, kReadsOutput);
}
// What a program asks of a matcher.
inline constexpr std::uint64_t kOfMatcher =
    kTypeBits<CreateMatcher, ForkMatcher, AcceptTokens, RollBackMatcher, GetTokenMask,
              GetForcedTokens, DropMatcher>;
inline bool computes_context(const Operation& operation) {
  return is_any(operation, kComputesContext);
}

}  // namespace quire::control
