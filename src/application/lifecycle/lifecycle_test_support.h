#pragma once
// Fixtures for this folder: a client that keeps all that it receives, and an engine around a
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

class RecordingClient final : public Listener {
 public:
  bool heard(InstanceId instance, const service::Said& said) override {
    if (!takes_from(instance)) return false;
    if (const auto* message = std::get_if<service::Message>(&said)) {
      messages.emplace_back(message->bytes);
      order.push_back("message " + messages.back());
    } else if (const auto* line = std::get_if<service::LogLine>(&said)) {
      lines.emplace_back(line->text);
      order.push_back("line " + lines.back());
    } else if (const auto* part = std::get_if<service::SentPart>(&said)) {
      files.emplace_back(part->name, part->bytes);
      order.push_back("part " + files.back().second);
    } else if (const auto* dropped = std::get_if<service::DroppedFile>(&said)) {
      order.push_back("dropped " + std::to_string(dropped->file));
    } else if (const auto* response = std::get_if<service::ResponsePart>(&said)) {
      order.push_back("response " + std::to_string(response->status) +
                      std::string(response->bytes));
    } else {
      ends.push_back(std::get<service::Ended>(said).end);
      if (manager != nullptr) figures.push_back(manager->figures_at_end(instance));
      order.push_back("ended");
    }
    return true;
  }
  bool takes_from(InstanceId instance) {
    ++offer_count;
    if (!takes) refused.insert(instance);
    return takes;
  }

  const InstanceManager* manager = nullptr;  // To look at the figures of an end; null: do not.
  bool takes = true;
  std::uint64_t offer_count = 0;
  std::set<InstanceId> refused;  // Whose output waits for client_ready().
  std::vector<std::string> messages;
  std::vector<std::string> lines;
  std::vector<std::pair<std::string, std::string>> files;  // Name and bytes of each part.
  std::vector<std::string> order;                          // All of it, with its kind.
  std::vector<End> ends;
  std::vector<EndFigures> figures;
};

// An engine whose clock is `clock` and whose control layer is a RecordingControl.
struct TestEngine {
  TestEngine(sandbox::WasmRuntime& runtime, const Clock& clock, const AdmissionLimits& limits = {})
      : TestEngine(runtime, clock, clock, limits) {}
  TestEngine(sandbox::WasmRuntime& runtime, const Clock& clock, const Clock& cpu_clock,
             const AdmissionLimits& limits = {},
             std::uint64_t program_memory_bytes_max = ProgramMemory::kUnlimited)
      : control(&answers),
        http(clock),
        manager({.runtime = runtime,
                 .control = control,
                 .answers = answers,
                 .clock = clock,
                 .cpu_clock = cpu_clock,
                 .wall_clock = wall_clock,
                 .random = random,
                 .wakeup = wakeup,
                 .http = &http,
                 .admission = limits,
                 .numbers = keyed_numbers(),
                 .program_memory_bytes_max = program_memory_bytes_max}),
        loop(manager, control, clock, wakeup) {
    client.manager = &manager;
  }

  // As a server has them, so that no test takes a count for a number.
  static InstanceNumbers keyed_numbers() {
    SeededRandom of_the_key(53);
    return InstanceNumbers(of_the_key);
  }

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
