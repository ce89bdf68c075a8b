#pragma once
// ForwardPlan: the forward passes of one batch as addresses, for the transformer body to run.
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

// Some consecutive rows of one pass: what one attention task takes.
struct AttentionRows {
  std::span<const PageView> pages;
  std::span<const std::uint32_t> spans;  // Of AttentionTask.
  std::uint32_t visible_slot_end = 0;
  std::uint32_t mask_slot_count = 0;
  std::uint32_t row_first = 0;
  std::uint32_t row_count = 0;
};

struct ForwardPlan {
  std::vector<ForwardRow> rows;
  std::vector<QueryRow> query_rows;      // One for each row.
  std::vector<AttentionRows> attention;  // Cover the rows, the most work first.
};

}  // namespace quire::inference
