#pragma once
// Attention over pages of keys and values, and what writes them.
//
// Thread   any; functions keep no state. Memory is the caller's.
#include <cstddef>
#include <cstdint>
#include <span>

#include "inference/api/types.h"
#include "inference/kernels/kernel_types.h"

namespace quire::inference {

// Attention of some query rows of one sequence over one kv head. Layout of a page: per layer and kv
// head, keys [head_dim][page_size] then values [page_size][head_dim], in kv_format.
struct AttentionTask {
  std::span<const PageView> pages;
  // Spans of kSpanSlots slots in which a page has a visible slot, rising: no other is looked at, so
  // that what was dropped costs nothing.
  std::span<const std::uint32_t> spans;
  std::uint32_t page_size = 16;  // 8, 16 or 32.
  std::uint32_t visible_slot_end = 0;
  std::size_t head_offset = 0;  // Bytes from a page's base to this layer's and head's keys.
  KvFormat kv_format = KvFormat::F16;
  std::uint32_t head_dim = 0;     // A multiple of 16, at most 256.
  std::uint32_t group_count = 1;  // Query heads that share this kv head; at most 16.
  float scale = 1.0f;             // Multiplies queries first.
  std::span<const QueryRow> rows;
  std::uint32_t mask_slot_count = 0;  // Slots that a mask has bits for; beyond is invisible.
  const float* query = nullptr;       // [row][query_stride]; group g at + g * head_dim.
  std::size_t query_stride = 0;       // In floats.
  float* out = nullptr;               // [row][out_stride], as query. No visible slot: zeros.
  std::size_t out_stride = 0;
  // Row i has its query and output at row_of[i] in place of i. So rows of sequences that share
  // pages make one task.
  const std::uint32_t* row_of = nullptr;
  AttentionPartials partials;
};

struct AttentionKernels {
  // Writes one slot of one head: key[d] to keys[d][slot], value to values[slot][d].
  void (*store_kv)(KvFormat format, std::uint32_t head_dim, std::uint32_t page_size,
                   std::uint32_t slot, const float* key, const float* value, std::byte* head);
  void (*attend)(const AttentionTask& task);
};

}  // namespace quire::inference
