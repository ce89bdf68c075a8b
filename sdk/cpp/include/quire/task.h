#pragma once
// Task<T>: a C++20 coroutine that ends in a T or in an Error. It starts when it is awaited or
// spawned.
//
//   Task<std::string> answer(Context& context) {
//     co_await context.flush();
//     const Generation answer = co_await context.generate().collect();
//     if (answer.text.empty()) co_await fail(ErrorCode::OutOfRange, "no answer");
//     co_return answer.text;
//   }
//
// co_await x               the value of a Task, a Future or a Result; an Error ends the task that
//                          awaits with that Error
// co_await attempt(x)      the Result, for a task that goes on after an Error
// co_await fail(code, why) ends the task with an Error
// co_await spawn(task)     starts it and gives it back at once: await it later, or drop it
// co_await gather(a, b)    runs all, gives a std::tuple of their values (Unit for void); the first
//                          Error drops the rest and ends the task that awaits
// co_await gather(list)    the same for a std::vector, gives a std::vector in the same order
// co_await gather(list, {.at_once = 8})   the same, with at most 8 of them begun and not ended
// co_await when_all(...)   runs all to their ends, gives their Results: a std::tuple, or a
//                          std::vector for a std::vector
// co_await when_any(a, b)  the Result of the first that ends, in a value or an Error, as a std::variant whose index
//                          says which; the others are dropped
// co_await when_any(list)  the same for a std::vector: its index in the list, and its Result
// co_await first_ok(list)  the value of the first that ends in one; the others are dropped. An Error if all fail
// co_await with_timeout(x, duration)   the value of x, or Error timeout and x is dropped
// co_await yield()         lets the other tasks go first
//
// Dropping a Task ends it where it stands: its locals are destroyed, and with them its futures (the
// host cancels their work or lets it finish unseen), its handles and the tasks it awaits. An Error
// does the same at the place where it arrives.
//
// Arguments of a coroutine that live shorter than it must be taken by value: a Task that is kept
// begins after the call. The compiler warns where a parameter refers to a std::string or std::vector
// and takes temporaries.
//
// Thread   a program has one.
//
// Invariant  TK1  The promise of a coroutine knows the one Task that owns it, so that a coroutine
//                that failed can be destroyed before its Task is.
#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "quire/annotations.h"
#include "quire/event_loop.h"
#include "quire/result.h"

namespace quire {

template <typename T = void>
class Task;

namespace detail {

// Types of temporary values that are often made for one call.
template <typename T>
inline constexpr bool is_text_or_list = false;
template <typename... Of>
inline constexpr bool is_text_or_list<std::basic_string<Of...>> = true;
template <typename... Of>
inline constexpr bool is_text_or_list<std::vector<Of...>> = true;

template <typename Parameter>
inline constexpr bool refers_to_temporary = is_text_or_list<std::remove_cvref_t<Parameter>> &&
                                            (std::is_rvalue_reference_v<Parameter> ||
                                             (std::is_lvalue_reference_v<Parameter> &&
                                              std::is_const_v<std::remove_reference_t<Parameter>>));

template <bool kRefersToTemporary>
constexpr bool has_safe_parameters()
    QUIRE_WARN_IF(kRefersToTemporary,
                  "this coroutine has a parameter that refers to a std::string or std::vector; one "
                  "that is gone when a kept Task begins is read all the same: take it by value") {
  return true;
}

// Makes a waiting coroutine ready when `missing` tasks have finished, or one of them as `ends_at` says.
enum class EndsAt : std::uint8_t { Last, FirstError, FirstValue, First };

struct Latch {
  std::size_t missing = 0;
  Resumable* waiter = nullptr;
  EndsAt ends_at = EndsAt::Last;

  void count_down(EventLoop& loop, bool has_failed) {
    missing -= 1;
    const EndsAt reached = has_failed ? EndsAt::FirstError : EndsAt::FirstValue;
    if (missing == 0 || ends_at == EndsAt::First || ends_at == reached) loop.make_ready(*waiter);
  }
};

template <typename T>
using Stored = std::conditional_t<std::is_void_v<T>, Unit, T>;

template <typename Awaitable>
  requires(!is_result<std::remove_cvref_t<Awaitable>>)
decltype(auto) awaiter_of(Awaitable&& awaitable) {
  if constexpr (requires { std::forward<Awaitable>(awaitable).operator co_await(); }) {
    return std::forward<Awaitable>(awaitable).operator co_await();
  } else {
    return std::forward<Awaitable>(awaitable);
  }
}

// A Result that is there, as what can be awaited.
template <typename T>
struct ReadyResult {
  Result<T> result;

