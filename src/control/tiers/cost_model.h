#pragma once
// CostModel estimates which is quicker: to bring pages back from a tier, or to compute their tokens
// again.
//
// It measures this machine while it works. Batches that only compute give the time of a token of
// prefill. Batches that only load give the time of a page's load. Jobs that read give the latency
// and the time per page of the disk. Each figure is a mean in which a new sample weighs an eighth.
// Before the first sample a figure is its prior. That of the memory is a measurement at start
// (measure_copy_ns()), and that of the disk a cautious guess (200 us, and 500 MB/s). Computing has
// none: as long as the cost of a token is not known, pages are brought back.
//
// A choice against a tier ends its measurements, whether it is to bring pages back or to keep them
// there at all. So every kTryAgainCount-th such choice of each kind is turned round.
//
// Thread   that of its owner. Reads no clock.
#include <cstdint>

namespace quire::control {

enum class TierChoice : std::uint8_t { Measured, Restore, Recompute };  // The others for tests.

struct CostOptions {
  TierChoice choice = TierChoice::Measured;
  double copy_ns_per_byte = 0.2;  // What memory is taken to cost at first.
};

struct CostFigures {
  double compute_ns_per_token = 0;  // 0: not measured yet.
  double load_ns_per_page = 0;      // From memory to the device.
  double read_ns = 0;               // Of one job of the disk, beside its pages.
  double read_ns_per_page = 0;
};

class CostModel {
 public:
  static constexpr std::uint32_t kTryAgainCount = 64;
  static constexpr std::uint32_t kComputeRowCountMin = 32;  // Fewer rows are not prefill.

  CostModel(std::uint64_t page_bytes, const CostOptions& options);

  // A batch of nothing but rows; of nothing but loads.
  void note_compute(std::uint32_t row_count, std::uint64_t device_ns);
  void note_load(std::uint32_t page_count, std::uint64_t device_ns);
  // The time of a job on the disk's own thread; all its reads succeeded.
  void note_read(std::uint32_t page_count, std::uint64_t ns);

  // Pages in a row that hold `token_count` tokens, of which the disk must read some.
  struct Run {
    std::uint32_t page_count = 0;
    std::uint32_t read_count = 0;
    std::uint32_t token_count = 0;
  };
  bool should_restore(const Run& run);
  // Whether a page is worth a place there: should_restore() of a run of usual length.
  bool is_worth_keeping(bool is_on_disk, std::uint32_t page_size);

  const CostFigures& figures() const { return figures_; }

 private:
  bool is_restore_quicker(const Run& run) const;
  bool is_turned_round(std::uint32_t& declined_count) const;

  const TierChoice choice_;
  CostFigures figures_;
  std::uint32_t restores_declined_count_ = 0;
  std::uint32_t keeps_declined_count_ = 0;
};

// The times that are compared, for reports.
double restore_ns(const CostFigures& figures, const CostModel::Run& run);
double compute_ns(const CostFigures& figures, const CostModel::Run& run);

// Copies a few megabytes and says what a byte took.
double measure_copy_ns_per_byte();

}  // namespace quire::control
