#pragma once
// The options of every verb that starts an engine, as plain values.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/adapter_option.h"

namespace quire::cli {

enum class BackendChoice : std::uint8_t { Auto, Scalar, Avx2, AvxVnni, Avx512 };
enum class KvModeChoice : std::uint8_t { Paged, Basic };
enum class KvFormatChoice : std::uint8_t { F32, F16, BF16, Q8 };
enum class PagePolicyChoice : std::uint8_t { Default, Lru, S3Fifo };
enum class WhenFullChoice : std::uint8_t { Suspend, FcfsKill };
enum class BatchingKind : std::uint8_t { Adaptive, Eager, KOnly, TOnly };
// Off: no snapshots. IfFree: an engine without a store is better than none. Required: it is not.
enum class StoreUse : std::uint8_t { Off, IfFree, Required };

// The use of the reason why tokens were not found, which the verb sets. Explain keeps the reasons
// for the operator. With the third, each program gets those of its own misses too.
enum class MissUse : std::uint8_t { Off, Explain, Tell };

// When a batch is built; see docs/internals/scheduling.md.
struct BatchingChoice {
  BatchingKind kind = BatchingKind::Adaptive;
  std::uint32_t command_count = 0;  // KOnly.
  std::uint64_t period_ns = 0;      // TOnly.
};

// The places for pages that the pool has no room for.
struct TierOptions {
  std::uint64_t host_bytes = 0;  // 0: nowhere, as below.
  std::uint64_t disk_bytes = 0;  // In the store, where there is one.
  // Brings pages back whatever it costs, to measure what it costs; the verb's to set.
  bool always_restores = false;
};

// The memory of pages and states. At most one of the first two; neither: a quarter of the
// machine's, at most 8 GiB. Pages are those of each model; memory is divided among the models.
struct PoolOptions {
  std::optional<std::uint32_t> page_count;
  std::optional<std::uint64_t> memory_bytes;
  // A part of memory_bytes, for models whose layers have states; nothing: half.
  std::optional<std::uint64_t> state_memory_bytes;
};

// The options of every verb that starts an engine.
struct EngineOptions {
  std::string model;  // A name, a GGUF file or a folder; empty: the default model.
  std::vector<std::string> further_models;  // Beside it, where programs may choose.
  std::vector<AdapterOption> adapters;      // Loaded at the start.
  BackendChoice backend = BackendChoice::Auto;
  std::uint32_t thread_count = 0;  // 0: one for each physical core.
  KvModeChoice kv_mode = KvModeChoice::Paged;
  KvFormatChoice kv_format = KvFormatChoice::F16;
  std::uint32_t page_size = 16;
  PagePolicyChoice eviction = PagePolicyChoice::Default;
  WhenFullChoice when_full = WhenFullChoice::Suspend;
  BatchingChoice batching;
  std::uint32_t prefill_row_budget = 0;  // Rows of prefill beside decoding; 0: measured.
  PoolOptions pool;
  // Off where the verb has no snapshots to save or open.
  StoreUse store_use = StoreUse::Off;
  std::string store_folder;  // Empty: that of the user's data.
  // Of the snapshots of all tenants. None: what the file system has decides.
  std::optional<std::uint64_t> snapshot_bytes_total_max = {};
  MissUse misses = MissUse::Off;
  TierOptions tiers;
};

}  // namespace quire::cli
