#pragma once
// TenantFlood: a tenant that launches as many programs as it gets, of which each sleeps for a
// while. Some worlds have one.
//
// All of it is drawn from a stream of its own, as that of the ConnectionFlood, and a world without
// one has neither the tenant nor the program.
//
// Three things must hold. Its programs never have more than half of the places, or one. It is
// refused for want of room alone, and no other client is refused for its sake (DirectClient). All
// of its programs end, and it is notified of each.
//
// Thread   the world's.
#include <cstdint>
#include <set>

#include "application/lifecycle/instance_manager.h"
#include "application/sandbox/fake_runtime.h"
#include "simulation/town.h"

namespace quire::simulation {

class TenantFlood final : public lifecycle::Listener {
 public:
  TenantFlood(Town& town, lifecycle::InstanceManager& manager, std::uint64_t seed);

  // Adds its program, if the world has a flood. Requires: no other program comes after it.
  void begin(sandbox::FakeRuntime& runtime);
  bool is_done() const { return actions_left_ == 0; }
  std::uint64_t next_ns() const { return next_ns_; }
  // Requires: !is_done().
  void act();
  void close() { actions_left_ = 0; }
  void check_over() const;
  bool heard(lifecycle::InstanceId instance, const service::Said& said) override;

 private:
  class Sleeper;

  void launch();
  void kill_some();

  Town& town_;
  lifecycle::InstanceManager& manager_;
  Dice dice_;
  const control::TenantId tenant_;  // After those of the others.
  lifecycle::ProgramId program_{};
  std::uint32_t actions_left_ = 0;
  std::uint64_t next_ns_ = 0;
  std::set<lifecycle::InstanceId> launched_;  // And not ended.
  std::uint32_t running_count_ = 0;
};

}  // namespace quire::simulation
