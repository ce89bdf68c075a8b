#pragma once
// Turns: the calls of a script that use one object, one after the other, in the order of the calls.
//
//   const Turns::Turn turn = co_await turns.take();
//
// A script need not await a call before it makes the next one; a context takes one task at a time.
//
// Owns     nothing: who waits is owned by its coroutine, and leaves the list when it is destroyed.
// Thread   a program has one.
//
// Invariant  U1  While a Turn exists, or was given to a coroutine that has not gone on yet, the
//                next one waits.
#include <coroutine>
#include <utility>

#include "quire/quire.h"

namespace quire::javascript {

class Turns {
 public:
  Turns() = default;
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  class [[nodiscard]] Turn {
   public:
    explicit Turn(Turns& turns) : turns_(&turns) {}
    Turn(Turn&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_ != nullptr) turns_->pass_on();
    }

   private:
    Turns* turns_;
  };

  class Waiter : public detail::Link {
   public:
    explicit Waiter(Turns& turns) : turns_(turns) {}
    ~Waiter() {
      if (was_given_) turns_.pass_on();  // It was destroyed before it went on.
    }
    bool await_ready() const { return !turns_.is_taken_; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> waiting) {
      resumable_ = &waiting.promise();
      loop_ = waiting.promise().loop;
      link_before(turns_.waiting_);
    }
    Turn await_resume() {
      was_given_ = false;
      turns_.is_taken_ = true;
      return Turn(turns_);
    }

   private:
    friend class Turns;
    Turns& turns_;
    detail::Resumable* resumable_ = nullptr;
    EventLoop* loop_ = nullptr;
    bool was_given_ = false;
  };
  struct Taking {
    Turns& turns;
    Waiter operator co_await() const { return Waiter(turns); }
  };

  Taking take() { return {*this}; }
  bool is_taken() const { return is_taken_; }

 private:
  void pass_on() {
    is_taken_ = waiting_.linked();
    if (!is_taken_) return;
    auto* next = static_cast<Waiter*>(waiting_.next());
    next->unlink();
    next->was_given_ = true;
    next->loop_->make_ready(*next->resumable_);
  }

  detail::Link waiting_;
  bool is_taken_ = false;
};

}  // namespace quire::javascript
