#include "main/verbs/serve/end_watch.h"

#include <limits.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "application/server/end_deadline.h"
#include "base/blocked_signals.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/last_words.h"
#include "base/start_thread.h"
#include "cli/exit_code.h"
#include "main/verbs/shared/interrupt.h"

namespace quire {
namespace {

constexpr std::string_view kLate =
    "error: the server did not end in its time, so the process ended without it\n";

// Says so if standard error takes it at once; whatever does not read it may be why the server stands.
[[noreturn]] void end_now(bool has_served) {
  if (has_served) say_last_words(kLate);
  _exit(cli::number(has_served ? cli::ExitCode::Failed : cli::ExitCode::Ok));
}

}  // namespace

struct EndWatch::State {
  State(Interrupt signals, Descriptor event)
      : interrupt(std::move(signals)), stop_event(std::move(event)) {}

  void run();
  std::chrono::milliseconds time_left();

  Interrupt interrupt;
  const Descriptor stop_event;  // An eventfd that ends the thread.
  const SteadyClock clock;
  std::mutex mutex;
  // The mutex guards the members below.
  server::EndDeadline deadline;
  std::function<void()> ask;    // Empty: there is no server to ask.
  std::function<void()> clean;  // Empty: there is nothing to clean.
  bool has_served = false;
};

// Until the deadline; kLongWait without one.
std::chrono::milliseconds EndWatch::State::time_left() {
  constexpr std::chrono::milliseconds kLongWait{60'000};
  const std::lock_guard lock(mutex);
  if (!deadline.at_ns()) return kLongWait;
  const std::uint64_t now_ns = clock.now_ns();
  if (*deadline.at_ns() <= now_ns) {
    if (!has_served && clean) clean();
    end_now(has_served);
  }
  const auto left_ms = (*deadline.at_ns() - now_ns + kMillisecond - 1) / kMillisecond;
  return std::min(kLongWait, std::chrono::milliseconds(std::min<std::uint64_t>(left_ms, INT_MAX)));
}

void EndWatch::State::run() {
  while (true) {
    const Interrupt::Woken woken = interrupt.wait_for_input(stop_event.get(), time_left());
    if (woken == Interrupt::Woken::Input) return;
    if (woken == Interrupt::Woken::Late) continue;
    const std::lock_guard lock(mutex);
    deadline.signaled(clock.now_ns());
    if (ask) ask();
  }
}

Result<std::unique_ptr<EndWatch>> EndWatch::open() {
  Interrupt interrupt = TRY(Interrupt::create({SIGINT, SIGTERM}));
  Descriptor event(eventfd(0, EFD_CLOEXEC));
  if (event.get() < 0) return Error(ErrorCode::Io, std::string("eventfd: ") + std::strerror(errno));
  auto state = std::make_shared<State>(std::move(interrupt), std::move(event));
  std::unique_ptr<EndWatch> watch(new EndWatch(state));
  const BlockedSignals blocked;
  watch->thread_ = TRY(start_thread("signals", [state] { state->run(); }));
  return watch;
}

EndWatch::~EndWatch() {
  if (!thread_.joinable()) return;
  QUIRE_CHECK(eventfd_write(state_->stop_event.get(), 1) == 0, "an eventfd takes one");
  thread_.join();
}

std::uint32_t EndWatch::signal_count() const {
  const std::lock_guard lock(state_->mutex);
  return state_->deadline.signal_count();
}

void EndWatch::at_early_end(std::function<void()> clean) {
  const std::lock_guard lock(state_->mutex);
  state_->clean = std::move(clean);
}

EndWatch::Serving EndWatch::serve(std::uint64_t grace_ns, std::function<void()> ask) {
  const std::lock_guard lock(state_->mutex);
  state_->deadline.set_grace(grace_ns);
  for (std::uint32_t i = 0; i < state_->deadline.signal_count(); ++i) ask();
  state_->ask = std::move(ask);
  state_->has_served = true;
  return Serving(*state_);
}

EndWatch::Serving::~Serving() {
  const std::lock_guard lock(state_->mutex);
  state_->ask = nullptr;
}

}  // namespace quire
