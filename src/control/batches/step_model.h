#pragma once
// StepModel measures the time of steps and limits the prefill beside decoding. A step then takes at
// most about kStretch times as long as without prefill: a program that decodes waits no longer for
// its next token, however long a prompt is.
//
// A step takes the time of its decoding, plus for each row of prefill a time that grows with the
// number of slots that the row attends to. The time of decoding is measured in steps without
// prefill, for each power of two of rows. While there is always prefill, every kProbeEvery-th step
// goes without. So does the first step of a size that was never measured, if any decoding is ready.
// The two figures of prefill follow each step that has some (normalized least mean squares), so
// that they fit the device's present work.
//
// Under a fixed budget nothing is measured.
//
// Thread   that of its owner. Reads no clock: devices say how long they took.
#include <array>
#include <cstdint>
#include <optional>

namespace quire::control {

// The prefill that one batch may have. A value that is spent.
class PrefillBudget {
 public:
  PrefillBudget() = default;  // No limit.
  PrefillBudget(double ns, double row_ns, double slot_ns, std::uint32_t row_count_max)
      : is_bounded_(true),
        ns_left_(ns),
        row_ns_(row_ns),
        slot_ns_(slot_ns),
        rows_left_(row_count_max) {}

  // Rows that attend to `slot_count` slots each; at least 1 unless it is all spent.
  std::uint32_t rows(std::uint32_t slot_count) const;
  void spend(std::uint32_t row_count, std::uint32_t slot_count);
  bool is_bounded() const { return is_bounded_; }
  bool is_spent() const { return is_bounded_ && (ns_left_ <= 0 || rows_left_ == 0); }

 private:
  bool is_bounded_ = false;
  double ns_left_ = 0;
  double row_ns_ = 0;
  double slot_ns_ = 0;
  std::uint32_t rows_left_ = 0;
};

class StepModel {
 public:
  static constexpr double kStretch = 2.0;
  static constexpr std::uint32_t kProbeEvery = 32;
  static constexpr std::uint32_t kFirstRowCount = 32;  // Of prefill, before anything was measured.
  static constexpr std::uint32_t kGrowth = 4;          // Times the rows that were measured last.
  // Before steps of two sizes were measured; of a model on processor cores.
  static constexpr double kStepRowsGuess = 4;
  // Steps after which an operation no longer counts as decoding.
  static constexpr std::uint32_t kRecentStepCount = 4;

  // 0: measured.
  explicit StepModel(std::uint32_t fixed_row_count) : fixed_row_count_(fixed_row_count) {}

  struct Step {
    std::uint32_t decode_row_count = 0;
    std::uint32_t prefill_row_count = 0;
    std::uint64_t prefill_slot_count = 0;  // Summed over the rows of prefill.
    std::uint64_t device_ns = 0;
  };
  // A step of nothing but rows.
  void note(const Step& step);

  // For the next step, in which so many rows of decoding are ready. A budget that is spent from the
  // first comes at most once in kProbeEvery + 1 calls for one size, and never for no rows.
  PrefillBudget next_budget(std::uint64_t decode_row_count);

  // The rows of decoding that cost as much as a step does before its first row. None: it is not
  // known how steps grow, or they do not.
  std::optional<double> step_rows() const;

  struct Figures {
    double row_ns = 0;     // Of a row of prefill that attends to nothing,
    double slot_ns = 0;    // and for each slot.
    double decode_ns = 0;  // Of a step with as many rows of decoding as the last one; 0: unknown.
  };
  Figures figures() const;

 private:
  struct Decode {
    double ns = 0;                           // 0: never measured.
    double row_count = 0;                    // Of the steps that were.
    std::uint32_t step_count = kProbeEvery;  // Since it was, or was to be.
  };
  static std::size_t bucket_of(std::uint64_t row_count);

  const std::uint32_t fixed_row_count_;
  std::array<Decode, 24> decode_{};  // By the power of two that limits the rows.
  double row_ns_ = 0;
  double slot_ns_ = 0;
  std::uint32_t last_prefill_row_count_ = 0;
  std::uint64_t last_decode_row_count_ = 0;
  std::uint32_t steps_since_decode_ = kRecentStepCount;
};

}  // namespace quire::control
