#pragma once
// For the tests of this folder: a control layer that only notes commands, a client that keeps what
// it was told, and an engine of both around a runtime.
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "application/hostcalls/calls.h"
#include "application/lifecycle/engine_loop.h"
#include "application/lifecycle/instance_manager.h"
#include "application/sandbox/wasm_runtime.h"
#include "base/clock.h"
#include "base/random.h"

namespace quire::lifecycle {

class FakeControl final : public control::ControlPort {
 public:
  explicit FakeControl(AnswerInbox& answers) : answers_(answers) {
    control::ModelDescription model;
    model.name = "tiny";
    model.page_size = 16;
    model.page_count = 64;
    model.vocabulary_size = 100;
    model.context_length = 1024;
    model.embedding_width = 8;
    model.stop_ids = {2, 3};
    model.traits = {"allocate", "forward", "input_text", "tokenize", "output_text"};
    model.has_chat_template = true;
    models_.push_back(std::move(model));
  }

  const std::vector<control::ModelDescription>& models() const override { return models_; }
  void start_instance(InstanceId id, control::TenantId, const control::InstanceLimits&) override {
    live[id] = true;
  }
  void end_instance(InstanceId id) override { live[id] = false; }
  void submit(control::Command command) override { commands.push_back(std::move(command)); }
  bool poll() override { return false; }
  bool dispatch() override { return false; }
  bool idle() const override { return idle_now; }
  control::ControlStatistics statistics() const override { return {}; }
  control::InstanceStatistics statistics(InstanceId) const override { return {}; }

  // Answers the oldest command that waits for an answer.
  void answer_next(control::AnswerBody body) {
    for (auto at = commands.begin(); at != commands.end(); ++at) {
      if (at->future == control::kNoFuture) continue;
      answers_.answer({at->instance, at->future, std::move(body)});
      commands.erase(at);
      return;
    }
    std::abort();
  }

  std::deque<control::Command> commands;
  std::map<InstanceId, bool> live;
  bool idle_now = true;

 private:
  AnswerInbox& answers_;
  std::vector<control::ModelDescription> models_;
};

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

// An engine whose clock is `clock` and whose control layer is a FakeControl.
struct TestEngine {
  TestEngine(sandbox::WasmRuntime& runtime, const Clock& clock)
      : control(answers),
        manager({.runtime = runtime,
                 .control = control,
                 .answers = answers,
                 .clock = clock,
                 .random = random,
                 .wakeup = wakeup}),
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
  FakeControl control;
  SeededRandom random{1};
  Wakeup wakeup;
  RecordingClient client;
  InstanceManager manager;
  EngineLoop loop;
};

}  // namespace quire::lifecycle
