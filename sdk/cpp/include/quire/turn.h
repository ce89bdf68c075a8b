#pragma once
// Turn: several tasks share what only one may use at a time, such as the writing end of a response.
//
//   const Turn::Hold hold = co_await turn.take();   // Waits until no other task holds it.
//
// Tasks get it in the order in which they asked. A Hold that is destroyed passes it on, also if its
// task is dropped or ends in an error. The Turn outlives its holds and the tasks that wait.
//
// Thread   a program has one.
#include <coroutine>
#include <utility>

#include "quire/event_loop.h"

namespace quire {

class Turn {
 public:
  Turn() = default;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  class [[nodiscard("a Hold that is destroyed at once holds nothing")]] Hold {
   public:
    explicit Hold(Turn& turn) : turn_(&turn) {}
    Hold(Hold&& other) noexcept : turn_(std::exchange(other.turn_, nullptr)) {}
    Hold& operator=(Hold&&) = delete;
    ~Hold() {
      if (turn_ != nullptr) turn_->pass_on();
    }

   private:
    Turn* turn_;
  };

  // False while a task holds it.
  bool is_free() const { return !is_taken_; }

 private:
  struct Waiter : detail::Link {
    detail::Resumable* resumable = nullptr;
    EventLoop* loop = nullptr;
    bool has_turn = false;  // Of a task that has not gone on yet.
  };

 public:
  struct [[nodiscard("co_await it")]] Taking {
    Turn& turn;

    struct Awaiter {
      Turn& turn;
      Waiter waiter = {};

      ~Awaiter() {
        if (waiter.has_turn) turn.pass_on();  // The task was dropped in the meantime.
      }
      bool await_ready() {
        if (turn.is_taken_) return false;
        turn.is_taken_ = waiter.has_turn = true;
        return true;
      }
      template <typename Promise>
      void await_suspend(std::coroutine_handle<Promise> waiting) {
        waiter.resumable = &waiting.promise();
        waiter.loop = waiting.promise().loop;
        waiter.link_before(turn.waiting_);
      }
      Hold await_resume() {
        waiter.has_turn = false;
        return Hold(turn);
      }
    };
    Awaiter operator co_await() && { return Awaiter{turn}; }
  };
  Taking take() { return Taking{*this}; }

 private:
  void pass_on() {
    if (!waiting_.linked()) {
      is_taken_ = false;
      return;
    }
    auto& next = *static_cast<Waiter*>(waiting_.next());
    next.unlink();
    next.has_turn = true;
    next.loop->make_ready(*next.resumable);
  }

  bool is_taken_ = false;
  detail::Link waiting_;  // Head of the list.
};

}  // namespace quire