  bool await_ready() const { return true; }
  void await_suspend(std::coroutine_handle<>) const {}
  Result<T> await_resume() { return std::move(result); }
};
template <typename T>
ReadyResult<T> awaiter_of(Result<T> result) {
  return {std::move(result)};
}

// The outcome of awaiting: a Result if it can fail.
template <typename Awaitable>
using Awaited = decltype(awaiter_of(std::declval<Awaitable>()).await_resume());
template <typename T>
struct ValueOfResult {
  using type = T;
};
template <typename T>
struct ValueOfResult<Result<T>> {
  using type = T;
};
template <typename Awaitable>
using AwaitedValue = typename ValueOfResult<Awaited<Awaitable>>::type;

template <typename Awaitable>
struct [[nodiscard("co_await it")]] Attempt {
  Awaitable awaitable;
};
struct [[nodiscard("co_await it: fail ends the task that awaits it")]] Failure {
  Error error;

  bool await_ready() const { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> failing) {
    Error why = std::move(error);  // This object goes with the coroutine.
    failing.promise().fail(std::move(why));
  }
  [[noreturn]] void await_resume() const { panic("a task that failed went on"); }
};

template <typename T>
inline constexpr bool is_attempt = false;
template <typename T>
inline constexpr bool is_attempt<Attempt<T>> = true;

class TaskBase;

struct PromiseBase : Resumable {
  EventLoop* loop = nullptr;  // Null until the task is started.
  Latch* latch = nullptr;
  TaskBase* owner = nullptr;

  // Ends the coroutine, which is suspended, and destroys it; what awaits its Task gets the Error.
  void fail(Error error);

  // The coroutine stays as it is until its Task destroys it; what waits goes on in a later round.
  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> finished) const noexcept {
      PromiseBase& promise = finished.promise();
      if (promise.latch != nullptr) promise.latch->count_down(*promise.loop, false);
    }
    void await_resume() const noexcept {}
  };
  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() const noexcept { panic("an exception left a task"); }
};

// Awaits what gives a Result<T>: gives the T, or ends the coroutine that awaits with the Error.
// It names the promise by its base, so that the coroutines of all types share one copy of it.
template <typename Inner, typename T>
struct [[nodiscard]] Unwrapping {
  PromiseBase& promise;
  Inner inner;
  std::optional<Result<T>> result = {};

  bool await_ready() {
    if (!inner.await_ready()) return false;
    result.emplace(inner.await_resume());
    return result->ok();
  }
  // If the task fails, its frame, which holds this object, is gone when fail() returns.
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiting) {
    if (result) {
      fail();
      return true;
    }
    promise.before_resume = &Unwrapping::has_arrived;
    promise.awaiter = this;
    if constexpr (std::is_same_v<decltype(inner.await_suspend(waiting)), bool>) {
      if (inner.await_suspend(waiting)) return true;
      return !has_arrived(this);
    } else {
      inner.await_suspend(waiting);
      return true;
    }
  }
  T await_resume() {
    if constexpr (!std::is_void_v<T>) return std::move(*result).take();
  }

 private:
  static bool has_arrived(void* self) {
    auto& me = *static_cast<Unwrapping*>(self);
    me.promise.before_resume = nullptr;
    me.result.emplace(me.inner.await_resume());
    if (me.result->ok()) return true;
    me.fail();
    return false;
  }
  void fail() {
    Error why = std::move(*result).take_error();
    promise.fail(std::move(why));
  }
};

// The base of a Task of any type: the owner of a coroutine, or of the Error that ended it.
class TaskBase {
 public:
  // False for a task that was moved from or dropped.
  bool exists() const { return promise_ != nullptr || error_ != nullptr; }
  bool done() const {
    return error_ != nullptr || (promise_ != nullptr && promise_->coroutine.done());
  }
  // Null while it runs, and after it ended in a value.
  const Error* failure() const { return error_.get(); }

  // Ends it where it stands. Not to be called by the task itself.
  void drop() {
    error_.reset();
    if (promise_ != nullptr) std::exchange(promise_, nullptr)->coroutine.destroy();
  }

