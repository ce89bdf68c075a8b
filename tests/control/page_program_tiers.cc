// Losses of a device and of its tiers, and the places of pages.
#include "control/page_program.h"

namespace quire::control {

namespace {

constexpr std::uint64_t kSlotBytes = 24;  // Of the simulated device.
constexpr std::uint32_t kModelCount = 2;  // Each has an equal part of the tiers.

}  // namespace

PageProgram::Failure PageProgram::failing(std::uint32_t percent, const char* what) {
  if (percent == 0) return {};
  return [this, percent, what](const inference::Batch&, std::size_t) -> std::optional<Error> {
    if (below(100) >= percent) return std::nullopt;
    note(what);
    return Error(ErrorCode::Io, what);
  };
}

void PageProgram::add_tiers(Harness::Options& options) {
  options.device.fail_load = failing(knobs_.transfer_failure_percent, "a load that failed");
  options.device.fail_save = failing(knobs_.transfer_failure_percent, "a save that failed");
  options.controller.tiers.host_bytes_max =
      kModelCount * kSlotBytes * knobs_.page_size * knobs_.host_page_count;
  options.controller.tiers.disk_page_count_max = kModelCount * knobs_.disk_page_count;
  options.controller.costs.choice = knobs_.tier_choice;
}

bool PageProgram::may_lose() const {
  return knobs_.failure_percent > 0 || knobs_.transfer_failure_percent > 0 || has_disk_failed_;
}

bool PageProgram::is_loss(ErrorCode code) const {
  return (is_fallible() && code == ErrorCode::NoFreePage) || (may_lose() && code == ErrorCode::Io);
}

void PageProgram::note_loss(const Error& error) {
  const bool is_lost = error.code() == ErrorCode::Io;
  note(is_lost ? "an answer that was lost" : "an answer for want of a page");
  // Tokens that are computed lose passes; only a context that was swapped loses pages.
  if (is_lost && knobs_.failure_percent == 0) note("a context lost");
}

// `is_right`: nothing else is wrong with what was asked.
bool PageProgram::was_lost(const Guest& guest, FutureId future, bool is_right) {
  if (!is_fallible()) return false;
  settle_with(guest.id, future);
  const std::optional<ErrorCode> error = machine_->error(guest.id, future);
  if (!is_right || !error) return false;
  EXPECT_TRUE(is_loss(*error)) << machine_->message(guest.id, future);
  note_loss(machine_->at(guest.id, future).error());
  return true;
}

void PageProgram::note_tiers() {
  if (!knobs_.has_tiers()) return;
  const TierStatistics tiers = machine_->controller->tier_statistics();
  const std::uint32_t host = tiers.host_page_count;
  const std::uint32_t disk = tiers.disk_page_count;
  if (host > 0 && host == knobs_.host_page_count) note("host memory full");
  if (disk > 0 && disk == knobs_.disk_page_count) note("the tier on disk full");
  if (host > 0 && disk > 0) note("pages on both tiers");
}

}  // namespace quire::control
