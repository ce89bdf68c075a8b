#pragma once
// EngineLoop is the loop of the engine thread (ARCHITECTURE.md): drain completions; run each woken
// guest to its next wait (together at most a millisecond); dispatch. So guests that wake one after
// the other still share the next batch. A guest that used up its slice runs when nothing else is ready, and at most 10 %
// of the time while the device is busy.
//
// Thread   the engine thread. stop() from any thread.
#include <atomic>
#include <cstdint>
#include <optional>

#include "application/lifecycle/instance_manager.h"
#include "base/clock.h"
#include "base/wakeup.h"
#include "control/api/control_port.h"

namespace quire::lifecycle {

// FrontDoor brings requests from other threads and hands out their answers: the server.
class FrontDoor {
 public:
  virtual ~FrontDoor() = default;
  // Begins each turn of the loop: takes in what has come, in bounded time. True if anything was
  // done.
  virtual bool take_requests() = 0;
  // Ends each turn: notifies the threads that wait for output.
  virtual void hand_out() = 0;
  // When it has something to do on its own, on the engine's clock.
  virtual std::optional<std::uint64_t> next_timer_ns() const = 0;
};

class EngineLoop {
 public:
  EngineLoop(InstanceManager& manager, control::ControlPort& control, const Clock& clock,
             Wakeup& wakeup)
      : manager_(manager), control_(control), clock_(clock), wakeup_(wakeup) {}

  // Part of each turn from here on; null: none. Not while the loop runs.
  void set_door(FrontDoor* door) { door_ = door; }

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
  void run_woken();
  void give_memory_back();

  InstanceManager& manager_;
  control::ControlPort& control_;
  const Clock& clock_;
  Wakeup& wakeup_;
  FrontDoor* door_ = nullptr;
  std::atomic<bool> stopped_{false};
  std::uint64_t credited_ns_ = 0;  // Until when background time was earned.
  std::int64_t background_credit_ns_ = 0;
  bool is_tidy_ = true;                          // Nothing was done since memory was given back.
  std::optional<std::uint64_t> quiet_since_ns_;  // When it first slept; none: it has not since.
};

}  // namespace quire::lifecycle