  // Gets it going in `loop`, unless it is started already.
  void start(EventLoop& loop) {
    if (error_ != nullptr) return;
    if (promise_ == nullptr) panic("a task that is gone was started");
    if (promise_->loop != nullptr) return;
    promise_->loop = &loop;
    loop.make_ready(*promise_);
  }

  // `latch` counts down when the task is done; it must not be done yet.
  void tell(Latch& latch) { promise_->latch = &latch; }

 protected:
  TaskBase() = default;
  explicit TaskBase(PromiseBase& promise) : promise_(&promise) { own(); }
  TaskBase(TaskBase&& other) noexcept
      : promise_(std::exchange(other.promise_, nullptr)), error_(std::move(other.error_)) {
    own();
  }
  TaskBase& operator=(TaskBase&& other) noexcept {
    if (this != &other) {
      drop();
      promise_ = std::exchange(other.promise_, nullptr);
      error_ = std::move(other.error_);
      own();
    }
    return *this;
  }
  ~TaskBase() { drop(); }

  PromiseBase* promise_ = nullptr;
  std::unique_ptr<Error> error_;  // Set when it failed; the coroutine is gone then.

 private:
  friend struct PromiseBase;
  void own() {
    if (promise_ != nullptr) promise_->owner = this;  // TK1
  }
};

[[gnu::noinline]] inline void PromiseBase::fail(Error error) {
  EventLoop& its_loop = *loop;
  Latch* its_latch = latch;
  owner->error_ = std::make_unique<Error>(std::move(error));
  owner->promise_ = nullptr;
  coroutine.destroy();  // This promise is gone.
  if (its_latch != nullptr) its_latch->count_down(its_loop, true);
}

template <typename T>
struct Promise;

// The common part of the promises of all tasks; Promise<T> adds how the value is returned.
template <typename T>
struct PromiseOf : PromiseBase {
  Task<T> get_return_object();

  template <typename Value>
    requires std::is_arithmetic_v<Value>
  void await_transform(Value) QUIRE_DELETE("this number is there already: leave co_await out");
  template <typename Awaitable>
    requires(!std::is_arithmetic_v<std::remove_cvref_t<Awaitable>>)
  auto await_transform(Awaitable&& awaitable) {
    using Given = std::remove_cvref_t<Awaitable>;
    if constexpr (is_attempt<Given>) {
      return awaiter_of(std::move(awaitable.awaitable));
    } else if constexpr (is_result<Awaited<Awaitable>>) {
      using Inner = std::remove_cvref_t<decltype(awaiter_of(std::forward<Awaitable>(awaitable)))>;
      return Unwrapping<Inner, AwaitedValue<Awaitable>>{
          *this, awaiter_of(std::forward<Awaitable>(awaitable))};
    } else {
      using Inner = std::remove_cvref_t<decltype(awaiter_of(std::forward<Awaitable>(awaitable)))>;
      return Inner(awaiter_of(std::forward<Awaitable>(awaitable)));
    }
  }
};

template <typename T>
struct Promise : PromiseOf<T> {
  static_assert(!is_result<T>, "a Task may end in an Error anyway: Task<T>, not Task<Result<T>>");
  std::optional<T> value;

  void return_value(T returned) { value.emplace(std::move(returned)); }
  template <typename U>
    requires(is_result<std::remove_cvref_t<U>> || std::is_same_v<std::remove_cvref_t<U>, Error>)
  void return_value(U&&) {
    static_assert(!sizeof(U),
                  "co_return gives a value: co_return co_await a_result, or "
                  "co_await fail(code, text) for an error");
  }
  T take() { return std::move(*value); }
};

template <>
struct Promise<void> : PromiseOf<void> {
  void return_void() const noexcept {}
  Unit take() const { return {}; }
};

}  // namespace detail

// The Result of `awaitable` (a Task, a Future, a Result): co_await attempt(x) never ends a task.
template <typename Awaitable>
detail::Attempt<Awaitable> attempt(Awaitable awaitable) {
  return {std::move(awaitable)};
}

// co_await fail(code, text) ends the task with that Error.
inline detail::Failure fail(Error error) {
  return {std::move(error)};
}
inline detail::Failure fail(ErrorCode code, std::string message) {
  return {Error{code, std::move(message)}};
}

