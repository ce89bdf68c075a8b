#pragma once
// Engine is the whole control layer on a model's own device, for tests that compare bits.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "control/controller/controller.h"
#include "control/store/disk_thread.h"
#include "control/store/simulated_file_system.h"
#include "inference/architectures/model_files.h"
#include "inference/devices/open_device.h"

namespace quire::test {

class Engine final : public control::AnswerSink {
 public:
  struct Options {
    inference::DeviceOptions device{.threads = 2};
    control::ControllerOptions control{};
    store::SimulatedFileSystem* files = nullptr;  // Where snapshots go; null: nowhere.
  };

  Engine(const std::string& model, Options given) {
    if (given.files != nullptr) {
      auto store = store::SnapshotStore::open(*given.files, wall_clock_, {.folder = "store"});
      EXPECT_TRUE(store.ok());
      given.control.disk = &disk_.emplace(*given.files, std::move(store).take(), inbox_, clock_);
    }
    auto files = inference::open_model(model);
    EXPECT_TRUE(files.ok());
    auto made = inference::open_device(*files.value(), given.device, inbox_);
    EXPECT_TRUE(made.ok());
    backend_ = std::move(made).take();
    controller_ = control::make_controller({{.backend = backend_.get()}}, given.control, inbox_,
                                           *this, wakeup_, clock_);
  }

  void lost(control::InstanceId, const Error& error) override { ADD_FAILURE() << error.message(); }
  void answer(control::Answer given) override {
    if (given.body.ok() && std::holds_alternative<control::Values>(given.body.value())) {
      logits_ = std::get<control::Values>(given.body.value()).all;
    } else if (!given.body.ok()) {
      ADD_FAILURE() << given.body.error().message();
    }
  }

  struct Program {
    control::InstanceId guest{};
    control::ObjectId queue{1};
    control::ObjectId context{2};
    control::ObjectId output{3};
  };
  Program start() {
    Program program{.guest = control::InstanceId{++guest_count_}};
    controller_->start_instance(program.guest, control::TenantId{1}, {});
    send(program, control::CreateQueue{.queue = program.queue, .model = control::ModelIndex{0}});
    send(program, control::ContextCreate{.context = program.context, .queue = program.queue});
    send(program, control::AllocEmbeds{.queue = program.queue, .embeds = {program.output}});
    return program;
  }
  void end(const Program& program) { controller_->end_instance(program.guest); }
  void send(const Program& program, control::CommandBody body) {
    controller_->submit(
        {.instance = program.guest, .future = control::kNoFuture, .body = std::move(body)});
  }
  // The logits after the tokens of a context of the program's, and after these.
  std::vector<float> next(const Program& program, const std::vector<std::uint32_t>& tokens) {
    if (!tokens.empty()) send(program, control::ContextAppend{program.context, tokens});
    send(program, control::ContextForward{program.context, {program.output}});
    logits_.clear();
    controller_->submit({.instance = program.guest,
                         .future = control::FutureId{++future_count_},
                         .body = control::GetLogits{program.queue, program.output}});
    run();
    return logits_;
  }
  // The context of the program goes under this name, or comes from there.
  void save(const Program& program, const std::string& name) {
    send(program, control::ContextSave{.context = program.context, .name = name});
    run();
  }
  void open(Program& program, const std::string& name) {
    program.context = control::ObjectId{++opened_};
    send(program,
         control::ContextOpen{.context = program.context, .queue = program.queue, .name = name});
    run();
  }
  void run() {
    while (!controller_->idle()) {
      const bool has_run = disk_.has_value() && disk_->run_one();
      const bool has_any = controller_->poll() || has_run;
      if (!controller_->dispatch() && !has_any) wakeup_.wait_for(std::chrono::milliseconds(10));
    }
    controller_->verify();
  }
  control::TierStatistics tiers() const { return controller_->tier_statistics(); }
  std::uint64_t suspension_count() const { return controller_->statistics().suspension_count; }
  std::uint64_t row_count() const { return controller_->statistics().row_count; }

 private:
  Wakeup wakeup_;
  SteadyClock clock_;
  ManualWallClock wall_clock_;
  control::CompletionInbox inbox_{wakeup_};
  std::optional<store::InlineDisk> disk_;
  std::unique_ptr<inference::Backend> backend_;
  std::unique_ptr<control::Controller> controller_;
  std::vector<float> logits_;
  std::uint64_t guest_count_ = 0;
  std::uint32_t future_count_ = 0;
  std::uint32_t opened_ = 100;
};

// Tokens that the smallest vocabulary of these models has.
inline std::vector<std::uint32_t> tokens_from(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> tokens;
  for (std::uint32_t each = 0; each < count; ++each) tokens.push_back(3 + (first + each * 7) % 311);
  return tokens;
}

}  // namespace quire::test
