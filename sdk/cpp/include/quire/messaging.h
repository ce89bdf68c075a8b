#pragma once
// Messages between the programs of one tenant.
//
//   messaging::Subscription news = co_await messaging::subscribe("news");
//   const std::string message = co_await news.next();
//
//   co_await messaging::push("work", "a job");
//   const std::string job = co_await messaging::pull("work");
//
// Errors   as interface/messaging.wit says; quota-exceeded reports to the sender that there is no
//          room, and then no program got the message.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "quire/bindings.h"
#include "quire/future.h"
#include "quire/handle.h"
#include "quire/result.h"
#include "quire/runtime.h"

namespace quire::messaging {

// To everyone who is subscribed now. Gives to how many.
inline Result<std::uint32_t> broadcast(std::string_view topic, std::string_view message) {
  return static_cast<std::uint32_t>(TRY(checked(
      abi::messaging::broadcast(detail::bytes_of(topic), detail::count_of(topic.size()),
                                detail::bytes_of(message), detail::count_of(message.size())))));
}

// Ends with its last copy.
class Subscription {
 public:
  explicit Subscription(std::int32_t handle) : handle_(handle) {}
  Future<std::string> next() const {
    return Future<std::string>(abi::messaging::next_message(handle_.get()));
  }

 private:
  detail::SharedHandle handle_;
};

inline Result<Subscription> subscribe(std::string_view topic) {
  return Subscription(TRY(
      checked(abi::messaging::subscribe(detail::bytes_of(topic), detail::count_of(topic.size())))));
}

// At the end of the tenant's queue of that name; pull gives each message to one program.
inline Result<void> push(std::string_view name, std::string_view message) {
  return checked_empty(abi::messaging::push(detail::bytes_of(name), detail::count_of(name.size()),
                                            detail::bytes_of(message),
                                            detail::count_of(message.size())));
}
inline Future<std::string> pull(std::string_view name) {
  return Future<std::string>(
      abi::messaging::pull(detail::bytes_of(name), detail::count_of(name.size())));
}

}  // namespace quire::messaging
