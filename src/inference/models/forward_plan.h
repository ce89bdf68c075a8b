#pragma once
// ForwardPlan: the forward passes of one batch as addresses, for the body to run.
#include <cstdint>
#include <span>
#include <vector>

#include "inference/api/batch.h"
#include "inference/kernels/kernels.h"

namespace quire::inference {

struct ForwardRow {
  TokenId token{};
  const float* embed = nullptr;  // [embedding_width]: the input where not null.
  std::uint32_t position = 0;
  std::byte* page = nullptr;  // Takes the row's keys and values; null: written nowhere.
  std::uint32_t page_slot = 0;
};

// Some consecutive rows of one pass: what one attention task takes. It folds the rows' partials
// first if they have any.
struct AttentionRows {
  std::span<const PageView> pages;
  std::span<const std::uint32_t> spans;  // Of AttentionTask.
  std::uint32_t visible_slot_end = 0;
  std::uint32_t mask_slot_count = 0;
  std::uint32_t row_first = 0;
  std::uint32_t row_count = 0;
};

// Rows of any passes that see the same spans: a task that leaves partials, before all
// AttentionRows.
struct PartialRows {
  std::span<const PageView> pages;
  std::span<const std::uint32_t> spans;
  std::uint32_t visible_slot_end = 0;
  PartialUse use = PartialUse::WriteEach;
  std::uint32_t partial_offset = 0;  // Of AttentionTask.
  std::uint32_t row_first = 0;       // Into partial_row_of and partial_query_rows.
  std::uint32_t row_count = 0;
};

inline constexpr std::uint32_t kLowRankInputMax = 3;  // Projections of one input: q, k and v.

// The rows that one adapter acts on.
struct AdapterRows {
  const Adapter* adapter = nullptr;
  std::vector<std::uint32_t> rows{};  // Of the plan, rising.
  std::vector<float> scales{};        // Of each of them.
  float* temporary = nullptr;         // [kLowRankInputMax][rows][adapter->rank_max()]

  std::size_t temporary_count() const {
    return std::size_t{kLowRankInputMax} * rows.size() * adapter->rank_max();
  }
};

// How rows attend in layers of one window.
struct AttentionTasks {
  std::vector<QueryRow> query_rows;        // One for each row.
  std::vector<AttentionRows> attention;    // Cover the rows, the most work first.
  std::vector<PartialRows> partial_tasks;  // The most work first.
  std::vector<std::uint32_t> partial_row_of;
  std::vector<QueryRow> partial_query_rows;
};

// A pass of a model with states. Its rows are consecutive, and change the state in turn.
struct StatePass {
  std::uint32_t row_first = 0;
  std::uint32_t row_count = 0;
  const std::byte* from = nullptr;  // Null: the state before any text.
  std::uint32_t target_first = 0;   // Into ForwardPlan::state_targets.
  std::uint32_t target_count = 0;
};

struct ForwardPlan {
  std::vector<ForwardRow> rows;
  std::vector<AttentionTasks> windows;  // In the order of sliding_windows() (model_spec.h).
  std::vector<AdapterRows> adapters;    // By digest. Empty: the base alone.
  std::vector<StatePass> states;        // Cover the rows, in order, of a model with states.
  std::vector<StateTarget> state_targets;
};

inline constexpr std::uint32_t kPartialCountMax = 8192;  // Partials of one layer.

}  // namespace quire::inference