template <typename T>
class [[nodiscard("a Task does nothing until it is awaited: co_await it")]] Task
    : public detail::TaskBase {
 public:
  using promise_type = detail::Promise<T>;
  using value_type = T;

  Task() = default;
  explicit Task(promise_type& promise) : TaskBase(promise) {}

  // Takes the outcome, once done().
  Result<T> take() {
    if (!done()) panic("the value was taken of a task that is not done");
    if (error_ != nullptr) return std::move(*error_);
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return static_cast<promise_type*>(promise_)->take();
    }
  }

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
    Result<T> await_resume() { return task.take(); }
  };
  Awaiter operator co_await() && { return Awaiter{std::move(*this)}; }

  template <typename U>
    requires(std::is_same_v<U, T>)
  operator U() const QUIRE_DELETE("co_await the Task: that runs it and gives its value");
};

namespace detail {

template <typename T>
Task<T> PromiseOf<T>::get_return_object() {
  auto& promise = static_cast<Promise<T>&>(*this);
  promise.coroutine = std::coroutine_handle<Promise<T>>::from_promise(promise);
  return Task<T>(promise);
}

template <typename Awaitable>
Task<AwaitedValue<Awaitable>> task_of_awaitable(Awaitable awaitable) {
  if constexpr (std::is_void_v<AwaitedValue<Awaitable>>) {
    co_await std::move(awaitable);
  } else {
    co_return co_await std::move(awaitable);
  }
}

template <typename T>
inline constexpr bool is_task = false;
template <typename T>
inline constexpr bool is_task<Task<T>> = true;

}  // namespace detail

// Anything that can be awaited, as a Task; a Task as it is.
template <typename Awaitable>
auto task_of(Awaitable awaitable) {
  if constexpr (detail::is_task<Awaitable>) {
    return awaitable;
  } else {
    return detail::task_of_awaitable(std::move(awaitable));
  }
}

namespace detail {

template <typename Awaitable>
using ValueOfTask = typename decltype(task_of(std::declval<Awaitable>()))::value_type;

template <typename Awaitable>
std::vector<Task<ValueOfTask<Awaitable>>> tasks_of(std::vector<Awaitable> awaitables) {
  std::vector<Task<ValueOfTask<Awaitable>>> tasks;
  tasks.reserve(awaitables.size());
  for (Awaitable& each : awaitables) tasks.push_back(task_of(std::move(each)));
  return tasks;
}

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

// Starts a task for a latch, which counts those that are not done.
template <typename T>
void begin(Task<T>& task, EventLoop& loop, Latch& latch) {
  if (task.done()) return;
  latch.missing += 1;
  task.start(loop);
  task.tell(latch);
}

template <typename... Ts>
struct [[nodiscard("co_await it")]] AllAwaiter {
  std::tuple<Task<Ts>...> tasks;
  Latch latch = {};

  bool await_ready() const { return sizeof...(Ts) == 0; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiter) {
    latch.waiter = &waiter.promise();
    EventLoop& loop = *waiter.promise().loop;
    std::apply([&](auto&... each) { (begin(each, loop, latch), ...); }, tasks);
    return latch.missing > 0;
  }
  std::tuple<Result<Ts>...> await_resume() {
    return std::apply([](auto&... each) { return std::tuple<Result<Ts>...>{each.take()...}; },
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
    for (Task<T>& task : tasks) begin(task, *waiter.promise().loop, latch);
    return latch.missing > 0;
  }
  std::vector<Result<T>> await_resume() {
    std::vector<Result<T>> results;
    results.reserve(tasks.size());
    for (Task<T>& task : tasks) results.push_back(task.take());
    return results;
  }
};

template <typename... Ts>
struct [[nodiscard("co_await it")]] GatherAwaiter {
  std::tuple<Task<Ts>...> tasks;
  Latch latch = {};

  bool await_ready() const { return sizeof...(Ts) == 0 || failed() != nullptr; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiter) {
    latch = {0, &waiter.promise(), EndsAt::FirstError};
    EventLoop& loop = *waiter.promise().loop;
    std::apply([&](auto&... each) { (begin(each, loop, latch), ...); }, tasks);
    return latch.missing > 0;
  }
  Result<std::tuple<Stored<Ts>...>> await_resume() {
    if (failed() != nullptr) {
      Error error = *failed();
      std::apply([](auto&... each) { (each.drop(), ...); }, tasks);  // The rest is dropped too.
      return error;
    }
    return std::apply(
        [](auto&... each) { return std::tuple<Stored<Ts>...>{each.take().take()...}; }, tasks);
  }

