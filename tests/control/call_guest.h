#pragma once
// A guest as Wasm would be: host calls on the real controller and a simulated device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "application/hostcalls/calls.h"
#include "application/hostcalls/hostcalls_test_support.h"
#include "application/sandbox/fake_runtime.h"
#include "base/random.h"
#include "control/harness.h"

namespace quire::control {

inline constexpr std::uint32_t kTokens = 1024;
inline constexpr std::uint32_t kName = 4096;
inline constexpr std::uint32_t kNote = 6144;
inline constexpr std::uint32_t kEmbed = 8192;
inline constexpr std::uint32_t kBuffer = 16384;
inline constexpr std::int64_t kOverwrite = 1;

inline std::int64_t minus(ErrorCode code) {
  return -static_cast<std::int64_t>(code);
}

// One instance: its calls, and the engine turned until all of them are answered.
class Guest {
 public:
  Guest(Harness& harness, TenantId tenant, const InstanceLimits& limits = {})
      : harness_(harness),
        parts_{*harness.controller,
               harness.clock,
               harness.wall_clock,
               random_,
               broker_,
               launcher_,
               0,
               nullptr,
               nullptr,
               harness.catalog},
        state_(parts_,
               hostcalls::GuestIdentity{harness.start(tenant, limits), tenant, {}, {}, limits}),
        host_(hostcalls::host_functions(), &state_, 1u << 16) {
    model_ = call("models", "get-model", {0, 0});
    queue = call("queue", "create-queue", {model_, 1});
    EXPECT_EQ(call("allocate", "alloc-emb", {queue, 1, kEmbed}), 1);
  }
  ~Guest() { harness_.controller->end_instance(state_.identity.instance); }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  std::int64_t call(std::string_view interface, std::string_view name,
                    std::initializer_list<std::int64_t> arguments) {
    const std::int64_t value = host_.call(interface, name, arguments).value;
    state_.verify();
    return value;
  }
  // The result of a future, or its error; kBuffer holds its bytes.
  std::int64_t result_of(std::int64_t future) {
    if (future < 0) return future;
    settle();
    return call("future", "take", {future, kBuffer, 16384});
  }
  std::int64_t context(std::string_view name, std::initializer_list<std::int64_t> arguments) {
    return result_of(call("context", name, arguments));
  }
  void settle() {
    harness_.run();
    for (auto& [key, body] : std::exchange(harness_.answers, {})) {
      if (key.first == state_.identity.instance) {
        state_.answer({key.first, key.second, std::move(body)});
      }
    }
    state_.verify();
  }

  void append(std::int64_t to, std::uint32_t count, std::uint32_t first = 1) {
    const std::vector<std::uint32_t> tokens = count_tokens(count, first);
    host_.put(kTokens, {reinterpret_cast<const char*>(tokens.data()), tokens.size() * 4});
    EXPECT_EQ(call("context", "append", {to, kTokens, count}), 0);
  }
  std::int64_t new_context(std::uint32_t token_count) {
    const std::int64_t made = call("context", "create", {queue});
    append(made, token_count);
    EXPECT_EQ(context("flush", {made}), 20);
    return made;
  }
  std::int64_t save(std::int64_t of, std::string_view name, std::int64_t flags = 0,
                    std::int64_t ttl_seconds = 0) {
    const auto bytes = static_cast<std::int64_t>(name.size());
    return context("save", {of, host_.put(kName, name), bytes, flags, ttl_seconds});
  }
  std::int64_t save_with_note(std::int64_t of, std::string_view name, std::string_view note,
                              std::int64_t flags = 0) {
    const auto bytes = static_cast<std::int64_t>(name.size());
    return context("save-with-note",
                   {of, host_.put(kName, name), bytes, flags, 0, host_.put(kNote, note),
                    static_cast<std::int64_t>(note.size())});
  }
  std::string note_of(std::int64_t context) {
    const std::int64_t bytes = call("context", "note-of", {context, kBuffer, 16384});
    return host_.get(kBuffer, static_cast<std::uint32_t>(std::max<std::int64_t>(bytes, 0)));
  }
  std::int64_t begin_open(std::string_view name, std::string_view how = "open") {
    const auto bytes = static_cast<std::int64_t>(name.size());
    return call("context", how, {queue, host_.put(kName, name), bytes});
  }
  // The handle of a new context, or an error.
  std::int64_t open(std::string_view name, std::string_view how = "open") {
    const std::int64_t result = result_of(begin_open(name, how));
    return result < 0 ? result : number_at(kBuffer);
  }
  // The answer of a call on pages.
  std::int64_t page(std::string_view name, std::initializer_list<std::int64_t> arguments) {
    return result_of(call("allocate", name, arguments));
  }
  std::int64_t put(std::uint32_t address, std::string_view bytes) {
    return host_.put(address, bytes);
  }
  std::int64_t remove(std::string_view name) {
    const auto bytes = static_cast<std::int64_t>(name.size());
    return context("delete", {host_.put(kName, name), bytes});
  }
  // The distribution after the context, as bytes.
  std::string next(std::int64_t of) {
    EXPECT_EQ(context("forward", {of, kEmbed, 1}), 20);
    const std::int64_t bytes =
        result_of(call("output", "get-next-dist", {queue, number_at(kEmbed), 8}));
    return host_.get(kBuffer, static_cast<std::uint32_t>(std::max<std::int64_t>(bytes, 0)));
  }
  std::vector<std::uint32_t> next_tokens(std::int64_t of) {
    const std::string bytes = next(of);
    std::vector<std::uint32_t> tokens(bytes.size() / 8);
    std::memcpy(tokens.data(), bytes.data() + bytes.size() % 8, tokens.size() * 4);
    return tokens;
  }
  // `names`: one a line.
  std::int64_t use_adapters(std::int64_t of, std::string_view names, std::vector<double> scales) {
    const auto count = static_cast<std::int64_t>(scales.size());
    host_.put(kNote, {reinterpret_cast<const char*>(scales.data()), scales.size() * 8});
    return call(
        "adapter", "use-adapters",
        {of, host_.put(kTokens, names), static_cast<std::int64_t>(names.size()), kNote, count});
  }
  std::string adapters() {
    const std::int64_t bytes = call("adapter", "available-adapters", {model_, kBuffer, 16384});
    return host_.get(kBuffer, static_cast<std::uint32_t>(std::max<std::int64_t>(bytes, 0)));
  }
  // An empty context of the model that has the name, or the error.
  std::int64_t context_of_model(std::string_view name) {
    const std::int64_t model = call(
        "models", "get-model", {host_.put(kName, name), static_cast<std::int64_t>(name.size())});
    if (model < 0) return model;
    return call("context", "create", {call("queue", "create-queue", {model, 1})});
  }
  std::int32_t number_at(std::uint32_t address) {
    std::int32_t value = 0;
    std::memcpy(&value, host_.memory().data() + address, sizeof value);
    return value;
  }
  control::InstanceStatistics statistics() const {
    return harness_.controller->statistics(state_.identity.instance);
  }
  const std::string& error() const { return state_.last_error; }

  std::int64_t queue = 0;

 private:
  Harness& harness_;
  SeededRandom random_{1};
  hostcalls::MessageBroker broker_;
  hostcalls::RecordingLauncher launcher_;
  hostcalls::HostParts parts_;
  hostcalls::GuestState state_;
  sandbox::FakeHost host_;
  std::int64_t model_ = 0;
};

}  // namespace quire::control
