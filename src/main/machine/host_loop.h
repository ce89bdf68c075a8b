#pragma once
// HostLoop lets the process itself be a guest. It issues Commands to the control layer as host
// calls do, without Wasm, and turns the engine's loop while it waits. The cost of programmability
// is measured against it.
//
// Owns     the answers that came and were not asked for yet.
// Thread   the engine thread, which here is the main thread.
// Errors   the answers of the control layer. A future that is never answered is a bug of ours.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "application/lifecycle/answer_inbox.h"
#include "base/wakeup.h"
#include "control/api/control_port.h"

namespace quire {

class HostLoop {
 public:
  HostLoop(control::ControlPort& control, lifecycle::AnswerInbox& inbox, Wakeup& wakeup)
      : control_(control), inbox_(inbox), wakeup_(wakeup) {}

  control::ControlPort& control() { return control_; }

  // Turns the loop until the future is answered: completions in, then the next batch. What other
  // instances are answered meanwhile is kept for them, so that all who answer to one completion
  // submit their next commands before a batch is built.
  Result<control::AnswerBody> wait(control::InstanceId instance, control::FutureId future);

  using Key = std::pair<control::InstanceId, control::FutureId>;
  // The same for several, none of which was taken: the index of one that is answered.
  std::size_t wait_any(std::span<const Key> keys);

  // Called on every turn of wait(), for a line of progress. Cheap, and calls nothing of ours.
  void watch(std::function<void()> watcher) { watcher_ = std::move(watcher); }

  control::InstanceId next_instance() { return control::InstanceId{++instances_}; }
  void forget(control::InstanceId instance);

 private:
  void collect();
  std::optional<std::size_t> first_ready(std::span<const Key> keys) const;

  control::ControlPort& control_;
  lifecycle::AnswerInbox& inbox_;
  Wakeup& wakeup_;
  std::map<Key, Result<control::AnswerBody>> ready_;
  std::function<void()> watcher_;
  std::uint64_t instances_ = 0;
};

// One instance without Wasm: numbers its objects and futures, and ends with its scope.
class HostInstance {
 public:
  explicit HostInstance(HostLoop& loop, const control::InstanceLimits& limits = {});
  ~HostInstance();
  HostInstance(const HostInstance&) = delete;
  HostInstance& operator=(const HostInstance&) = delete;

  control::ObjectId new_object() { return control::ObjectId{++objects_}; }
  std::vector<control::ObjectId> new_objects(std::size_t count);

  void tell(control::CommandBody body);              // The answer is not waited for.
  control::FutureId ask(control::CommandBody body);  // wait() takes the answer.
  Result<control::AnswerBody> wait(control::FutureId future) { return loop_.wait(id_, future); }

  // The answer as the kind that the command gives.
  template <typename T>
  Result<T> wait_for(control::FutureId future) {
    control::AnswerBody body = TRY(wait(future));
    return std::get<T>(std::move(body));
  }
  template <typename T>
  Result<T> call(control::CommandBody body) {
    return wait_for<T>(ask(std::move(body)));
  }

  control::InstanceId id() const { return id_; }
  control::InstanceStatistics statistics() const { return loop_.control().statistics(id_); }

 private:
  HostLoop& loop_;
  const control::InstanceId id_;
  std::uint32_t objects_ = 0;
  std::uint32_t futures_ = 0;
};

}  // namespace quire
