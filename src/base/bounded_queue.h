#pragma once
// BoundedQueue passes values from any number of threads to any number of threads, in order.
//
// Thread   any. The mutex and what it guards are this one object.
// Limit    `capacity` values; try_push refuses one more. No thread ever blocks on a push, because
//          the slot for an answer is reserved before its request is sent.
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace quire {

template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  [[nodiscard]] bool try_push(T value) { return try_push_from(value); }

  // Moves from `value` only where it is taken in.
  [[nodiscard]] bool try_push_from(T& value) {
    {
      std::lock_guard lock(mutex_);
      if (closed_ || values_.size() >= capacity_) return false;
      values_.push_back(std::move(value));
    }
    filled_.notify_one();
    return true;
  }

  std::optional<T> try_pop() {
    std::lock_guard lock(mutex_);
    return pop_locked();
  }

  // Waits for a value; empty once the queue is closed and drained.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return closed_ || !values_.empty(); });
    return pop_locked();
  }

  std::optional<T> pop_for(std::chrono::nanoseconds timeout) {
    std::unique_lock lock(mutex_);
    filled_.wait_for(lock, timeout, [this] { return closed_ || !values_.empty(); });
    return pop_locked();
  }

  // Wakes every waiter. What is in the queue can still be taken out; nothing more goes in.
  void close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    filled_.notify_all();
  }

 private:
  std::optional<T> pop_locked() {
    if (values_.empty()) return std::nullopt;
    std::optional<T> value(std::move(values_.front()));
    values_.pop_front();
    return value;
  }

  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<T> values_;
  bool closed_ = false;
};

}  // namespace quire
