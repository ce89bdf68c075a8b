#pragma once
// For the tests of this folder: a client that keeps what it was told, and an engine around a
// runtime and a control layer that only notes commands.
#include <memory>
#include <string>
#include <vector>

#include "application/hostcalls/calls.h"
#include "application/hostcalls/hostcalls_test_support.h"
#include "application/lifecycle/engine_loop.h"
#include "application/lifecycle/instance_manager.h"
#include "application/net/fake_http_client.h"
#include "application/sandbox/wasm_runtime.h"
#include "base/clock.h"
#include "base/random.h"

namespace quire::lifecycle {

class RecordingClient final : public ClientSink {
 public:
  bool message(InstanceId, std::string_view bytes) override {
    if (!takes) return false;
    messages.emplace_back(bytes);
    return true;
  }
  void log(InstanceId, LogSource, LogLevel, std::string_view line) override {
    lines.emplace_back(line);
  }
  void ended(InstanceId, const EndRecord& record) override { ends.push_back(record); }

  bool takes = true;
  std::vector<std::string> messages;
  std::vector<std::string> lines;
  std::vector<EndRecord> ends;
};

// An engine whose clock is `clock` and whose control layer is a RecordingControl.
struct TestEngine {
  TestEngine(sandbox::WasmRuntime& runtime, const Clock& clock)
      : control(&answers),
        http(clock),
        manager({.runtime = runtime,
                 .control = control,
                 .answers = answers,
                 .clock = clock,
                 .wall_clock = wall_clock,
                 .random = random,
                 .wakeup = wakeup,
                 .http = &http}),
        loop(manager, control, clock, wakeup) {}

  InstanceId launch(ProgramId program, std::vector<std::string> arguments = {},
                    const InstanceLimits& limits = {}) {
    return manager
        .launch({.program = program, .arguments = std::move(arguments), .limits = limits}, client)
        .value();
  }
  // Until a turn does nothing.
  void settle() {
    while (loop.step()) manager.verify();
    manager.verify();
  }

  AnswerInbox answers;
  hostcalls::RecordingControl control;
  ManualWallClock wall_clock;
  SeededRandom random{1};
  Wakeup wakeup;
  net::FakeHttpClient http;
  RecordingClient client;
  InstanceManager manager;
  EngineLoop loop;
};

}  // namespace quire::lifecycle
