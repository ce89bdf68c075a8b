#pragma once
// Task<T>: a C++20 coroutine that ends in a T. It starts when it is awaited or spawned.
//
//   Task<Result<std::string>> answer(Context& context) {
//     CO_TRY(co_await context.flush());
//     ...
//   }
//
// Dropping a Task ends it where it stands: its locals are destroyed, and with them its futures (the
// host cancels their work or lets it finish unseen), its handles and the tasks it awaits. A
// function that can fail returns Task<Result<T>>; CO_TRY unwraps. Arguments of a coroutine that
// live shorter than it must be taken by value.
//
// co_await task            runs it and gives its T
// co_await spawn(task)     starts it and gives it back at once: await it later, or drop it
// co_await when_all(a, b)  runs all, gives std::tuple of what they give (Unit for void)
// co_await when_all(list)  the same for a std::vector, gives a std::vector in the same order
// co_await with_timeout(a, duration)   a's Result, or Error timeout and `a` dropped
// co_await yield()         lets the others go first
//
// Thread   a program has one.
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "quire/event_loop.h"
#include "quire/result.h"

namespace quire {

template <typename T>
class Task;

namespace detail {

// Makes a waiting coroutine ready when `missing` tasks have finished.
struct Latch {
  std::size_t missing = 0;
  Resumable* waiter = nullptr;
};

struct PromiseBase : Resumable {
  EventLoop* loop = nullptr;  // Null until the task is started.
  Latch* latch = nullptr;

  // The coroutine stays as it is until its Task destroys it; who waits goes on in a later round.
  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> finished) const noexcept {
      PromiseBase& promise = finished.promise();
      if (promise.latch == nullptr) return;
      promise.latch->missing -= 1;
      if (promise.latch->missing == 0) promise.loop->make_ready(*promise.latch->waiter);
    }
    void await_resume() const noexcept {}
  };
  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() const noexcept { panic("an exception left a task"); }
};

template <typename T>
struct Promise : PromiseBase {
  std::optional<T> value;

  Task<T> get_return_object();
  void return_value(T returned) { value.emplace(std::move(returned)); }
  T take() { return std::move(*value); }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() const noexcept {}
  Unit take() const { return {}; }
};

template <typename T>
using Stored = std::conditional_t<std::is_void_v<T>, Unit, T>;

}  // namespace detail

template <typename T>
class [[nodiscard("a Task does nothing until it is awaited: co_await it")]] Task {
 public:
  using promise_type = detail::Promise<T>;
  using value_type = T;

  Task() = default;
  explicit Task(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}
  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      drop();
      coroutine_ = std::exchange(other.coroutine_, nullptr);
    }
    return *this;
  }
  ~Task() { drop(); }

  // False for a task that was moved from or dropped.
  bool exists() const { return coroutine_ != nullptr; }
  bool done() const { return coroutine_ != nullptr && coroutine_.done(); }

  // Ends it where it stands. Not to be called by the task itself.
  void drop() {
    if (coroutine_ != nullptr) std::exchange(coroutine_, nullptr).destroy();
  }

  // Gets it going in `loop`, if nobody has yet.
  void start(EventLoop& loop) {
    if (coroutine_ == nullptr) panic("a task that is gone was started");
    if (coroutine_.promise().loop != nullptr) return;
    coroutine_.promise().loop = &loop;
    loop.make_ready(coroutine_.promise());
  }

  // What it ended in, once done().
  detail::Stored<T> take() {
    if (!done()) panic("the value was taken of a task that is not done");
    return coroutine_.promise().take();
  }

  // `latch` counts down when the task is done; it must not be done yet.
  void tell(detail::Latch& latch) { coroutine_.promise().latch = &latch; }

  struct Awaiter {
    Task task;
    detail::Latch latch = {};

    bool await_ready() const { return task.done(); }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> waiter) {
      latch = {1, &waiter.promise()};
      task.start(*waiter.promise().loop);
      task.tell(latch);
    }
    T await_resume() {
      if constexpr (std::is_void_v<T>) {
        task.take();
      } else {
        return task.take();
      }
    }
  };
  Awaiter operator co_await() && { return Awaiter{std::move(*this)}; }

 private:
  std::coroutine_handle<promise_type> coroutine_;
};

