#pragma once
// Replica is one served model on one device: what that device has to give, and who has how much of
// it. It has no behavior of its own, and points at nothing above it.
//
// Owns     the model's pages, embed slots and sequences; what is counted of its batches.
// Thread   engine thread only.
#include <cstdint>

#include "base/clock.h"
#include "control/api/adapter_catalog.h"
#include "control/api/control_port.h"
#include "control/contexts/model_resources.h"
#include "control/objects/fair_shares.h"
#include "control/objects/instance.h"
#include "control/objects/miss_log.h"
#include "control/objects/store_link.h"
#include "inference/api/backend.h"

namespace quire::control {

struct ReplicaCounts {
  std::uint64_t batch_count = 0;
  std::uint64_t row_count = 0;
  std::uint64_t pass_count = 0;
  std::uint64_t found_token_count = 0;
  std::uint64_t prompt_token_count = 0;  // As of InstanceStatistics.
  std::uint64_t found_prompt_token_count = 0;
  std::uint64_t generated_token_count = 0;
  std::uint64_t device_ns = 0;
  std::uint64_t build_ns = 0;
  std::uint64_t suspension_count = 0;
  std::uint64_t swap_count = 0;  // Of these, of contexts whose tokens alone do not suffice.
  ShortageCounts shortage{};
  std::uint64_t lost_token_count = 0;      // Written again after a suspension, or found again.
  std::uint64_t replayed_token_count = 0;  // As of StateStatistics.
  DrawCounts draws{};
};

struct ReplicaOptions {
  ModelIndex index{};
  store::Disk* disk = nullptr;       // Null: snapshots are not supported, and no tier is on disk.
  PageTierOptions tiers{};           // page_bytes is the backend's.
  std::uint32_t miss_count_max = 0;  // Of the MissLog; 0: nothing is noted.
  MissScope miss_scope = MissScope::Everything;
  const AdapterCatalog* adapters = nullptr;  // Null: none are ever loaded.
};

struct Replica {
  Replica(inference::Backend& backend, const PageCacheOptions& cache,
          const ReplicaOptions& options);

  PageLedger& ledger(Instance& instance) const { return instance.of_replica[place].ledger; }
  const PageLedger& ledger(const Instance& instance) const {
    return instance.of_replica[place].ledger;
  }
  FairShare& share(const Instance& instance) const { return *instance.of_replica[place].share; }
  // The batch that was begun last; contexts and pages note when they were used by it.
  std::uint64_t batch() const { return static_cast<std::uint64_t>(last_batch); }

  const ModelIndex index;
  const std::size_t place;  // The index, among ledgers and shares of an instance.
  inference::Backend& backend;
  const double model_number_count;  // Of its matrices, about.
  ModelResources resources;
  StoreLink store;
  MissLog misses;
  const MissScope miss_scope;
  const AdapterCatalog* const adapters;
  FairShares shares;
  ReplicaCounts counts;
  ControlHistograms histograms;
  std::uint64_t completed_at_ns = 0;  // When the batch finished whose outcomes are looked at.
  BatchId last_batch{};
};

// The owner of a context that belongs to that instance's queue.
inline ContextOwner owner_of(Instance& instance, QueueObject& queue) {
  Replica& replica = *queue.replica;
  return {.replica = &replica,
          .instance = &instance,
          .queue = &queue,
          .resources = &replica.resources,
          .ledger = &replica.ledger(instance),
          .tenant = instance.tenant};
}

}  // namespace quire::control
