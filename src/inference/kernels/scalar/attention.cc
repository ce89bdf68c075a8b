// Attention over pages in F32, and the writing of pages.
//
// Order. Spans of 256 logical slots from slot 0; in a span lanes of 16 slots. For a query and a
// span: scores, dimension by dimension; their largest; exp(score - largest), summed lane by lane
// and then as a tree; values added slot by slot. Spans are folded left to right; one without a
// visible slot does not take part. An invisible slot's score is replaced before the first look at
// it and its values are never read, whatever the memory holds.
// Loops. Query rows in blocks, so that keys and values of a span are converted once for all of
// them: at most kQueriesMax queries, about 220 KiB of stack at head_dim 256.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "inference/api/kv_layout.h"
#include "inference/kernels/scalar/exponential.h"
#include "inference/kernels/scalar/kv_quantised.h"
#include "inference/kernels/scalar/scalar.h"

namespace quire::inference::scalar {
namespace {

constexpr std::uint32_t kQueriesMax = 64;
constexpr std::uint32_t kHeadDimMax = 256;
constexpr std::uint32_t kLaneCount = kSpanSlots / kLaneSlots;  // Lanes of one span.
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// float_from_f16 without branches, so that loops over it vectorise: the bits of a half, moved to a
// float's place, are its value times 2^-112; infinities and NaN are put back by selection.
float widen_f16(std::uint16_t half) {
  const std::uint32_t magnitude = (half & 0x7fffu) << 13;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(scaled);
  const std::uint32_t bits = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : finite;
  return std::bit_cast<float>(bits | static_cast<std::uint32_t>(half & 0x8000u) << 16);
}

void widen(KvFormat format, const std::byte* from, std::uint32_t count, float* out) {
  if (format == KvFormat::F32) {
    std::memcpy(out, from, count * sizeof(float));
    return;
  }
  std::uint16_t halves[kHeadDimMax];
  std::memcpy(halves, from, count * sizeof(std::uint16_t));
  if (format == KvFormat::F16) {
    for (std::uint32_t i = 0; i < count; ++i) out[i] = widen_f16(halves[i]);
  } else {
    for (std::uint32_t i = 0; i < count; ++i) out[i] = float_from_bf16(halves[i]);
  }
}

float load_float(const std::byte* from) {
  float value = 0.0f;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// A key or value of Q8, of `count` codes that lie `stride` bytes apart in runs of `run`.
void widen_codes(const std::byte* codes, std::uint32_t count, std::uint32_t run, std::size_t stride,
                 float scale, float* out, std::size_t out_stride) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto code = static_cast<std::int8_t>(codes[i / run * stride + i % run]);
    out[i * out_stride] = static_cast<float>(code) * scale;
  }
}

void narrow(KvFormat format, float value, std::byte* to) {
  if (format == KvFormat::F32) {
    std::memcpy(to, &value, sizeof(value));
    return;
  }
  const std::uint16_t bits =
      format == KvFormat::F16 ? f16_from_float(value) : bf16_from_float(value);
  std::memcpy(to, &bits, sizeof(bits));
}

struct Folded {
  float max[kQueriesMax];
  float sum[kQueriesMax];
  float acc[kQueriesMax][kHeadDimMax];
};

// Everything about one block of query rows while its spans are folded.
struct Work {
  Work(const AttentionTask& whole, std::uint32_t first, std::uint32_t count)
      : task(whole), rows(whole.rows.subspan(first, count)), row_first(first) {
    std::fill(std::begin(row_began), std::end(row_began), false);
  }
  const AttentionTask& task;
  std::span<const QueryRow> rows;
  std::uint32_t row_first;
  std::uint16_t visible[kQueriesMax][kLaneCount];  // [row][lane]: bit per slot, in this span.
  std::uint16_t visible_any[kLaneCount];           // To any row.
  bool row_sees[kQueriesMax];                      // In this span.
  bool row_began[kQueriesMax];                     // In an earlier one.
  float queries[kQueriesMax][kHeadDimMax];         // Scaled.
  alignas(64) float scores[kQueriesMax][kSpanSlots];
  Folded span;
  Folded total;
};

// The index at which a row has its query and output.
std::size_t place_of(const Work& work, std::uint32_t row) {
  const std::uint32_t index = work.row_first + row;
  return work.task.row_of == nullptr ? index : work.task.row_of[index];
}

const float* query_of(const Work& work, std::uint32_t row, std::uint32_t group) {
  return work.task.query + place_of(work, row) * work.task.query_stride +
         std::size_t{group} * work.task.head_dim;
}

float* partial_of(const Work& work, std::uint32_t row, std::uint32_t group, std::uint32_t index) {
  const AttentionTask& task = work.task;
  const std::size_t at = std::size_t{work.rows[row].partial_first} + index;
  return task.partials.at + at * task.partials.stride + group * (task.head_dim + kPartialTail);
}

bool sees(const AttentionTask& task, const QueryRow& row, std::uint32_t slot,
          std::uint32_t position) {
  if (position < row.position_first) return false;
  if (row.mask != nullptr) {
    return slot < task.mask_slot_count && (row.mask[slot / 64] >> (slot % 64) & 1u) != 0;
  }
  return position < row.position || (position == row.position && slot < row.own_slot_end);
}

// Fills the visible bits of the span that begins at slot `first`. False when no row sees any.
bool find_visible(Work& work, std::uint32_t first) {
  const AttentionTask& task = work.task;
  bool any = false;
  std::fill(std::begin(work.visible_any), std::end(work.visible_any), std::uint16_t{0});
  for (std::size_t r = 0; r < work.rows.size(); ++r) {
    std::fill(std::begin(work.visible[r]), std::end(work.visible[r]), std::uint16_t{0});
    work.row_sees[r] = false;
  }
  const std::uint32_t end = std::min(first + kSpanSlots, task.visible_slot_end);
  for (std::uint32_t slot = first; slot < end; ++slot) {
    const PageView& page = task.pages[slot / task.page_size];
    const std::uint32_t offset = slot % task.page_size;
    if (page.base == nullptr || (page.visible >> offset & 1u) == 0) continue;
    const std::uint32_t lane = (slot - first) / kLaneSlots;
    const auto bit = static_cast<std::uint16_t>(1u << slot % kLaneSlots);
    for (std::size_t r = 0; r < work.rows.size(); ++r) {
      if (!sees(task, work.rows[r], slot, page.positions[offset])) continue;
      work.visible[r][lane] = static_cast<std::uint16_t>(work.visible[r][lane] | bit);
      work.visible_any[lane] = static_cast<std::uint16_t>(work.visible_any[lane] | bit);
      work.row_sees[r] = any = true;
    }
  }
  return any;
}

// The layout of one head, which is all that a task reads.
KvHeadLayout layout_of(const AttentionTask& task) {
  return {.head_dim = task.head_dim, .page_size = task.page_size, .format = task.kv_format};
}

// Keys of sixteen slots from `first` as [head_dim][16]; those of holes are zeros.
void load_keys(const AttentionTask& task, std::uint32_t first, float* keys) {
  const KvHeadLayout layout = layout_of(task);
  for (std::uint32_t done = 0; done < kLaneSlots;) {
    const std::uint32_t index = (first + done) / task.page_size;
    const std::uint32_t offset = (first + done) % task.page_size;
    const std::uint32_t count = std::min(kLaneSlots - done, task.page_size - offset);
    const std::byte* base = index < task.pages.size() ? task.pages[index].base : nullptr;
    if (base != nullptr && task.kv_format == KvFormat::Q8) {
      const std::byte* head = base + task.head_offset;
      for (std::uint32_t i = 0; i < count; ++i) {
        const float scale = load_float(head + layout.key_scale_offset(offset + i));
        widen_codes(head + layout.key_offset(0, offset + i), task.head_dim, 4,
                    std::size_t{4} * task.page_size, scale, keys + done + i, kLaneSlots);
      }
      done += count;
      continue;
    }
    for (std::uint32_t d = 0; d < task.head_dim; ++d) {
      float* to = keys + d * kLaneSlots + done;
      if (base == nullptr) {
        std::fill(to, to + count, 0.0f);
      } else {
        widen(task.kv_format, base + task.head_offset + layout.key_offset(d, offset), count, to);
      }
    }
    done += count;
  }
}

void score_lane(Work& work, std::uint32_t lane, const float* keys) {
  const AttentionTask& task = work.task;
  for (std::uint32_t r = 0; r < work.rows.size(); ++r) {
    const std::uint16_t visible = work.visible[r][lane];
    for (std::uint32_t g = 0; g < task.group_count; ++g) {
      float sums[kLaneSlots] = {};
      const float* query = work.queries[r * task.group_count + g];
      for (std::uint32_t d = 0; visible != 0 && d < task.head_dim; ++d) {
        const float q = query[d];
        for (std::uint32_t i = 0; i < kLaneSlots; ++i) sums[i] += q * keys[d * kLaneSlots + i];
      }
      float* scores = &work.scores[r * task.group_count + g][lane * kLaneSlots];
      for (std::uint32_t i = 0; i < kLaneSlots; ++i) {
        scores[i] = (visible >> i & 1u) != 0 ? sums[i] : kMinusInfinity;
      }
    }
  }
}

// Scores of one query in this span become exp(score - largest); the rest 0.
void exponentiate(Work& work, std::uint32_t row, std::uint32_t query) {
  float* scores = work.scores[query];
  float max = kMinusInfinity;
  for (std::uint32_t i = 0; i < kSpanSlots; ++i) max = scores[i] > max ? scores[i] : max;
  float lanes[kLaneSlots] = {};
  for (std::uint32_t lane = 0; lane < kLaneCount; ++lane) {
    const std::uint16_t visible = work.visible[row][lane];
    if (visible == 0) continue;  // Zeros: adding them changes nothing.
    for (std::uint32_t i = 0; i < kLaneSlots; ++i) {
      float& score = scores[lane * kLaneSlots + i];
      const float value = exponential(score - max);
      score = (visible >> i & 1u) != 0 ? value : 0.0f;
      lanes[i] += score;
    }
  }
  for (std::uint32_t width = kLaneSlots / 2; width > 0; width /= 2) {
    for (std::uint32_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  work.span.max[query] = max;
  work.span.sum[query] = lanes[0];
  std::fill(work.span.acc[query], work.span.acc[query] + work.task.head_dim, 0.0f);
}

void add_values(Work& work, std::uint32_t first) {
  const AttentionTask& task = work.task;
  const KvHeadLayout layout = layout_of(task);
  float values[kHeadDimMax];
  for (std::uint32_t i = 0; i < kSpanSlots; ++i) {
    const std::uint32_t lane = i / kLaneSlots;
    const std::uint32_t bit = 1u << i % kLaneSlots;
    if ((work.visible_any[lane] & bit) == 0) continue;
    const std::uint32_t slot = first + i;
    const std::size_t at = task.head_offset + layout.value_offset(slot % task.page_size, 0);
    const std::byte* base = task.pages[slot / task.page_size].base;
    if (task.kv_format == KvFormat::Q8) {
      const std::size_t scale_at =
          task.head_offset + layout.value_scale_offset(slot % task.page_size);
      widen_codes(base + at, task.head_dim, task.head_dim, 0, load_float(base + scale_at), values,
                  1);
    } else {
      widen(task.kv_format, base + at, task.head_dim, values);
    }
    for (std::uint32_t r = 0; r < work.rows.size(); ++r) {
      if ((work.visible[r][lane] & bit) == 0) continue;
      for (std::uint32_t g = 0; g < task.group_count; ++g) {
        const std::uint32_t query = r * task.group_count + g;
        const float p = work.scores[query][i];
        float* acc = work.span.acc[query];
        for (std::uint32_t d = 0; d < task.head_dim; ++d) acc[d] += p * values[d];
      }
    }
  }
}

void fold(Work& work, std::uint32_t query, bool began) {
  Folded& total = work.total;
  const Folded& span = work.span;
  const std::uint32_t count = work.task.head_dim;
  if (!began) {
    total.max[query] = span.max[query];
    total.sum[query] = span.sum[query];
    std::copy(span.acc[query], span.acc[query] + count, total.acc[query]);
    return;
  }
  const float max = std::max(total.max[query], span.max[query]);
  const float old_scale = exponential(total.max[query] - max);
  const float new_scale = exponential(span.max[query] - max);
  total.max[query] = max;
  total.sum[query] = total.sum[query] * old_scale + span.sum[query] * new_scale;
  for (std::uint32_t d = 0; d < count; ++d) {
    total.acc[query][d] = total.acc[query][d] * old_scale + span.acc[query][d] * new_scale;
  }
}

void add_span(Work& work, std::uint32_t first) {
  if (!find_visible(work, first)) return;
  alignas(64) float keys[kHeadDimMax * kLaneSlots];
  for (std::uint32_t lane = 0; lane < kLaneCount; ++lane) {
    if (work.visible_any[lane] != 0) load_keys(work.task, first + lane * kLaneSlots, keys);
    score_lane(work, lane, keys);
  }
  const std::uint32_t groups = work.task.group_count;
  for (std::uint32_t r = 0; r < work.rows.size(); ++r) {
    if (!work.row_sees[r]) continue;
    for (std::uint32_t g = 0; g < groups; ++g) exponentiate(work, r, r * groups + g);
  }
  add_values(work, first);
  for (std::uint32_t r = 0; r < work.rows.size(); ++r) {
    if (!work.row_sees[r]) continue;
    for (std::uint32_t g = 0; g < groups; ++g) fold(work, r * groups + g, work.row_began[r]);
    work.row_began[r] = true;
  }
}

void write_out(const Work& work) {
  const AttentionTask& task = work.task;
  for (std::uint32_t r = 0; r < work.rows.size(); ++r) {
    for (std::uint32_t g = 0; g < task.group_count; ++g) {
      const std::uint32_t query = r * task.group_count + g;
      float* out = task.out + place_of(work, r) * task.out_stride + std::size_t{g} * task.head_dim;
      for (std::uint32_t d = 0; d < task.head_dim; ++d) {
        out[d] = work.row_began[r] ? work.total.acc[query][d] / work.total.sum[query] : 0.0f;
      }
    }
  }
}

// The task's partial `index` of each row is what was folded; nothing is folded any more.
void write_partials(Work& work, std::uint32_t index) {
  const AttentionTask& task = work.task;
  for (std::uint32_t r = 0; r < work.rows.size(); ++r) {
    for (std::uint32_t g = 0; g < task.group_count; ++g) {
      const std::uint32_t query = r * task.group_count + g;
      float* to = partial_of(work, r, g, task.partials.offset + index);
      std::copy(work.total.acc[query], work.total.acc[query] + task.head_dim, to);
      to[task.head_dim] = work.total.max[query];
      to[task.head_dim + 1] = work.row_began[r] ? work.total.sum[query] : 0.0f;
    }
    work.row_began[r] = false;
  }
}

void read_partials(Work& work) {
  const AttentionTask& task = work.task;
  for (std::uint32_t r = 0; r < work.rows.size(); ++r) {
    for (std::uint32_t i = 0; i < work.rows[r].partial_count; ++i) {
      // All groups of a row see the same slots.
      if (partial_of(work, r, 0, i)[task.head_dim + 1] == 0.0f) continue;
      for (std::uint32_t g = 0; g < task.group_count; ++g) {
        const std::uint32_t query = r * task.group_count + g;
        const float* from = partial_of(work, r, g, i);
        std::copy(from, from + task.head_dim, work.span.acc[query]);
        work.span.max[query] = from[task.head_dim];
        work.span.sum[query] = from[task.head_dim + 1];
        fold(work, query, work.row_began[r]);
      }
      work.row_began[r] = true;
    }
  }
}

// Scaled; turned as keys of Q8 are, which multiplies their products by the size of the matrix.
void scale_queries(Work& work) {
  const AttentionTask& task = work.task;
  const bool is_turned = task.kv_format == KvFormat::Q8;
  const float scale =
      is_turned ? task.scale / static_cast<float>(hadamard_size(task.head_dim)) : task.scale;
  for (std::uint32_t r = 0; r < work.rows.size(); ++r) {
    for (std::uint32_t g = 0; g < task.group_count; ++g) {
      const float* from = query_of(work, r, g);
      float* to = work.queries[r * task.group_count + g];
      for (std::uint32_t d = 0; d < task.head_dim; ++d) to[d] = from[d] * scale;
      if (is_turned) turn(task.head_dim, to);
    }
  }
}

void attend_together(Work& work) {
  const AttentionTask& task = work.task;
  scale_queries(work);
  if (task.partials.use == PartialUse::Read) read_partials(work);
  for (std::uint32_t i = 0; i < task.spans.size(); ++i) {
    const std::uint32_t first = task.spans[i] * kSpanSlots;
    if (first < task.visible_slot_end) add_span(work, first);
    if (task.partials.use == PartialUse::WriteEach) write_partials(work, i);
  }
  if (task.partials.use == PartialUse::WriteOne) write_partials(work, 0);
  if (task.partials.use == PartialUse::None || task.partials.use == PartialUse::Read) {
    write_out(work);
  }
}

void store_codes(const KvHeadLayout& layout, std::uint32_t slot, const float* key,
                 const float* value, std::byte* head) {
  float turned[kHeadDimMax];
  std::int8_t codes[kHeadDimMax];
  std::copy(key, key + layout.head_dim, turned);
  turn(layout.head_dim, turned);
  const float key_scale = quantise_row(layout.head_dim, turned, codes);
  for (std::uint32_t d = 0; d < layout.head_dim; d += 4) {
    std::memcpy(head + layout.key_offset(d, slot), codes + d, 4);
  }
  const float value_scale = quantise_row(layout.head_dim, value, codes);
  std::memcpy(head + layout.value_offset(slot, 0), codes, layout.head_dim);
  std::memcpy(head + layout.key_scale_offset(slot), &key_scale, sizeof(key_scale));
  std::memcpy(head + layout.value_scale_offset(slot), &value_scale, sizeof(value_scale));
}

}  // namespace

void store_kv(KvFormat format, std::uint32_t head_dim, std::uint32_t page_size, std::uint32_t slot,
              const float* key, const float* value, std::byte* head) {
  const KvHeadLayout layout{.head_dim = head_dim, .page_size = page_size, .format = format};
  if (format == KvFormat::Q8) return store_codes(layout, slot, key, value, head);
  for (std::uint32_t d = 0; d < head_dim; ++d) {
    narrow(format, key[d], head + layout.key_offset(d, slot));
    narrow(format, value[d], head + layout.value_offset(slot, d));
  }
}

void attend(const AttentionTask& task) {
  const std::uint32_t block = kQueriesMax / task.group_count;
  const auto row_count = static_cast<std::uint32_t>(task.rows.size());
  for (std::uint32_t first = 0; first < row_count; first += block) {
    const std::uint32_t count = std::min(block, row_count - first);
    Work work(task, first, count);
    attend_together(work);
  }
}

}  // namespace quire::inference::scalar