 private:
  // The first error in the order of the tasks.
  const Error* failed() const {
    const Error* first = nullptr;
    std::apply([&](const auto&... each) { ((first = first ? first : each.failure()), ...); },
               tasks);
    return first;
  }
};

template <typename T>
using ListOf = std::conditional_t<std::is_void_v<T>, void, std::vector<Stored<T>>>;

template <typename T>
struct [[nodiscard("co_await it")]] GatherListAwaiter {
  std::vector<Task<T>> tasks;
  Latch latch = {};

  bool await_ready() const { return tasks.empty() || failed() != nullptr; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiter) {
    latch = {0, &waiter.promise(), EndsAt::FirstError};
    for (Task<T>& task : tasks) begin(task, *waiter.promise().loop, latch);
    return latch.missing > 0;
  }
  Result<ListOf<T>> await_resume() {
    if (failed() != nullptr) {
      Error error = *failed();
      tasks.clear();  // The rest is dropped too.
      return error;
    }
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      std::vector<T> values;
      values.reserve(tasks.size());
      for (Task<T>& task : tasks) values.push_back(task.take().take());
      return values;
    }
  }

 private:
  const Error* failed() const {
    for (const Task<T>& each : tasks) {
      if (each.failure() != nullptr) return each.failure();
    }
    return nullptr;
  }
};

// Awaits tasks of several types, of which the first to end counts.
template <typename... Ts>
struct [[nodiscard("co_await it")]] AnyAwaiter {
  std::tuple<Task<Ts>...> tasks;
  Latch latch = {};

  bool await_ready() const { return any_done(); }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiter) {
    latch = {0, &waiter.promise(), EndsAt::First};
    EventLoop& loop = *waiter.promise().loop;
    std::apply([&](auto&... each) { (begin(each, loop, latch), ...); }, tasks);
    return true;
  }
  std::variant<Result<Ts>...> await_resume() { return taken(std::index_sequence_for<Ts...>()); }

 private:
  bool any_done() const {
    return std::apply([](const auto&... each) { return (each.done() || ...); }, tasks);
  }
  template <std::size_t... Is>
  std::variant<Result<Ts>...> taken(std::index_sequence<Is...>) {
    std::optional<std::variant<Result<Ts>...>> first;
    const auto look = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      auto& task = std::get<I>(tasks);
      if (!first && task.done()) first.emplace(std::in_place_index<I>, task.take());
      task.drop();
    };
    (look(std::integral_constant<std::size_t, Is>()), ...);
    return std::move(*first);
  }
};

}  // namespace detail

// The first task of a list that ended, and its outcome.
template <typename T>
struct FirstEnded {
  std::size_t index = 0;
  Result<T> result;
};

namespace detail {

// Waits for the first task of a list that ends, or with EndsAt::FirstValue for the first that ends in a value.
template <typename T>
struct FirstOfList {
  std::vector<Task<T>> tasks;
  EndsAt ends_at;
  Latch latch = {};

  bool await_ready() const { return first() < tasks.size() || all_done(); }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiter) {
    latch = {0, &waiter.promise(), ends_at};
    for (Task<T>& task : tasks) begin(task, *waiter.promise().loop, latch);
    return true;
  }

 protected:
  // The place of the first in the list; the size of the list if there is none yet.
  std::size_t first() const {
    const auto counts = [this](const Task<T>& each) {
      return each.done() && (ends_at == EndsAt::First || each.failure() == nullptr);
    };
    return static_cast<std::size_t>(std::ranges::find_if(tasks, counts) - tasks.begin());
  }

 private:
  bool all_done() const {
    return std::ranges::all_of(tasks, [](const Task<T>& each) { return each.done(); });
  }
};

template <typename T>
struct [[nodiscard("co_await it")]] AnyOfListAwaiter : FirstOfList<T> {
  Result<FirstEnded<T>> await_resume() {
    if (this->tasks.empty()) {
      return Error{ErrorCode::InvalidArgument, "when_any: the list is empty"};
    }
    const std::size_t index = this->first();
    FirstEnded<T> first{index, this->tasks[index].take()};
    this->tasks.clear();  // The others are dropped.
    return first;
  }
};

template <typename T>
struct [[nodiscard("co_await it")]] FirstOkAwaiter : FirstOfList<T> {
  Result<T> await_resume() {
    if (this->tasks.empty()) {
      return Error{ErrorCode::InvalidArgument, "first_ok: the list is empty"};
    }
    const std::size_t index = this->first();
    Result<T> result = this->tasks[index < this->tasks.size() ? index : 0].take();
    this->tasks.clear();  // The others are dropped.
    return result;
  }
};

