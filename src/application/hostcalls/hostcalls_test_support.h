#pragma once
// A control layer for tests, which notes commands and gives the answers that the test sets.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "application/hostcalls/launcher.h"
#include "base/check.h"
#include "control/api/control_port.h"

namespace quire::hostcalls {

// A grammar that is never read: only its address counts.
inline std::shared_ptr<const inference::Grammar> some_grammar() {
  const auto owner = std::make_shared<char>();
  return {owner, reinterpret_cast<const inference::Grammar*>(owner.get())};
}

class RecordingControl final : public control::ControlPort {
 public:
  // A null sink: the test takes the answers itself.
  explicit RecordingControl(control::AnswerSink* answers) : answers_(answers) {
    control::ModelDescription model;
    model.name = "tiny";
    model.page_size = 16;
    model.page_count = 64;
    model.vocabulary_size = 100;
    model.context_length = 1024;
    model.embedding_width = 8;
    model.stop_ids = {2, 3};
    model.traits = {"allocate", "forward", "input_text", "tokenize", "output_text", "constraint"};
    model.has_chat_template = true;
    model.add_bos = true;
    models_.push_back(model);
    model.name = "mute";
    model.traits = {"allocate"};
    model.has_chat_template = false;
    models_.push_back(model);
  }

  const std::vector<control::ModelDescription>& models() const override { return models_; }
  void set_tenant(control::TenantId, const control::TenantOptions&) override {}
  void start_instance(control::InstanceId id, control::TenantId,
                      const control::InstanceLimits& limits) override {
    live[id] = true;
    limits_started.push_back(limits);
  }
  void set_limits(control::InstanceId id, const control::InstanceLimits& limits) override {
    limits_set[id] = limits;
  }
  void end_instance(control::InstanceId id) override { live[id] = false; }
  void submit(control::Command command) override { commands.push_back(std::move(command)); }
  bool poll() override { return false; }
  bool dispatch() override { return false; }
  std::optional<std::uint64_t> next_dispatch_in_ns() const override { return dispatch_in_ns; }
  bool idle() const override { return idle_now; }
  control::ControlStatistics statistics() const override { return {}; }
  control::ControlHistograms histograms() const override { return {}; }
  control::InstanceStatistics statistics(control::InstanceId id) const override {
    const auto found = used.find(id);
    return found == used.end() ? control::InstanceStatistics{} : found->second;
  }

  std::optional<std::vector<control::InstanceMiss>> misses(control::InstanceId) const override {
    return told_misses;
  }
  // Commands that the test has not taken and that are not done at once.
  control::PendingCommands pending(control::InstanceId id) const override {
    control::PendingCommands sum;
    for (const control::Command& each : commands) {
      if (each.instance != id || std::holds_alternative<control::CreateQueue>(each.body) ||
          std::holds_alternative<control::DropFuture>(each.body)) {
        continue;
      }
      ++sum.count;
      sum.bytes += each.argument_bytes;
    }
    return sum;
  }

  bool waits() const {
    return std::any_of(commands.begin(), commands.end(), [](const control::Command& each) {
      return each.future != control::kNoFuture;
    });
  }
  // The oldest command that waits for an answer; it and those before it are forgotten.
  control::Command take_waiting() {
    const auto waits = [](const control::Command& each) {
      return each.future != control::kNoFuture;
    };
    const auto at = std::find_if(commands.begin(), commands.end(), waits);
    QUIRE_CHECK(at != commands.end(), "a command waits");
    control::Command command = std::move(*at);
    commands.erase(commands.begin(), at + 1);
    return command;
  }
  void answer_next(Result<control::AnswerBody> body) {
    const control::Command command = take_waiting();
    answers_->answer({command.instance, command.future, std::move(body)});
  }

  void give_traits(std::size_t model, std::vector<std::string> traits) {
    models_.at(model).traits = std::move(traits);
  }

  std::optional<std::uint64_t> dispatch_in_ns;
  std::optional<std::vector<control::InstanceMiss>> told_misses;
  std::deque<control::Command> commands;
  std::map<control::InstanceId, bool> live;
  std::vector<control::InstanceLimits> limits_started;  // Of each start_instance().
  std::map<control::InstanceId, control::InstanceLimits> limits_set;
  std::map<control::InstanceId, control::InstanceStatistics> used;
  bool idle_now = true;

 private:
  control::AnswerSink* answers_;
  std::vector<control::ModelDescription> models_;
};

// Children that only exist in the test.
class RecordingLauncher final : public Launcher {
 public:
  Result<control::InstanceId> launch_child(control::InstanceId, ChildLaunch launch) override {
    if (launch.program == "unknown") return Error(ErrorCode::NotFound, "no program \"unknown\"");
    launches.push_back(std::move(launch));
    return control::InstanceId{1000 + launches.size()};
  }
  void drop_child(control::InstanceId child) override { killed.push_back(child); }
  void kill_child(control::InstanceId child, const std::string&) override {
    killed.push_back(child);
  }
  Result<void> send_child(control::InstanceId, std::string message) override {
    sent.push_back(std::move(message));
    return {};
  }
  std::vector<LimitUse> limits(control::InstanceId) override {
    return {{"memory_bytes_max", 1u << 20, 0}, {"cpu_ns_max", 5, 3}};
  }

  std::vector<ChildLaunch> launches;
  std::vector<control::InstanceId> killed;
  std::vector<std::string> sent;
};

}  // namespace quire::hostcalls
