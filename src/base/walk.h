#pragma once
// The ten stops of the walk that one guest's wish takes through the layers and back (ARCHITECTURE).
// A test passes a WalkSink down and asserts the order; everybody else passes null.
//
// Thread   any: stops 8 and 9 lie on the device's thread.
#include <cstdint>

namespace quire {

enum class WalkStop : std::uint8_t {
  Server = 1,       // application/server: a request became a LaunchRequest.
  Lifecycle = 2,    // application/lifecycle: an instance was launched or got a message.
  Sandbox = 3,      // application/sandbox: the guest ran until it waits.
  HostCalls = 4,    // application/hostcalls: arguments became a Command.
  Controller = 5,   // control/controller: a Command came in.
  Pages = 6,        // control/pages: pages were found, allocated or resolved for it.
  Scheduler = 7,    // control/scheduler: a Batch was built and submitted.
  Devices = 8,      // inference/devices: the Batch became addresses and shapes.
  Models = 9,       // inference/models: the model ran.
  Dispatcher = 10,  // control/dispatcher: a Completion became an Answer.
};

class WalkSink {
 public:
  virtual ~WalkSink() = default;
  virtual void reached(WalkStop stop) = 0;
};

inline void report(WalkSink* sink, WalkStop stop) {
  if (sink != nullptr) sink->reached(stop);
}

}  // namespace quire
