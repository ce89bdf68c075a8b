#pragma once
// EventLoop runs the coroutines of a program: all that can go on, then one wait for the host.
//
// Owns     nothing but its two lists. Coroutines are owned by their Task, waiters by the coroutine
//          that waits; each leaves its list when it is destroyed, so that dropping a Task in any
//          state leaves nothing behind.
// Thread   a program has one thread, and one loop on it. No lock, no mutable global: a coroutine
//          knows its loop from the one that awaited it.
// Errors   A program that waits for nothing, and a host that refuses the wait, are bugs: panic().
//
// Invariants:
//   EV1  A coroutine is in the ready list at most once, and never while it runs.
//   EV2  A waiter is in the waiting list exactly while its future is not known to be ready.
//   EV3  Coroutines are resumed only by the loop, never from inside another coroutine: the stack
//        does not grow with the number of awaits.
#include <coroutine>
#include <cstdint>
#include <vector>

#include "quire/bindings.h"
#include "quire/result.h"

namespace quire {

namespace detail {

// A member of at most one list; leaves it when destroyed.
class Link {
 public:
  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() { unlink(); }

  bool linked() const { return next_ != this; }
  void unlink() {
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = this;
  }
  void link_before(Link& other) {
    previous_ = other.previous_;
    next_ = &other;
    previous_->next_ = this;
    other.previous_ = this;
  }
  Link* next() const { return next_; }

 private:
  Link* previous_ = this;
  Link* next_ = this;
};

// A coroutine that the loop may resume. The promise of every Task is one.
class Resumable : public Link {
 public:
  std::coroutine_handle<> coroutine;
  // If set, the loop calls it with `awaiter` before it resumes the coroutine. False: what the
  // coroutine awaited failed, which has ended and destroyed it.
  bool (*before_resume)(void* awaiter) = nullptr;
  void* awaiter = nullptr;
};

// A coroutine's interest in one future of the host.
class FutureWaiter : public Link {
 public:
  std::int32_t future = 0;
  Resumable* resumable = nullptr;
};

}  // namespace detail

class EventLoop {
 public:
  EventLoop() = default;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // `resumable` goes on in a later round; harmless when it is to do so already.
  void make_ready(detail::Resumable& resumable) {
    if (!resumable.linked()) resumable.link_before(ready_);
  }

  // `waiter.resumable` goes on when the host says that `waiter.future` is ready.
  void wait_for(detail::FutureWaiter& waiter) {
    if (!waiter.linked()) waiter.link_before(waiting_);
  }

  // No coroutine is ready, and none waits for the host: nothing of this loop will ever go on.
  bool is_idle() const { return !ready_.linked() && !waiting_.linked(); }

  // Runs until `done()`; a condition that a coroutine of this loop brings about.
  template <typename Done>
  void run_until(Done done) {
    std::uint32_t round = 0;
    while (!done()) {
      if (ready_.linked()) {
        run_round();
        // Coroutines that keep one another ready must not starve those that wait for the host.
        if (++round % kRoundsBetweenPolls != 0 || done()) continue;
      }
      if (done()) return;
      wait_for_host(ready_.linked() ? 0 : -1);
    }
  }

 private:
  static constexpr std::uint32_t kRoundsBetweenPolls = 64;

  void run_round() {
    // The round ends at this mark: what becomes ready meanwhile belongs to the next one.
    detail::Link mark;
    mark.link_before(ready_);
    while (ready_.next() != &mark) {
      auto* next = static_cast<detail::Resumable*>(ready_.next());
      next->unlink();
      if (next->before_resume != nullptr && !next->before_resume(next->awaiter)) continue;
      next->coroutine.resume();
    }
  }

  void wait_for_host(std::int64_t timeout_ns) {
    futures_.clear();
    for (detail::Link* each = waiting_.next(); each != &waiting_; each = each->next()) {
      futures_.push_back(static_cast<detail::FutureWaiter*>(each)->future);
    }
    if (futures_.empty()) {
      if (timeout_ns == 0) return;
      panic("every task waits for another one, none for the host");
    }
    const auto count = static_cast<std::uint32_t>(futures_.size());
    const std::int32_t first = abi::future::wait(futures_.data(), count, timeout_ns);
    if (first == -static_cast<std::int32_t>(ErrorCode::Timeout)) return;
    if (first < 0) panic("future.wait refused: " + last_error_message());
    flags_.assign(count, 0);
    if (count == 1) {
      flags_[0] = 1;
    } else if (abi::future::poll(futures_.data(), count, flags_.data()) < 0) {
      panic("future.poll refused: " + last_error_message());
    }
    std::uint32_t index = 0;
    for (detail::Link* each = waiting_.next(); each != &waiting_; ++index) {
      auto* waiter = static_cast<detail::FutureWaiter*>(each);
      each = each->next();
      if (flags_[index] == 0) continue;
      waiter->unlink();
      make_ready(*waiter->resumable);
    }
  }

  detail::Link ready_;  // Heads of the two lists.
  detail::Link waiting_;
  std::vector<std::int32_t> futures_;  // Kept between waits, so that waiting allocates nothing.
  std::vector<std::uint8_t> flags_;
};

}  // namespace quire
