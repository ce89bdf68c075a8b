#pragma once
// For the tests of this folder: a client that keeps what it was told, and an engine around a
// runtime and a control layer that only notes commands.
#include <memory>
#include <set>
#include <string>
#include <utility>
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
  bool message(InstanceId instance, std::string_view bytes) override {
    if (!takes_from(instance)) return false;
    messages.emplace_back(bytes);
    return true;
  }
  bool log(InstanceId instance, LogSource, LogLevel, std::string_view line) override {
    if (!takes_from(instance)) return false;
    lines.emplace_back(line);
    return true;
  }
  bool file(InstanceId instance, const hostcalls::FilePart& part) override {
    if (!takes_from(instance)) return false;
    files.emplace_back(std::string(part.name) + (part.is_dropped ? " dropped" : ""),
                       std::string(part.bytes));
    return true;
  }
  bool ended(InstanceId instance, const EndRecord& record) override {
    if (!takes_from(instance)) return false;
    ends.push_back(record);
    return true;
  }
  bool takes_from(InstanceId instance) {
    ++offer_count;
    if (!takes) refused.insert(instance);
    return takes;
  }

  bool takes = true;
  std::uint64_t offer_count = 0;
  std::set<InstanceId> refused;  // Whose words wait for client_ready().
  std::vector<std::string> messages;
  std::vector<std::string> lines;
  std::vector<std::pair<std::string, std::string>> files;  // Name and bytes of each part.
  std::vector<EndRecord> ends;
};

// An engine whose clock is `clock` and whose control layer is a RecordingControl.
struct TestEngine {
  TestEngine(sandbox::WasmRuntime& runtime, const Clock& clock, const AdmissionLimits& limits = {})
      : control(&answers),
        http(clock),
        manager({.runtime = runtime,
                 .control = control,
                 .answers = answers,
                 .clock = clock,
                 .wall_clock = wall_clock,
                 .random = random,
                 .wakeup = wakeup,
                 .http = &http,
                 .admission = limits}),
        loop(manager, control, clock, wakeup) {}

  InstanceId launch(ProgramId program, std::vector<std::string> arguments = {},
                    const InstanceLimits& limits = {}) {
    return manager
        .launch({.program = program, .arguments = std::move(arguments), .limits = limits}, client)
        .value();
  }
  // The client takes, or takes no more, from here on.
  void let_client_take(bool takes) {
    client.takes = takes;
    if (!takes) return;
    for (const InstanceId each : std::exchange(client.refused, {})) manager.client_ready(each);
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
