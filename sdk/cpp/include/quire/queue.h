#pragma once
// Queue: a stream of commands to one model, taken in order. Commands of different queues are free
// to overtake one another, and those of one queue share a batch if they do not conflict.
//
// Owns     the host's queue; copies share it. It is destroyed after its last command.
// Errors   quota-exceeded when the instance has too many.
#include <cstdint>
#include <string>
#include <utility>

#include "quire/bindings.h"
#include "quire/future.h"
#include "quire/model.h"
#include "quire/result.h"

namespace quire {

enum class Priority : std::uint32_t { Low, Normal, High };

class Queue {
 public:
  static Result<Queue> create(const Model& model, Priority priority = Priority::Normal) {
    const std::int32_t handle = TRY(
        checked(abi::queue::create_queue(model.handle(), static_cast<std::uint32_t>(priority))));
    Queue queue;
    queue.handle_ = detail::SharedHandle(handle);
    return queue;
  }

  Result<void> set_priority(Priority priority) const {
    return checked_empty(
        abi::queue::set_queue_priority(handle(), static_cast<std::uint32_t>(priority)));
  }

  // Ready when every command issued before has taken effect.
  Future<void> synchronize() const { return Future<void>(abi::queue::synchronize(handle())); }

  std::int32_t handle() const { return handle_.get(); }

 private:
  detail::SharedHandle handle_;
};

}  // namespace quire
