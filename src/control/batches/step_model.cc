#include "control/batches/step_model.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace quire::control {
namespace {

constexpr double kDecodeWeight = 1.0 / 4;  // Of a new sample.
constexpr double kPrefillWeight = 1.0 / 2;
constexpr double kSlotScale = 1024;  // So that both figures of prefill learn at a like pace.

}  // namespace

std::uint32_t PrefillBudget::rows(std::uint32_t slot_count) const {
  if (!is_bounded_) return std::numeric_limits<std::uint32_t>::max();
  if (is_spent()) return 0;
  const double row_ns = row_ns_ + slot_ns_ * slot_count;
  if (row_ns * rows_left_ <= ns_left_) return rows_left_;
  return std::max(static_cast<std::uint32_t>(ns_left_ / row_ns), 1u);
}

void PrefillBudget::spend(std::uint32_t row_count, std::uint32_t slot_count) {
  ns_left_ -= (row_ns_ + slot_ns_ * slot_count) * row_count;
  rows_left_ -= std::min(rows_left_, row_count);
}

std::size_t StepModel::bucket_of(std::uint64_t row_count) {
  return std::min<std::size_t>(std::bit_width(row_count - 1), 23);
}

void StepModel::note(const Step& step) {
  if (step.decode_row_count > 0) {
    last_decode_row_count_ = step.decode_row_count;
    steps_since_decode_ = 0;
  } else if (steps_since_decode_ < kRecentStepCount) {
    ++steps_since_decode_;
  }
  const auto device_ns = static_cast<double>(step.device_ns);
  double decode_ns = 0;
  if (step.decode_row_count > 0) {
    Decode& decode = decode_[bucket_of(step.decode_row_count)];
    if (step.prefill_row_count == 0) {
      const double weight = decode.ns == 0 ? 1.0 : kDecodeWeight;
      decode.ns += (device_ns - decode.ns) * weight;
      decode.row_count += (step.decode_row_count - decode.row_count) * weight;
      decode.step_count = 0;
    }
    decode_ns = decode.ns;
  }
  if (step.prefill_row_count == 0) return;
  last_prefill_row_count_ = step.prefill_row_count;
  if (step.decode_row_count > 0 && decode_ns == 0) return;
  const double rows = step.prefill_row_count;
  const double slots = static_cast<double>(step.prefill_slot_count) / rows / kSlotScale;
  const double measured_ns = std::max(device_ns - decode_ns, 0.0) / rows;
  const double error_ns = measured_ns - (row_ns_ + slot_ns_ * kSlotScale * slots);
  const double gain = kPrefillWeight * error_ns / (1 + slots * slots);
  row_ns_ = std::max(row_ns_ + gain, 0.0);
  slot_ns_ = std::max(slot_ns_ + gain * slots / kSlotScale, 0.0);
}

PrefillBudget StepModel::next_budget(std::uint64_t decode_row_count) {
  const bool is_recent = steps_since_decode_ < kRecentStepCount;
  const bool can_probe = decode_row_count > 0;
  if (decode_row_count == 0 && is_recent) decode_row_count = last_decode_row_count_;
  if (decode_row_count == 0) return {};
  if (fixed_row_count_ > 0) return {1, 0, 0, fixed_row_count_};
  Decode& decode = decode_[bucket_of(decode_row_count)];
  if (can_probe && decode.step_count++ >= kProbeEvery) {
    decode.step_count = 0;
    return {0, 0, 0, 0};
  }
  if (decode.ns == 0) return {1, 0, 0, kFirstRowCount};
  const std::uint32_t rows = std::max(kFirstRowCount, kGrowth * last_prefill_row_count_);
  return {(kStretch - 1) * decode.ns, row_ns_, slot_ns_, rows};
}

// A line through the smallest and the largest steps that were measured.
std::optional<double> StepModel::step_rows() const {
  if (fixed_row_count_ > 0) return std::nullopt;
  const auto is_known = [](const Decode& each) { return each.ns > 0; };
  const auto small = std::find_if(decode_.begin(), decode_.end(), is_known);
  if (small == decode_.end()) return std::nullopt;
  const auto large = std::find_if(decode_.rbegin(), decode_.rend(), is_known);
  if (&*small == &*large) return kStepRowsGuess;
  const double row_ns = (large->ns - small->ns) / (large->row_count - small->row_count);
  if (row_ns <= 0) return std::nullopt;
  return std::max(small->ns / row_ns - small->row_count, 0.0);
}

StepModel::Figures StepModel::figures() const {
  return {row_ns_, slot_ns_,
          last_decode_row_count_ == 0 ? 0 : decode_[bucket_of(last_decode_row_count_)].ns};
}

}  // namespace quire::control
