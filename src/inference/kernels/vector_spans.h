#pragma once
// A span of keys and values: the places of its blocks, the slots that a row sees, and asking for
// its memory ahead. As vector_math.h, this stays local to the file that includes it.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "inference/kernels/vector_elements.h"

namespace quire::inference {
namespace {

constexpr uint32_t kSlotsPerSpan = 256, kSlotsPerBlock = 16;
constexpr uint32_t kBlocksPerSpan = kSlotsPerSpan / kSlotsPerBlock;

// The places of eight slots.
struct Half {
  const uint8_t* keys;
  const uint8_t* values;
  const uint8_t* scales;  // Of the keys; those of the values follow after page_size floats.
};

// The places of the keys and values of sixteen slots; `high` is for the last eight.
struct LaneBlock {
  const uint8_t* keys_low;
  const uint8_t* keys_high;
  const uint8_t* values_low;
  const uint8_t* values_high;
  const uint8_t* scales_low;
  const uint8_t* scales_high;
};

// Walks over the pages of a task and asks for their keys and values.
class Ahead {
 public:
  // Asked for at once when a task begins. Its first span then asks for two lines for each line of
  // keys that it consumes.
  static constexpr size_t kFirstBytes = 4096;

  Ahead(const AttendArguments& a, size_t head_bytes) : a_(a), head_bytes_(head_bytes) {
    next_page();
    for (size_t done = 0; done < kFirstBytes; done += 512) step<8>();
  }

  bool is_first_span = true;

  template <uint32_t kLines>
  void step() {
    if (at_ == nullptr) return;
    if (end_ - at_ <= ptrdiff_t{kLines} * 64) return step_over(kLines);
    for (uint32_t i = 0; i < kLines; ++i) _mm_prefetch(at_ + i * 64, _MM_HINT_T0);
    at_ += size_t{kLines} * 64;
  }

 private:
  // From one page into the next. What lies between them belongs to another task.
  void step_over(uint32_t line_count) {
    for (uint32_t i = 0; i < line_count && at_ != nullptr; ++i) {
      _mm_prefetch(at_, _MM_HINT_T0);
      at_ += 64;
      if (at_ >= end_) next_page();
    }
  }

  void next_page() {
    const size_t pages_per_span = kSlotsPerSpan / a_.page_size;
    at_ = nullptr;
    for (; span_ < a_.span_count; ++span_, in_span_ = 0) {
      for (; in_span_ < pages_per_span; ++in_span_) {
        const size_t index = a_.spans[span_] * pages_per_span + in_span_;
        if (index >= a_.page_count) break;
        const PageView& page = a_.pages[index];
        if (page.base == nullptr || page.visible == 0) continue;
        at_ = reinterpret_cast<const char*>(page.base) + a_.head_offset;
        end_ = at_ + head_bytes_;
        ++in_span_;
        return;
      }
    }
  }

  const AttendArguments& a_;
  const size_t head_bytes_;
  size_t span_ = 0, in_span_ = 0;
  const char* at_ = nullptr;  // Null at the end.
  const char* end_ = nullptr;
};

struct Span {
  uint32_t first_slot;
  uint32_t any_visible;  // Of all slots.
  LaneBlock blocks[kBlocksPerSpan];
  uint32_t visible[kBlocksPerSpan];  // Bit per slot: written, and not hidden from everyone.
  uint32_t positions[kSlotsPerSpan];
};

// Eight slots of a block from slot `slot` on: their pointers, visibility and positions.
template <typename E>
uint32_t view_half(const AttendArguments& a, uint32_t slot, Half& half, uint32_t* positions) {
  const size_t page_index = slot >> __builtin_ctz(a.page_size);
  if (page_index >= a.page_count || slot >= a.visible_slot_end) return 0;
  const PageView& page = a.pages[page_index];
  const uint32_t in_page = slot & (a.page_size - 1);
  uint32_t visible = (page.visible >> in_page) & 0xff;
  const uint32_t left = a.visible_slot_end - slot;
  if (left < 8) visible &= (1u << left) - 1;
  if (page.base == nullptr || visible == 0) return 0;
  const uint8_t* head = reinterpret_cast<const uint8_t*>(page.base) + a.head_offset;
  const size_t part_bytes = size_t{a.head_dim} * a.page_size * E::kBytes;
  half.keys = head + in_page * E::kKeySlotBytes;
  half.values = head + part_bytes + size_t{in_page} * a.head_dim * E::kBytes;
  half.scales = head + 2 * part_bytes + in_page * sizeof(float);
  __builtin_memcpy(positions, page.positions + in_page, 8 * sizeof(uint32_t));
  return visible;
}

// The half before or after one of the same page, as far as memory goes; the half itself where pages
// have eight slots.
template <typename E>
Half neighbour(const AttendArguments& a, const Half& half, int direction) {
  if (a.page_size == 8) return half;
  const ptrdiff_t slots = 8 * direction;
  return {half.keys + slots * static_cast<ptrdiff_t>(E::kKeySlotBytes),
          half.values + slots * static_cast<ptrdiff_t>(a.head_dim * E::kBytes),
          half.scales + slots * static_cast<ptrdiff_t>(sizeof(float))};
}

// Fills the view of the span from `first_slot`. Halves that no row sees point at readable memory.
template <typename E>
void view_span(const AttendArguments& a, uint32_t first_slot, Span& span) {
  span.first_slot = first_slot;
  span.any_visible = 0;
  for (uint32_t b = 0; b < kBlocksPerSpan; ++b) {
    const uint32_t slot = first_slot + b * kSlotsPerBlock;
    uint32_t* positions = span.positions + b * kSlotsPerBlock;
    Half halves[2] = {};
    const uint32_t low = view_half<E>(a, slot, halves[0], positions);
    const uint32_t high = view_half<E>(a, slot + 8, halves[1], positions + 8);
    if (low == 0 && high != 0) halves[0] = neighbour<E>(a, halves[1], -1);
    if (high == 0 && low != 0) halves[1] = neighbour<E>(a, halves[0], 1);
    span.blocks[b] = {halves[0].keys,   halves[1].keys,   halves[0].values,
                      halves[1].values, halves[0].scales, halves[1].scales};
    span.visible[b] = low | (high << 8);
    span.any_visible |= span.visible[b];
  }
}

// Finds the slots of the span that one row sees. Returns whether there is any.
template <typename L>
bool row_visibility(const AttendArguments& a, const QueryRow& row, const Span& span,
                    uint16_t* visible) {
  uint32_t any = 0;
  for (uint32_t b = 0; b < kBlocksPerSpan; ++b) {
    uint32_t bits = span.visible[b];
    const uint32_t slot = span.first_slot + b * kSlotsPerBlock;
    if (bits != 0 && row.mask == nullptr) {
      bits &= L::seen(span.positions + b * kSlotsPerBlock, row.position, slot, row.own_slot_end);
    } else if (bits != 0) {
      const uint32_t left = slot < a.mask_slot_count ? a.mask_slot_count - slot : 0;
      bits &= left == 0 ? 0 : static_cast<uint32_t>(row.mask[slot / 64] >> (slot % 64)) & 0xffff;
      if (left < kSlotsPerBlock) bits &= (1u << left) - 1;
    }
    if (bits != 0 && row.position_first > 0) {
      bits &= L::not_before(span.positions + b * kSlotsPerBlock, row.position_first);
    }
    visible[b] = static_cast<uint16_t>(bits);
    any |= bits;
  }
  return any != 0;
}

}  // namespace
}  // namespace quire::inference
