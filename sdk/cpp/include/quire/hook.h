#pragma once
// Hook: a function of the program that the SDK calls between two steps of its own.
//
//   options.logits = [](std::span<float> logits) { logits[5] = -1e9f; };
//   options.logits = [&](std::span<float> logits) -> Task<> { mix(logits, co_await other.next_logits()); };
//   options.on_token = [&](std::uint32_t token) { return other.append(token); };
//
// The function returns nothing, a Result<void> or a Task<>. The SDK waits for it, and an error that it
// returns ends the call that runs it. What a lambda captures by reference must live as long as that call.
#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

#include "quire/result.h"
#include "quire/task.h"

namespace quire {

template <typename... Arguments>
class Hook {
 public:
  Hook() = default;
  template <typename Function>
    requires(!std::same_as<std::remove_cvref_t<Function>, Hook> &&
             std::invocable<Function&, Arguments...>)
  Hook(Function function) {
    using Returned = std::invoke_result_t<Function&, Arguments...>;
    static_assert(std::is_void_v<Returned> || std::same_as<Returned, Result<void>> ||
                      std::same_as<Returned, Task<>>,
                  "a hook returns nothing, a Result<void> or a Task<>");
    if constexpr (std::same_as<Returned, Task<>>) {
      call_ = std::move(function);
    } else {
      call_ = [function = std::move(function)](Arguments... arguments) mutable {
        return done(function, std::forward<Arguments>(arguments)...);
      };
    }
  }

  explicit operator bool() const { return static_cast<bool>(call_); }
  // There is one. The hook outlives the task.
  Task<> operator()(Arguments... arguments) const {
    return call_(std::forward<Arguments>(arguments)...);
  }

 private:
  template <typename Function>
  static Task<> done(Function& function, Arguments... arguments) {
    if constexpr (std::is_void_v<std::invoke_result_t<Function&, Arguments...>>) {
      function(std::forward<Arguments>(arguments)...);
    } else {
      co_await function(std::forward<Arguments>(arguments)...);
    }
    co_return;
  }

  std::function<Task<>(Arguments...)> call_;
};

}  // namespace quire
