#pragma once
// Programs that benchmarks run: Wasm modules that the build puts beside this program, many at once
// in an engine here.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "main/machine/application.h"

namespace quire {

// `wanted` where it is not empty. Else the module `name`, as "bench/token_loop.wasm", in the folder
// of this program; NotFound says how to get it.
Result<std::string> find_bench_guest(const std::string& wanted, const std::string& name);

// BenchGuests are instances of one such program. Each sends a message when it is ready, and starts
// its work when it gets one.
//
// Thread   the engine thread. It outlives the application's instances.
// Errors   a guest that logs, traps or fails is the error of the next call, with its words.
class BenchGuests final : public service::Listener {
 public:
  // `after_turn` is called after each turn of the loop, with whether the turn did anything.
  BenchGuests(Application& application, std::string name, std::function<void(bool)> after_turn)
      : application_(application), name_(std::move(name)), after_turn_(std::move(after_turn)) {}

  Result<void> launch(lifecycle::ProgramId program, std::vector<std::string> arguments);
  // Until each has said that it is ready.
  Result<void> wait_until_ready();
  Result<void> tell(lifecycle::InstanceId instance);
  // The next message of anyone.
  Result<std::string> wait_for_message();
  Result<void> wait_for_ends();

  const std::vector<lifecycle::InstanceId>& instances() const { return instances_; }
  // Made by those that ended.
  const hostcalls::CallCounts& calls() const { return calls_; }

  bool heard(InstanceId instance, const service::Said& said) override;

 private:
  Result<void> turn_until(const std::function<bool()>& is_done);
  void note(const std::string& what);
  void note_end(InstanceId instance, const service::End& end);

  Application& application_;
  const std::string name_;
  const std::function<void(bool)> after_turn_;
  std::vector<lifecycle::InstanceId> instances_;
  std::size_t message_count_ = 0;
  std::size_t ended_count_ = 0;
  hostcalls::CallCounts calls_;
  std::optional<std::string> message_;  // The latest that was not taken.
  std::optional<Error> failure_;
};

}  // namespace quire
