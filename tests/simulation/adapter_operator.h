#pragma once
// AdapterOperator: loads adapters into the server of a world, and removes them while programs use
// them. It often gives the name to a different adapter at once. Only worlds with adapters have it.
//
// All of it is drawn from a stream of its own. A world without adapters has no registry.
//
// What must hold: the registry keeps its invariants. When the world is over, no adapter is in use.
//
// Thread   the world's.
#include <cstdint>
#include <optional>

#include "control/adapters/adapter_registry.h"
#include "simulation/town.h"

namespace quire::simulation {

// The worlds of seeds from here on have adapters.
inline constexpr std::uint64_t kAdapterSeeds = 1'000'000'000;

class AdapterOperator {
 public:
  AdapterOperator(Town& town, std::uint64_t seed);

  // Null: the world has no adapters.
  const control::AdapterRegistry* registry() const { return registry_ ? &*registry_ : nullptr; }
  bool is_done() const { return actions_left_ == 0; }
  std::uint64_t next_ns() const { return next_ns_; }
  // Requires: !is_done().
  void act();
  void close() { actions_left_ = 0; }
  void verify() const {
    if (registry_) registry_->verify();
  }
  // The world is over.
  void check_over() const;

 private:
  // The path of an adapter is its number.
  class NumberReader final : public inference::AdapterReader {
   public:
    Result<std::shared_ptr<const inference::Adapter>> read(
        const inference::AdapterSource& source,
        const inference::AdapterLimits& limits) const override;
    Result<std::shared_ptr<const inference::Adapter>> read(
        std::vector<inference::AdapterFile> files,
        const inference::AdapterLimits& limits) const override;
    Result<std::uint64_t> bytes_of(const inference::AdapterSource&) const override { return 1; }
  };

  AdapterBook::Key some_key();
  void add(const AdapterBook::Key& key, AdapterBook::Number adapter);
  void remove(const AdapterBook::Key& key);

  Town& town_;
  Dice dice_;
  NumberReader reader_;
  std::optional<control::AdapterRegistry> registry_;
  std::uint32_t actions_left_ = 0;
  std::uint64_t next_ns_ = 0;
};

}  // namespace quire::simulation
