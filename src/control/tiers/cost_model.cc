#include "control/tiers/cost_model.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/clock.h"

namespace quire::control {
namespace {

constexpr double kSampleWeight = 1.0 / 8;
constexpr double kReadNs = 200'000;
constexpr double kReadNsPerByte = 2;
constexpr std::uint32_t kUsualRun = 16;      // Pages.
constexpr std::uint32_t kLongReadCount = 4;  // From so many pages on, time goes by pages.

void add(double& mean, double sample, bool is_first) {
  mean = is_first ? sample : mean + (sample - mean) * kSampleWeight;
}

}  // namespace

CostModel::CostModel(std::uint64_t page_bytes, const CostOptions& options)
    : choice_(options.choice) {
  figures_.load_ns_per_page = options.copy_ns_per_byte * static_cast<double>(page_bytes);
  figures_.read_ns = kReadNs;
  figures_.read_ns_per_page = kReadNsPerByte * static_cast<double>(page_bytes);
}

void CostModel::note_compute(std::uint32_t row_count, std::uint64_t device_ns) {
  if (row_count < kComputeRowCountMin) return;
  add(figures_.compute_ns_per_token, static_cast<double>(device_ns) / row_count,
      figures_.compute_ns_per_token == 0);
}

void CostModel::note_load(std::uint32_t page_count, std::uint64_t device_ns) {
  if (page_count == 0) return;
  add(figures_.load_ns_per_page, static_cast<double>(device_ns) / page_count, false);
}

void CostModel::note_read(std::uint32_t page_count, std::uint64_t ns) {
  if (page_count == 0) return;
  const double time = static_cast<double>(ns);
  if (page_count >= kLongReadCount) {
    add(figures_.read_ns_per_page, std::max(time - figures_.read_ns, 0.0) / page_count, false);
  } else {
    add(figures_.read_ns, std::max(time - figures_.read_ns_per_page * page_count, 0.0), false);
  }
}

double restore_ns(const CostFigures& figures, const CostModel::Run& run) {
  const double load = figures.load_ns_per_page * run.page_count;
  if (run.read_count == 0) return load;
  return load + figures.read_ns + figures.read_ns_per_page * run.read_count;
}

double compute_ns(const CostFigures& figures, const CostModel::Run& run) {
  return figures.compute_ns_per_token * run.token_count;
}

bool CostModel::is_restore_quicker(const Run& run) const {
  if (choice_ != TierChoice::Measured) return choice_ == TierChoice::Restore;
  if (figures_.compute_ns_per_token == 0) return true;
  return restore_ns(figures_, run) < compute_ns(figures_, run);
}

bool CostModel::should_restore(const Run& run) {
  return is_restore_quicker(run) || is_turned_round(restores_declined_count_);
}

bool CostModel::is_worth_keeping(bool is_on_disk, std::uint32_t page_size) {
  return is_restore_quicker({.page_count = kUsualRun,
                             .read_count = is_on_disk ? kUsualRun : 0,
                             .token_count = kUsualRun * page_size}) ||
         is_turned_round(keeps_declined_count_);
}

bool CostModel::is_turned_round(std::uint32_t& declined_count) const {
  if (choice_ != TierChoice::Measured || ++declined_count < kTryAgainCount) return false;
  declined_count = 0;
  return true;
}

double measure_copy_ns_per_byte() {
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  constexpr int kRounds = 4;
  const std::vector<std::byte> from(kBytes, std::byte{1});
  std::vector<std::byte> to(kBytes);
  const SteadyClock clock;
  std::uint64_t best = ~std::uint64_t{0};
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t start = clock.now_ns();
    std::memcpy(to.data(), from.data(), kBytes);
    best = std::min(best, clock.now_ns() - start);
  }
  return static_cast<double>(std::max<std::uint64_t>(best, 1)) / static_cast<double>(kBytes);
}

}  // namespace quire::control
