#pragma once
// Child: another instance that this program launched, of itself or of a program that the server
// has. It draws on what this program has left, with all other children, and ends with it. One that
// is launched with a share_percent has that part of what is left for itself.
//
//   Child child = co_await Child::launch({.arguments = {"--part", "2"}});
//   co_await child.send("go on");
//   const std::string message = co_await child.receive();
//   co_await child.forward(session::send);               // what else it says goes to the client
//   const ChildEnd end = co_await child.wait();
//
// Errors   as interface/runtime.wit says; quota-exceeded names the limit and its flag.
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/bindings.h"
#include "quire/future.h"
#include "quire/handle.h"
#include "quire/result.h"
#include "quire/runtime.h"
#include "quire/task.h"

namespace quire {

// Numbers of interface/runtime.wit.
enum class ChildEndKind : std::uint32_t { Finished, Trapped, LimitExceeded, Killed, NotStarted };

struct ChildEnd {
  ChildEndKind kind = ChildEndKind::Finished;
  std::int32_t exit_code = 0;
  std::string result;   // What it set last (runtime::set_result).
  std::string message;  // Why it ended, where it did not finish.
};
template <>
struct FutureValue<ChildEnd> {
  static Result<ChildEnd> decode(std::span<const std::byte> bytes) {
    std::uint32_t head[4] = {5, 0, 0, 0};
    if (bytes.size() >= sizeof head) std::memcpy(head, bytes.data(), sizeof head);
    if (head[0] > 4 || bytes.size() != sizeof head + std::uint64_t{head[2]} + head[3]) {
      return Error{ErrorCode::Internal,
                   "the end of a child in " + std::to_string(bytes.size()) + " bytes"};
    }
    const char* text = reinterpret_cast<const char*>(bytes.data()) + sizeof head;
    return ChildEnd{static_cast<ChildEndKind>(head[0]), static_cast<std::int32_t>(head[1]),
                    std::string(text, head[2]), std::string(text + head[2], head[3])};
  }
};

struct ChildOptions {
  std::string program = {};  // A name that the server has; empty: this program.
  std::vector<std::string> arguments = {};
  // 1 to 100 percent of what this program has left, for this child alone; 0: the child draws on
  // what this program and its other children do not use.
  std::uint32_t share_percent = 0;
};

class Child {
 public:
  static Result<Child> launch(const ChildOptions& options = {}) {
    std::string arguments;
    for (const std::string& each : options.arguments) {
      const auto bytes = static_cast<std::uint32_t>(each.size());
      arguments.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
      arguments += each;
    }
    return Child(TRY(checked(abi::runtime::launch(
        detail::bytes_of(options.program), detail::count_of(options.program.size()),
        detail::bytes_of(arguments), detail::count_of(arguments.size()), options.share_percent))));
  }

  Result<void> send(std::string_view message) const {
    return checked_empty(abi::runtime::send_child(handle_.get(), detail::bytes_of(message),
                                                  detail::count_of(message.size())));
  }
  // Error unavailable: it has ended, and all was received.
  Future<std::string> receive() const {
    return Future<std::string>(abi::runtime::receive_child(handle_.get()));
  }
  Future<ChildEnd> wait() const {
    return Future<ChildEnd>(abi::runtime::wait_child(handle_.get()));
  }
  // Gives each message of the child to `show` (session::send is one), until it has ended and all was received. An
  // Error of `show` ends the task, and not the child.
  template <typename Show>
  Task<> forward(Show show) const {
    return forward_from(*this, std::move(show));
  }
  Result<void> kill() const { return checked_empty(abi::runtime::kill_child(handle_.get())); }

 private:
  explicit Child(std::int32_t handle) : handle_(handle) {}

  template <typename Show>
  static Task<> forward_from(Child child, Show show) {
    for (;;) {
      Result<std::string> message = co_await attempt(child.receive());
      if (!message.ok() && message.error().code == ErrorCode::Unavailable) co_return;
      co_await show(std::string_view(co_await std::move(message)));
    }
  }

  detail::SharedHandle handle_;
};

}  // namespace quire
