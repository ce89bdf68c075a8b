#pragma once
// For the tests of this folder: a guest that is one function, called for each of its turns, and
// what most such functions do.
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "application/sandbox/fake_runtime.h"

namespace quire::lifecycle {

class ScriptedGuest final : public sandbox::FakeGuest {
 public:
  // A step of the guest, counted from 0. The number is the guest's own, to keep state in.
  using Step = std::function<sandbox::FakeAction(sandbox::FakeHost&, int, std::int64_t&)>;
  explicit ScriptedGuest(Step step) : step_(std::move(step)) {}
  sandbox::FakeAction step(sandbox::FakeHost& host) override { return step_(host, turn_++, kept_); }

 private:
  Step step_;
  int turn_ = 0;
  std::int64_t kept_ = 0;
};

// Addresses in its memory.
constexpr std::uint32_t kFuture = 64, kName = 128, kBuffer = 1024;

inline sandbox::FakeAction wait_for(sandbox::FakeHost& host, std::int64_t future,
                                    std::int64_t timeout_ns = -1) {
  using Kind = sandbox::FakeAction::Kind;
  const auto number = static_cast<std::int32_t>(future);
  host.put(kFuture, {reinterpret_cast<const char*>(&number), sizeof number});
  const auto outcome = host.call("future", "wait", {kFuture, 1, timeout_ns});
  if (outcome.outcome == sandbox::CallOutcome::Suspend) return {Kind::Wait, 0, ""};
  host.wait_result = static_cast<std::int32_t>(outcome.value);
  return {Kind::Yield, 0, ""};
}

inline void send(sandbox::FakeHost& host, std::string_view text) {
  host.call("session", "send", {host.put(kBuffer, text), static_cast<std::int64_t>(text.size())});
}

}  // namespace quire::lifecycle
