#include "application/sandbox/epoch_ticker.h"

#include <chrono>
#include <utility>

#include "base/start_thread.h"

namespace quire::sandbox {
namespace {

constexpr std::chrono::milliseconds kTick{1};
constexpr int kIdleTicksMax = 64;  // Without a guest running, before the thread sleeps.

}  // namespace

Result<std::unique_ptr<EpochTicker>> EpochTicker::start(std::function<void()> on_tick) {
  std::unique_ptr<EpochTicker> ticker(new EpochTicker(std::move(on_tick)));
  ticker->thread_ =
      TRY(start_thread("the clock of programs", [self = ticker.get()] { self->run(); }));
  return ticker;
}

EpochTicker::~EpochTicker() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// begin() stores running and then looks whether the thread sleeps; the thread stores sleeping and
// then looks whether a guest runs. With one order of these four, one of them sees the other.
void EpochTicker::begin() {
  running_.store(true, std::memory_order_seq_cst);
  if (!sleeping_.load(std::memory_order_seq_cst)) return;
  std::lock_guard lock(mutex_);
  sleeping_.store(false, std::memory_order_seq_cst);
  changed_.notify_all();
}

void EpochTicker::end() {
  running_.store(false, std::memory_order_seq_cst);
}

void EpochTicker::run() {
  int idle_ticks = 0;
  std::unique_lock lock(mutex_);
  while (!stop_) {
    changed_.wait_for(lock, kTick, [this] { return stop_; });
    ticks_.fetch_add(1, std::memory_order_relaxed);
    on_tick_();
    idle_ticks = running_.load(std::memory_order_seq_cst) ? 0 : idle_ticks + 1;
    if (idle_ticks < kIdleTicksMax) continue;
    idle_ticks = 0;
    sleeping_.store(true, std::memory_order_seq_cst);
    if (!running_.load(std::memory_order_seq_cst)) {
      changed_.wait(lock, [this] { return stop_ || !sleeping_.load(std::memory_order_seq_cst); });
    }
    sleeping_.store(false, std::memory_order_seq_cst);
  }
}

}  // namespace quire::sandbox
