// This program measures what the control layer costs by itself, on a device that takes no time. It
// prints the budgets of docs/benchmarks/README.md alongside.
//
//   control_bench [--json]
//
// Each figure is the median of 21 rounds. A decode step of N requests has three parts. First the
// commands of every guest come in (append, forward, get_next_dist). Then the batch is built and
// submitted, for which the scheduler has a budget of 5 us + 0.1 us for each request. Last the
// completion becomes answers.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/wakeup.h"
#include "control/controller/controller.h"

namespace quire::control {
namespace {

using inference::Batch;
using inference::Completion;

// Takes no time and says the same to everybody.
class IdleDevice final : public inference::Backend {
 public:
  explicit IdleDevice(inference::CompletionSink& sink) : sink_(sink) {
    capabilities_.name = "idle";
    capabilities_.page_size = 16;
    capabilities_.page_count = 65'536;
    capabilities_.sequence_count = 2048;
    capabilities_.embed_slot_count = 4096;
    capabilities_.row_count_max = 4096;
    model_.vocabulary_size = 512;
    model_.context_length = 1u << 20;
  }
  const inference::BackendCapabilities& capabilities() const override { return capabilities_; }
  const inference::ModelInfo& model() const override { return model_; }
  void submit(Batch batch) override {
    Completion completion;
    completion.id = batch.id;
    completion.passes.resize(batch.passes.size());
    for (std::size_t index = 0; index < batch.distributions.size(); ++index) {
      completion.distributions.emplace_back(inference::Distribution{});
    }
    sink_.complete(std::move(completion));
  }

 private:
  inference::CompletionSink& sink_;
  inference::BackendCapabilities capabilities_;
  inference::ModelInfo model_;
};

class NoAnswers final : public AnswerSink {
 public:
  void answer(Answer given) override { failed += !given.body.ok(); }
  void lost(InstanceId, const Error&) override { ++failed; }
  std::uint64_t failed = 0;
};

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Spread {
  double median_us = 0.0;
  double minimum_us = 0.0;
  double maximum_us = 0.0;
};

Spread spread_of(const std::vector<double>& values) {
  return {median(values), *std::min_element(values.begin(), values.end()),
          *std::max_element(values.begin(), values.end())};
}

struct Guest {
  InstanceId id{};
  ObjectId queue{1};
  ObjectId context{2};
  ObjectId output{3};
  std::uint32_t next_future = 0;
};

class Machine {
 public:
  Machine() : inbox_(wakeup_), device_(inbox_) {
    controller_ = make_controller({{.backend = &device_}}, {}, inbox_, answers_, wakeup_, clock_);
  }

  Guest start() {
    Guest guest;
    guest.id = InstanceId{++next_instance_};
    controller_->start_instance(guest.id, TenantId{1}, {});
    send(guest, CreateQueue{.queue = guest.queue});
    send(guest, ContextCreate{.context = guest.context, .queue = guest.queue});
    send(guest, AllocEmbeds{.queue = guest.queue, .embeds = {guest.output}});
    return guest;
  }
  void send(const Guest& guest, CommandBody body) {
    controller_->submit({.instance = guest.id, .future = kNoFuture, .body = std::move(body)});
  }
  void ask(Guest& guest, CommandBody body) {
    controller_->submit(
        {.instance = guest.id, .future = FutureId{++guest.next_future}, .body = std::move(body)});
  }
  void run() {
    while (controller_->dispatch() || controller_->poll()) {
    }
  }
  Controller& controller() { return *controller_; }
  std::uint64_t failed() const { return answers_.failed; }