namespace detail {

template <typename T>
Task<T> Promise<T>::get_return_object() {
  const auto handle = std::coroutine_handle<Promise>::from_promise(*this);
  coroutine = handle;
  return Task<T>(handle);
}

inline Task<void> Promise<void>::get_return_object() {
  const auto handle = std::coroutine_handle<Promise>::from_promise(*this);
  coroutine = handle;
  return Task<void>(handle);
}

template <typename Awaitable>
decltype(auto) awaiter_of(Awaitable&& awaitable) {
  if constexpr (requires { std::forward<Awaitable>(awaitable).operator co_await(); }) {
    return std::forward<Awaitable>(awaitable).operator co_await();
  } else {
    return std::forward<Awaitable>(awaitable);
  }
}

template <typename Awaitable>
using Awaited = decltype(awaiter_of(std::declval<Awaitable>()).await_resume());

template <typename Awaitable>
Task<Awaited<Awaitable>> task_of_awaitable(Awaitable awaitable) {
  co_return co_await std::move(awaitable);
}

template <typename T>
struct IsTask : std::false_type {};
template <typename T>
struct IsTask<Task<T>> : std::true_type {};

}  // namespace detail

// Anything that can be awaited, as a Task; a Task as it is.
template <typename Awaitable>
auto task_of(Awaitable awaitable) {
  if constexpr (detail::IsTask<Awaitable>::value) {
    return awaitable;
  } else {
    return detail::task_of_awaitable(std::move(awaitable));
  }
}

namespace detail {

template <typename T>
struct [[nodiscard("co_await it")]] SpawnAwaiter {
  Task<T> task;

  bool await_ready() const { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiter) {
    task.start(*waiter.promise().loop);
    return false;
  }
  Task<T> await_resume() { return std::move(task); }
};

struct [[nodiscard("co_await it")]] YieldAwaiter {
  bool await_ready() const { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> waiter) const {
    waiter.promise().loop->make_ready(waiter.promise());
  }
  void await_resume() const {}
};

template <typename... Ts>
struct [[nodiscard("co_await it")]] AllAwaiter {
  std::tuple<Task<Ts>...> tasks;
  Latch latch = {};

  bool await_ready() const { return sizeof...(Ts) == 0; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiter) {
    latch.waiter = &waiter.promise();
    const auto begin = [&](auto& task) {
      if (task.done()) return;
      latch.missing += 1;
      task.start(*waiter.promise().loop);
      task.tell(latch);
    };
    std::apply([&](auto&... each) { (begin(each), ...); }, tasks);
    return latch.missing > 0;
  }
  std::tuple<Stored<Ts>...> await_resume() {
    return std::apply([](auto&... each) { return std::tuple<Stored<Ts>...>{each.take()...}; },
                      tasks);
  }
};

template <typename T>
struct [[nodiscard("co_await it")]] ListAwaiter {
  std::vector<Task<T>> tasks;
  Latch latch = {};

  bool await_ready() const { return tasks.empty(); }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiter) {
    latch.waiter = &waiter.promise();
    for (Task<T>& task : tasks) {
      if (task.done()) continue;
      latch.missing += 1;
      task.start(*waiter.promise().loop);
      task.tell(latch);
    }
    return latch.missing > 0;
  }
  std::vector<Stored<T>> await_resume() {
    std::vector<Stored<T>> values;
    values.reserve(tasks.size());
    for (Task<T>& task : tasks) values.push_back(task.take());
    return values;
  }
};

}  // namespace detail

template <typename Awaitable>
auto spawn(Awaitable awaitable) {
  auto task = task_of(std::move(awaitable));
  return detail::SpawnAwaiter<typename decltype(task)::value_type>{std::move(task)};
}

inline detail::YieldAwaiter yield() {
  return {};
}

template <typename... Awaitables>
auto when_all(Awaitables... awaitables) {
  return detail::AllAwaiter<typename decltype(task_of(std::move(awaitables)))::value_type...>{
      std::tuple{task_of(std::move(awaitables))...}};
}

template <typename Awaitable>
auto when_all(std::vector<Awaitable> awaitables) {
  using T = typename decltype(task_of(std::move(awaitables[0])))::value_type;
  detail::ListAwaiter<T> all;
  all.tasks.reserve(awaitables.size());
  for (Awaitable& each : awaitables) all.tasks.push_back(task_of(std::move(each)));
  return all;
}

}  // namespace quire
