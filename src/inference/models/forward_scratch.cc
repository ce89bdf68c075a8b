#include "inference/models/forward_scratch.h"

#include <algorithm>
#include <utility>

#include "inference/models/forward_plan.h"

namespace quire::inference {
namespace {

constexpr std::size_t kFeedBytes = std::size_t{16} << 20;  // Gate and up of one step.

// Gives out places of one mapping.
class Places {
 public:
  std::size_t add(std::size_t bytes) {
    return std::exchange(used_, used_ + aligned_bytes(bytes) + 64);
  }
  std::size_t add_rows(std::size_t count, std::size_t stride) {
    return add(count * stride * sizeof(float));
  }
  std::size_t bytes() const { return used_; }

 private:
  std::size_t used_ = 0;
};

}  // namespace

std::uint32_t feed_row_count_max(std::uint32_t row_count_max, std::size_t feed_forward_width) {
  const std::size_t width = std::max<std::size_t>(1, feed_forward_width);  // 0: no dense part.
  const std::size_t fit = kFeedBytes / (2 * sizeof(float) * aligned_floats(width)) / 16 * 16;
  return static_cast<std::uint32_t>(
      std::min<std::size_t>(row_count_max, std::max<std::size_t>(64, fit)));
}

Result<ForwardScratch> ForwardScratch::create(const ForwardSizes& sizes) {
  ForwardScratch scratch;
  scratch.feed_row_count_max_ = sizes.feed_row_count_max;
  const std::size_t width_stride = aligned_floats(sizes.embedding_width);
  const std::size_t feed_stride = aligned_floats(sizes.feed_forward_width);
  scratch.own_rows_at_ = aligned_bytes(kAloneRows * sizes.operand_bytes);
  scratch.own_stride_ =
      scratch.own_rows_at_ + aligned_bytes((1 + kAloneRows) * width_stride * sizeof(float)) + 64;
  const std::size_t rows = sizes.row_count_max;
  const std::size_t feed_rows = sizes.feed_row_count_max;
  Places places;
  const std::size_t partials = places.add_rows(kPartialCountMax, sizes.partial_width);
  const std::size_t x = places.add_rows(rows, width_stride);
  const std::size_t qkv = places.add_rows(rows, sizes.qkv_width);
  const std::size_t attended = places.add_rows(rows, sizes.query_width);
  const std::size_t projected = places.add_rows(rows, width_stride);
  const std::size_t head_gates = places.add_rows(rows, sizes.head_gate_width);
  const std::size_t decays = places.add_rows(rows, sizes.decay_width);
  const std::size_t convolved = places.add_rows(rows, sizes.convolved_width);
  const std::size_t gate = places.add_rows(feed_rows, feed_stride);
  const std::size_t up = places.add_rows(feed_rows, feed_stride);
  const std::size_t cosine = places.add_rows(rows, sizes.angle_count);
  const std::size_t sine = places.add_rows(rows, sizes.angle_count);
  const std::size_t prepared = places.add(sizes.prepared_bytes);
  const std::size_t own = places.add(sizes.worker_count * scratch.own_stride_);
  scratch.memory_ = TRY(MappedMemory::create(places.bytes()));
  std::byte* base = scratch.memory_.data();
  const auto floats = [&](std::size_t at) { return reinterpret_cast<float*>(base + at); };
  scratch.partials = floats(partials);
  scratch.x = {floats(x), width_stride};
  scratch.qkv = {floats(qkv), sizes.qkv_width};
  scratch.attended = {floats(attended), sizes.query_width};
  scratch.projected = {floats(projected), width_stride};
  scratch.head_gates = {floats(head_gates), sizes.head_gate_width};
  scratch.decays = {floats(decays), sizes.decay_width};
  scratch.convolved = floats(convolved);
  scratch.gate = {floats(gate), feed_stride};
  scratch.up = {floats(up), feed_stride};
  scratch.cosine = {floats(cosine), sizes.angle_count};
  scratch.sine = {floats(sine), sizes.angle_count};
  scratch.prepared = base + prepared;
  scratch.own_ = base + own;
  return scratch;
}

}  // namespace quire::inference