 private:
  Wakeup wakeup_;
  SteadyClock clock_;
  CompletionInbox inbox_;
  NoAnswers answers_;
  IdleDevice device_;
  std::unique_ptr<Controller> controller_;
  std::uint64_t next_instance_ = 0;
};

constexpr int kRounds = 21;

struct StepFigures {
  std::size_t request_count = 0;
  Spread intake;
  Spread build;
  Spread completion;
};

StepFigures measure_steps(std::size_t request_count) {
  Machine machine;
  std::vector<Guest> guests;
  for (std::size_t index = 0; index < request_count; ++index) {
    guests.push_back(machine.start());
    std::vector<std::uint32_t> prompt(100, static_cast<std::uint32_t>(index % 512));
    prompt[0] = static_cast<std::uint32_t>(index / 512);
    machine.send(guests.back(), ContextAppend{guests.back().context, prompt});
    machine.send(guests.back(), ContextFlush{guests.back().context});
  }
  machine.run();
  constexpr int kStepsPerRound = 32;  // Two pages: what filling them costs is in the mean.
  std::vector<double> intake;
  std::vector<double> build;
  std::vector<double> completion;
  for (int round = 0; round < kRounds; ++round) {
    double parts[3] = {0.0, 0.0, 0.0};
    for (int step = 0; step < kStepsPerRound; ++step) {
      const double begin = now_us();
      for (Guest& guest : guests) {
        machine.send(guest, ContextAppend{guest.context, {static_cast<std::uint32_t>(step)}});
        machine.ask(guest, ContextForward{guest.context, {guest.output}});
        machine.ask(guest, GetNextDist{guest.queue, guest.output});
      }
      const double issued = now_us();
      machine.controller().dispatch();
      const double submitted = now_us();
      machine.controller().poll();
      const double done = now_us();
      parts[0] += issued - begin;
      parts[1] += submitted - issued;
      parts[2] += done - submitted;
    }
    intake.push_back(parts[0] / kStepsPerRound);
    build.push_back(parts[1] / kStepsPerRound);
    completion.push_back(parts[2] / kStepsPerRound);
  }
  if (machine.failed() > 0) std::printf("%lu requests failed\n", machine.failed());
  return {request_count, spread_of(intake), spread_of(build), spread_of(completion)};
}

// A prompt of `token_count` that is all in the cache: until its flush is answered.
Spread measure_lookup(std::size_t token_count) {
  Machine machine;
  std::vector<std::uint32_t> prompt;
  for (std::size_t index = 0; index < token_count; ++index) {
    prompt.push_back(static_cast<std::uint32_t>(index * 7 % 512));
  }
  Guest first = machine.start();
  machine.send(first, ContextAppend{first.context, prompt});
  machine.send(first, ContextFlush{first.context});
  machine.run();
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    Guest guest = machine.start();
    machine.send(guest, ContextAppend{guest.context, prompt});
    const double begin = now_us();
    machine.send(guest, ContextFlush{guest.context});
    while (!machine.controller().idle()) {
      machine.controller().dispatch();
      machine.controller().poll();
    }
    times.push_back(now_us() - begin);
    machine.controller().end_instance(guest.id);
  }
  return spread_of(times);
}

Spread measure_fork(std::size_t token_count) {
  Machine machine;
  Guest guest = machine.start();
  std::vector<std::uint32_t> prompt(token_count);
  for (std::size_t index = 0; index < token_count; ++index) {
    prompt[index] = static_cast<std::uint32_t>(index * 7 % 512);
  }
  machine.send(guest, ContextAppend{guest.context, prompt});
  machine.send(guest, ContextFlush{guest.context});
  machine.run();
  std::vector<double> times;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const double begin = now_us();
    machine.ask(guest, ContextFork{guest.context, ObjectId{100 + round}});
    times.push_back(now_us() - begin);
  }
  return spread_of(times);
}

void print_table(const std::vector<StepFigures>& steps, const Spread& lookup, const Spread& fork) {
  std::printf("decode step, us: median (least .. most)\n");
  std::printf("%9s %26s %28s %9s %26s\n", "requests", "commands in", "batch built", "budget",
              "answers out");
  for (const StepFigures& each : steps) {
    std::printf("%9zu %9.1f (%6.1f .. %6.1f) %9.1f (%6.1f .. %6.1f) %9.1f %9.1f (%6.1f .. %6.1f)\n",
                each.request_count, each.intake.median_us, each.intake.minimum_us,
                each.intake.maximum_us, each.build.median_us, each.build.minimum_us,
                each.build.maximum_us, 5.0 + 0.1 * static_cast<double>(each.request_count),
                each.completion.median_us, each.completion.minimum_us, each.completion.maximum_us);
  }
  std::printf("prefix lookup of 50,000 tokens: %.0f us (%.0f .. %.0f), budget 500\n",
              lookup.median_us, lookup.minimum_us, lookup.maximum_us);
  std::printf("fork of 128,000 tokens: %.2f us (%.2f .. %.2f), budget 5\n", fork.median_us,
              fork.minimum_us, fork.maximum_us);
}

void print_json(const std::vector<StepFigures>& steps, const Spread& lookup, const Spread& fork) {
  const auto spread = [](const Spread& each) {
    char text[128];
    std::snprintf(text, sizeof(text), "{\"median_us\": %.3f, \"min_us\": %.3f, \"max_us\": %.3f}",
                  each.median_us, each.minimum_us, each.maximum_us);
    return std::string(text);
  };
  std::printf("{\"rounds\": %d, \"steps\": [", kRounds);
  for (std::size_t index = 0; index < steps.size(); ++index) {
    std::printf("%s{\"requests\": %zu, \"intake\": %s, \"build\": %s, \"completion\": %s}",
                index == 0 ? "" : ", ", steps[index].request_count,
                spread(steps[index].intake).c_str(), spread(steps[index].build).c_str(),
                spread(steps[index].completion).c_str());
  }
  std::printf("], \"lookup_50000_tokens\": %s, \"fork_128000_tokens\": %s}\n",
              spread(lookup).c_str(), spread(fork).c_str());
}

}  // namespace
}  // namespace quire::control

int main(int argument_count, char** arguments) {
  using namespace quire::control;
  const bool is_json = argument_count > 1 && std::strcmp(arguments[1], "--json") == 0;
  std::vector<StepFigures> steps;
  for (const std::size_t count : {1u, 16u, 64u, 256u, 896u}) steps.push_back(measure_steps(count));
  const Spread lookup = measure_lookup(50'000);
  const Spread fork = measure_fork(128'000);
  (is_json ? print_json : print_table)(steps, lookup, fork);
  return 0;
}
