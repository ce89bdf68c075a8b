#pragma once
// EngineLoop is the loop of DESIGN §2: drain completions; run each woken guest to its next wait
// (together at most a millisecond); dispatch. So guests that wake one after the other still share
// the next batch. A guest that used up its slice runs when nothing else is ready, and at most 10 %
// of the time while the device is busy.
//
// Thread   the engine thread. stop() from any thread.
#include <atomic>
#include <cstdint>

#include "application/lifecycle/instance_manager.h"
#include "base/clock.h"
#include "base/wakeup.h"
#include "control/api/control_port.h"

namespace quire::lifecycle {

class EngineLoop {
 public:
  EngineLoop(InstanceManager& manager, control::ControlPort& control, const Clock& clock,
             Wakeup& wakeup)
      : manager_(manager), control_(control), clock_(clock), wakeup_(wakeup) {}

  // One turn without sleeping. True if anything was done.
  bool step();
  // After a step that did nothing: how long there is nothing to do unless the Wakeup is notified.
  std::uint64_t sleep_ns() const;

  // Turns, and sleeps between them, until no instance is left (or stop() is called).
  void run_until_idle();
  // Until stop().
  void run();
  void stop();

 private:
  void loop(bool until_idle);
  bool run_background();

  InstanceManager& manager_;
  control::ControlPort& control_;
  const Clock& clock_;
  Wakeup& wakeup_;
  std::atomic<bool> stopped_{false};
  std::uint64_t credited_ns_ = 0;  // Until when background time was earned.
  std::int64_t background_credit_ns_ = 0;
};

}  // namespace quire::lifecycle
