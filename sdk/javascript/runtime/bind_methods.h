#pragma once
// Methods of C++ as functions for bind.h, by their address:
//
//   method<"Child.kill", Held<&Child::kill>::call>()    child.kill()
//
// An object stays alive until the promise of its method is settled.
#include <string>
#include <string_view>
#include <utility>

#include "bind.h"

namespace quire::javascript {

// The type that keeps an argument between JavaScript and the method.
template <typename T>
struct Kept {
  using Type = std::remove_cvref_t<T>;
};
template <>
struct Kept<std::string_view> {
  using Type = std::string;
};

template <typename C, typename T>
Task<T> settled_with([[maybe_unused]] Object<C> held, Future<T> future) {
  co_return co_await std::move(future);
}
template <typename C, typename T>
Task<T> settled_with([[maybe_unused]] Object<C> held, Task<T> task) {
  co_return co_await std::move(task);
}

template <auto kMethod, typename C, typename... A>
auto call_held(Object<C> self, A... arguments) {
  using R = decltype((self.get()->*kMethod)(std::move(arguments)...));
  if constexpr (detail::is_task<R> || is_future<R>) {
    auto given = (self.get()->*kMethod)(std::move(arguments)...);
    return settled_with(std::move(self), std::move(given));
  } else {
    return (self.get()->*kMethod)(std::move(arguments)...);
  }
}

template <auto kMethod>
struct Held;
template <typename C, typename R, typename... A, R (C::*kMethod)(A...) const>
struct Held<kMethod> {
  static auto call(Object<C> self, typename Kept<A>::Type... arguments) {
    return call_held<kMethod>(std::move(self), std::move(arguments)...);
  }
};
template <typename C, typename R, typename... A, R (C::*kMethod)(A...)>
struct Held<kMethod> {
  static auto call(Object<C> self, typename Kept<A>::Type... arguments) {
    return call_held<kMethod>(std::move(self), std::move(arguments)...);
  }
};

}  // namespace quire::javascript
