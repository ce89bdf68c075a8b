#include "application/lifecycle/engine_loop.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>

#include "base/thread_schedule.h"

namespace quire::lifecycle {
namespace {

constexpr std::uint64_t kGuestsNsMax = 1'000'000;  // Of woken guests, before the next dispatch.
constexpr std::uint64_t kGuestsNsMin = 50'000;
constexpr std::uint64_t kStepsShare = 8;       // At most an eighth of a device step.
constexpr std::int64_t kBackgroundShare = 10;  // At most a tenth of the time.
constexpr std::int64_t kBackgroundCreditNsMax = 1'000'000;
constexpr std::uint64_t kSleepNsMax = 1'000'000'000;
constexpr std::uint64_t kQuietNs = 1'000'000'000;  // With no instance, until memory is given back.

std::uint64_t guests_budget_ns(const control::ControlStatistics& statistics) {
  if (statistics.batch_count == 0) return kGuestsNsMax;
  const std::uint64_t step_ns = statistics.device_ns / statistics.batch_count;
  return std::clamp(step_ns / kStepsShare, kGuestsNsMin, kGuestsNsMax);
}

}  // namespace

bool EngineLoop::step() {
  bool any = door_ != nullptr && door_->take_requests();
  any |= control_.poll();
  any |= manager_.take_answers();
  any |= manager_.fire_timers();
  if (manager_.ready()) {
    run_woken();
    any = true;
  }
  any |= control_.dispatch();
  any |= run_background();
  any |= manager_.deliver();
  if (door_ != nullptr) door_->hand_out();
  return any;
}

// A call may be answered at once, and then its guest still belongs to this turn.
void EngineLoop::run_woken() {
  const std::uint64_t start_ns = clock_.now_ns();
  const std::uint64_t budget_ns = guests_budget_ns(control_.statistics());
  std::uint64_t used_ns = 0;
  while (manager_.ready() && used_ns < budget_ns) {
    manager_.run_ready(budget_ns - used_ns);
    manager_.take_answers();
    used_ns = clock_.now_ns() - start_ns;
    if (used_ns == 0) break;  // A simulated clock stands still until its test advances it.
  }
}

// While the device is busy, or other guests are ready, background guests earn a tenth of the time
// that passes.
bool EngineLoop::run_background() {
  const std::uint64_t now_ns = clock_.now_ns();
  const auto passed_ns = static_cast<std::int64_t>(now_ns - credited_ns_);
  credited_ns_ = now_ns;
  if (!manager_.background_ready()) {
    background_credit_ns_ = 0;
    return false;
  }
  if (control_.idle() && !manager_.ready()) {
    background_credit_ns_ = 0;
    return manager_.run_background();
  }
  background_credit_ns_ =
      std::min(background_credit_ns_ + passed_ns / kBackgroundShare, kBackgroundCreditNsMax);
  if (background_credit_ns_ <= 0) return false;
  manager_.run_background();
  const std::uint64_t after_ns = clock_.now_ns();
  background_credit_ns_ -= static_cast<std::int64_t>(after_ns - now_ns);
  credited_ns_ = after_ns;
  return true;
}

std::uint64_t EngineLoop::sleep_ns() const {
  const std::uint64_t now_ns = clock_.now_ns();
  std::uint64_t sleep_ns = control_.next_dispatch_in_ns().value_or(kSleepNsMax);
  sleep_ns = std::min(sleep_ns, kSleepNsMax);
  const auto wake_by = [&](std::optional<std::uint64_t> timer_ns) {
    if (timer_ns) sleep_ns = std::min(sleep_ns, *timer_ns > now_ns ? *timer_ns - now_ns : 0);
  };
  wake_by(manager_.next_timer_ns());
  if (door_ != nullptr) wake_by(door_->next_timer_ns());
  if (manager_.background_ready()) {
    const std::int64_t missing_ns = std::max<std::int64_t>(1 - background_credit_ns_, 1);
    sleep_ns = std::min(sleep_ns, static_cast<std::uint64_t>(missing_ns * kBackgroundShare));
  }
  return sleep_ns;
}

void EngineLoop::loop(bool until_idle) {
  shorten_turns();  // As the device's threads, each of whose steps waits for it.
  while (!stopped_.load(std::memory_order_relaxed)) {
    if (until_idle && manager_.live_count() == 0) return;
    if (step()) {
      is_tidy_ = false;
      quiet_since_ns_.reset();
      continue;
    }
    give_memory_back();
    wakeup_.wait_for(std::chrono::nanoseconds(sleep_ns()));
  }
}

// Returns free memory to the system. The allocator keeps it otherwise, because it lies between
// blocks that are in use. It takes a millisecond or so, while no instance lives.
void EngineLoop::give_memory_back() {
  if (is_tidy_) return;
  const std::uint64_t now_ns = clock_.now_ns();
  if (!quiet_since_ns_) quiet_since_ns_ = now_ns;
  if (manager_.live_count() > 0 || now_ns - *quiet_since_ns_ < kQuietNs) return;
  malloc_trim(0);
  is_tidy_ = true;
}

void EngineLoop::run_until_idle() {
  loop(true);
}
void EngineLoop::run() {
  loop(false);
}

void EngineLoop::stop() {
  stopped_.store(true, std::memory_order_relaxed);
  wakeup_.notify();
}

}  // namespace quire::lifecycle
