#pragma once
// PromisedTasks makes promises of JavaScript of the tasks of the SDK, and keeps what is due:
// promises whose task has ended, and functions that are to be called. Each is a task of the event
// loop of HTML: the engine runs one, then all jobs (microtasks), then the next one.
//
// Owns     the event loop, a task for each promise that is not settled, and the queue of what is
//          due.
// Thread   a program has one.
// Errors   those of Exceptions.
//
// Invariants:
//   PQ1  A task is destroyed only by sweep(), which no coroutine and no JavaScript calls. So
//        JavaScript may cancel the task that is calling it.
//   PQ2  A promise that is due and was canceled is not settled.
#include <quickjs.h>

#include <algorithm>
#include <functional>
#include <list>
#include <memory>
#include <utility>

#include "exceptions.h"
#include "quire/quire.h"
#include "to_js.h"
#include "value.h"

namespace quire::javascript {

class PromisedTasks : public Exceptions {
 public:
  explicit PromisedTasks(JSContext* js) : Exceptions(js) {}

  EventLoop& loop() { return loop_; }

  // A new reference to a promise that is settled as `task` ends. `held` is kept until then.
  template <typename T>
  JSValue promise(Task<T> task, std::shared_ptr<void> held = nullptr) {
    JSValue functions[2];
    Value promise(js(), JS_NewPromiseCapability(js(), functions));
    if (promise.is_exception()) return JS_EXCEPTION;
    Pending& pending = pending_.emplace_back();
    pending.promise = promise;
    pending.resolve = Value(js(), functions[0]);
    pending.reject = Value(js(), functions[1]);
    pending.stack = stack_here();
    pending.held = std::move(held);
    pending.task = ending(pending, std::move(task));
    pending.task.start(loop_);
    return promise.release();
  }

  // Drops the task of that promise, which is rejected with `reason`; without one it is never
  // settled. False: it is none of these, or is settled.
  bool cancel(JSValueConst promise, Value reason) {
    for (Pending& each : pending_) {
      if (!is_same(each.promise.get(), promise) || each.state != State::Runs) continue;
      each.state = State::Canceled;
      each.held.reset();
      if (!reason.is_undefined()) settle(each.reject, std::move(reason));
      needs_sweep_ = true;
      return true;
    }
    return false;
  }

  // Calls `function` as a task of its own, after what is due already.
  void queue_task(Function function) {
    due_.emplace_back([this, function = std::move(function)] {
      const Value returned(js(), JS_Call(js(), function.value.get(), JS_UNDEFINED, 0, nullptr));
      if (returned.is_exception()) JS_FreeValue(js(), JS_GetException(js()));
    });
  }

  // How many calls are under way whose promises are not settled.
  std::size_t pending_count() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        pending_, [](const Pending& each) { return each.state == State::Runs; }));
  }

 protected:
  bool has_due() const { return !due_.empty(); }
  bool needs_sweep() const { return needs_sweep_; }

  // Runs the first of what is due. False: nothing is.
  bool run_next_due() {
    if (due_.empty()) return false;
    const std::function<void()> next = std::move(due_.front());
    due_.pop_front();
    next();
    return true;
  }

  void sweep() {
    if (!std::exchange(needs_sweep_, false)) return;
    pending_.remove_if([](const Pending& each) { return each.state != State::Runs; });
  }

 private:
  enum class State : std::uint8_t { Runs, Settled, Canceled };
  struct Pending {
    Value promise, resolve, reject, stack;
    State state = State::Runs;
    std::shared_ptr<void> held;
    Task<> task;
  };

  // Runs `task`, and makes the end of its promise due.
  template <typename T>
  Task<> ending(Pending& pending, Task<T> task) {
    auto result = std::make_shared<Result<T>>(co_await attempt(std::move(task)));
    if (pending.state != State::Runs) co_return;
    pending.held.reset();
    // The promise stands for `pending` until then, which may be gone when it was canceled.
    due_.emplace_back([this, promise = pending.promise, result] { end(promise, *result); });
  }

  template <typename T>
  void end(const Value& promise, Result<T>& result) {
    const auto found = std::ranges::find_if(pending_, [&](const Pending& each) {
      return each.state == State::Runs && is_same(each.promise.get(), promise.get());
    });
    if (found == pending_.end()) return;
    found->state = State::Settled;
    needs_sweep_ = true;
    if (!result.ok()) {
      settle(found->reject, error_value(result.error(), found->stack));
      return;
    }
    Value value;
    if constexpr (!std::is_void_v<T>) {
      value = Value(js(), to_js(Js{js()}, std::move(result).take()));
    }
    if (value.is_exception()) {
      settle(found->reject, Value(js(), JS_GetException(js())));
    } else {
      settle(found->resolve, std::move(value));
    }
  }

  void settle(const Value& function, Value value) {
    JSValueConst argument = value.get();
    const Value returned(js(), JS_Call(js(), function.get(), JS_UNDEFINED, 1, &argument));
    if (returned.is_exception()) JS_FreeValue(js(), JS_GetException(js()));
  }

  EventLoop loop_;
  std::list<Pending> pending_;
  std::list<std::function<void()>> due_;  // A deque would take a page of each instance.
  bool needs_sweep_ = false;
};

}  // namespace quire::javascript
