#pragma once
// Future<T>: a result that the host will have. co_await gives its T, or ends the task with its
// error; co_await attempt(future) gives its Result<T>. Either is given once.
//
// Owns     the host's future. Dropping it undone cancels the work or lets it finish unseen.
// Errors   also those of the call that made it: a call that fails at once gives a Future that is
//          ready and holds the Error, so that there is one place to look.
#include <array>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quire/annotations.h"
#include "quire/event_loop.h"
#include "quire/result.h"
#include "quire/task.h"

namespace quire {

// How the bytes of a result become a T. Specialised here for what the interface gives.
template <typename T>
struct FutureValue;

template <>
struct FutureValue<void> {
  static Result<void> decode(std::span<const std::byte>) { return {}; }
};

template <>
struct FutureValue<std::string> {
  static Result<std::string> decode(std::span<const std::byte> bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
};

template <>
struct FutureValue<std::vector<std::uint32_t>> {
  static Result<std::vector<std::uint32_t>> decode(std::span<const std::byte> bytes) {
    std::vector<std::uint32_t> values(bytes.size() / sizeof(std::uint32_t));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * 4);
    return values;
  }
};

template <>
struct FutureValue<std::vector<std::uint8_t>> {
  static Result<std::vector<std::uint8_t>> decode(std::span<const std::byte> bytes) {
    std::vector<std::uint8_t> values(bytes.size());
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size());
    return values;
  }
};

// For each u32 bytes, then its bytes.
template <>
struct FutureValue<std::vector<std::string>> {
  static Result<std::vector<std::string>> decode(std::span<const std::byte> bytes) {
    std::vector<std::string> texts;
    while (!bytes.empty()) {
      std::uint32_t count = 0;
      if (bytes.size() >= sizeof count) std::memcpy(&count, bytes.data(), sizeof count);
      if (bytes.size() < sizeof count || count > bytes.size() - sizeof count) {
        return Error{ErrorCode::Internal, "a list of texts that ends too early"};
      }
      texts.emplace_back(reinterpret_cast<const char*>(bytes.data()) + sizeof count, count);
      bytes = bytes.subspan(sizeof count + count);
    }
    return texts;
  }
};

template <typename T>
class [[nodiscard("a Future that is dropped cancels its work: co_await it")]] Future {
 public:
  // Takes the value that a call of the interface returned: a future, or minus an error code.
  explicit Future(std::int32_t returned) {
    if (returned >= 0) {
      future_ = returned;
    } else {
      error_ = Error{static_cast<ErrorCode>(-returned), last_error_message()};
    }
  }
  explicit Future(Error error) : error_(std::move(error)) {}
  Future(Future&& other) noexcept
      : future_(std::exchange(other.future_, kNone)), error_(std::move(other.error_)) {}
  Future& operator=(Future&& other) noexcept {
    if (this != &other) {
      drop();
      future_ = std::exchange(other.future_, kNone);
      error_ = std::move(other.error_);
    }
    return *this;
  }
  ~Future() { drop(); }

  void drop() {
    if (future_ != kNone) abi::future::drop(std::exchange(future_, kNone));
  }

  // The host's handle, for abi::future::wait and poll. Still owned.
  std::int32_t handle() const { return future_; }

  // Does not wait: true when co_await would give its result without suspending the program.
  bool ready() const {
    if (future_ == kNone) return true;
    std::uint8_t flag = 0;
    return abi::future::poll(&future_, 1, &flag) == 1;
  }

  // Waits without the event loop: everything else of the program stands still meanwhile.
  Result<T> wait() && {
    if (future_ != kNone) {
      const std::int32_t waited = abi::future::wait(&future_, 1, -1);
      if (waited < 0) return Error{static_cast<ErrorCode>(-waited), last_error_message()};
    }
    return std::move(*this).take();
  }

  // The result of a future that is ready; it ends the future.
  Result<T> take() && {
    if (error_) return std::move(*error_);
    if (future_ == kNone) panic("a future was taken twice");
    std::array<std::byte, 2176> small;  // A distribution of 256 tokens takes 2,052 bytes.
    const std::int32_t bytes = abi::future::take(future_, small.data(), small.size());
    if (bytes <= static_cast<std::int32_t>(small.size()))
      return finish({small.data(), small.size()}, bytes);
    std::vector<std::byte> large(static_cast<std::size_t>(bytes));
    const std::int32_t again =
        abi::future::take(future_, large.data(), static_cast<std::uint32_t>(large.size()));
    return finish(large, again);
  }

  struct Awaiter {
    Future future;
    detail::FutureWaiter waiter = {};

    bool await_ready() const { return future.future_ == kNone; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> waiting) {
      waiter.future = future.future_;
      waiter.resumable = &waiting.promise();
      waiting.promise().loop->wait_for(waiter);
    }
    Result<T> await_resume() { return std::move(future).take(); }
  };
  Awaiter operator co_await() && { return Awaiter{std::move(*this)}; }

  template <typename U>
    requires(std::is_same_v<U, T>)
  operator U() const QUIRE_DELETE("co_await the Future: that waits for its value");

 private:
  static constexpr std::int32_t kNone = -1;

  Result<T> finish(std::span<const std::byte> buffer, std::int32_t bytes) {
    future_ = kNone;  // The host ended it, with its value or its error.
    if (bytes < 0) return Error{static_cast<ErrorCode>(-bytes), last_error_message()};
    if (static_cast<std::size_t>(bytes) > buffer.size()) panic("the result of a future grew");
    return FutureValue<T>::decode(buffer.first(static_cast<std::size_t>(bytes)));
  }

  std::int32_t future_ = kNone;
  std::optional<Error> error_;
};

// Ready after `duration`.
inline Future<void> sleep(std::chrono::nanoseconds duration) {
  return Future<void>(abi::runtime::sleep(duration.count()));
}

namespace detail {

template <typename T>
struct [[nodiscard("co_await it")]] WithTimeout {
  Task<T> task;
  std::chrono::nanoseconds limit;

  struct Awaiter {
    Task<T> task;
    std::chrono::nanoseconds limit;
    Future<void> timer;
    Latch latch = {};
    FutureWaiter waiter = {};

    // The time begins to run when it is awaited. A timer that the host refuses is the answer.
    bool await_ready() const { return task.done() || timer.handle() < 0; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> waiting) {
      EventLoop& loop = *waiting.promise().loop;
      latch = {1, &waiting.promise()};
      task.start(loop);
      task.tell(latch);
      waiter.future = timer.handle();
      waiter.resumable = &waiting.promise();
      loop.wait_for(waiter);
    }
    Result<T> await_resume() {
      waiter.unlink();
      if (task.done()) return task.take();
      task.drop();
      if (timer.handle() < 0) return std::move(timer).take().take_error();
      return Error{ErrorCode::Timeout,
                   "not done after " + std::to_string(limit.count() / 1000000) + " ms"};
    }
  };
  Awaiter operator co_await() && { return Awaiter{std::move(task), limit, sleep(limit)}; }
};

}  // namespace detail

// The value of `awaitable`, or Error timeout when it is not done in time; then it is dropped.
template <typename Awaitable>
auto with_timeout(Awaitable awaitable, std::chrono::nanoseconds limit) {
  return detail::WithTimeout<detail::ValueOfTask<Awaitable>>{task_of(std::move(awaitable)), limit};
}

}  // namespace quire