// Takes one task of the list after the other, alongside further loops that do the same.
template <typename T>
struct SharedList {
  std::vector<Task<T>> tasks;
  std::vector<std::optional<Stored<T>>> values;
  std::size_t next = 0;
};
template <typename T>
Task<> take_from(SharedList<T>& list) {
  while (list.next < list.tasks.size()) {
    const std::size_t index = list.next++;
    Task<T> task = std::move(list.tasks[index]);
    if constexpr (std::is_void_v<T>) {
      co_await std::move(task);
    } else {
      list.values[index].emplace(co_await std::move(task));
    }
  }
}

template <typename T>
Task<ListOf<T>> gather_in_turn(std::vector<Task<T>> tasks, std::size_t at_once) {
  if (at_once == 0) {
    co_await fail(ErrorCode::InvalidArgument, "gather: at_once is 0, and none could begin");
  }
  SharedList<T> list;
  const std::size_t count = tasks.size();
  list.values.resize(std::is_void_v<T> ? 0 : count);
  list.tasks = std::move(tasks);
  std::vector<Task<>> takers;
  for (std::size_t i = 0; i < count && i < at_once; ++i) takers.push_back(take_from(list));
  co_await GatherListAwaiter<void>{std::move(takers)};
  if constexpr (!std::is_void_v<T>) {
    std::vector<T> values;
    values.reserve(count);
    for (std::optional<T>& each : list.values) values.push_back(std::move(*each));
    co_return values;
  }
}

}  // namespace detail

struct GatherOptions {
  std::size_t at_once;  // How many may have begun and not ended; at least one.
};

template <typename Awaitable>
auto spawn(Awaitable awaitable) {
  return detail::SpawnAwaiter<detail::ValueOfTask<Awaitable>>{task_of(std::move(awaitable))};
}

inline detail::YieldAwaiter yield() {
  return {};
}

template <typename... Awaitables>
auto when_all(Awaitables... awaitables) {
  return detail::AllAwaiter<detail::ValueOfTask<Awaitables>...>{
      std::tuple{task_of(std::move(awaitables))...}};
}
template <typename Awaitable>
auto when_all(std::vector<Awaitable> awaitables) {
  return detail::ListAwaiter<detail::ValueOfTask<Awaitable>>{
      detail::tasks_of(std::move(awaitables))};
}

template <typename... Awaitables>
auto gather(Awaitables... awaitables) {
  return detail::GatherAwaiter<detail::ValueOfTask<Awaitables>...>{
      std::tuple{task_of(std::move(awaitables))...}};
}
template <typename Awaitable>
auto gather(std::vector<Awaitable> awaitables) {
  return detail::GatherListAwaiter<detail::ValueOfTask<Awaitable>>{
      detail::tasks_of(std::move(awaitables))};
}

template <typename Awaitable>
auto gather(std::vector<Awaitable> awaitables, GatherOptions options) {
  return detail::gather_in_turn(detail::tasks_of(std::move(awaitables)), options.at_once);
}

template <typename... Awaitables>
  requires(sizeof...(Awaitables) > 0)
auto when_any(Awaitables... awaitables) {
  return detail::AnyAwaiter<detail::ValueOfTask<Awaitables>...>{
      std::tuple{task_of(std::move(awaitables))...}};
}
// invalid-argument: the list is empty. Of those that end in one turn of the loop, the first in the list counts.
template <typename Awaitable>
auto when_any(std::vector<Awaitable> awaitables) {
  return detail::AnyOfListAwaiter<detail::ValueOfTask<Awaitable>>{
      {detail::tasks_of(std::move(awaitables)), detail::EndsAt::First}};
}

// invalid-argument: the list is empty. If all fail, the Error of the first in the list.
template <typename Awaitable>
auto first_ok(std::vector<Awaitable> awaitables) {
  return detail::FirstOkAwaiter<detail::ValueOfTask<Awaitable>>{
      {detail::tasks_of(std::move(awaitables)), detail::EndsAt::FirstValue}};
}

}  // namespace quire

// Every coroutine that gives a Task is known here with the types of its parameters.
template <typename T, typename... Parameters>
struct std::coroutine_traits<quire::Task<T>, Parameters...> {
  static_assert(quire::detail::has_safe_parameters<
                (quire::detail::refers_to_temporary<Parameters> || ...)>());
  using promise_type = quire::detail::Promise<T>;
};
