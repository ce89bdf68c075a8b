// `quire bench calls`: what a call costs a program, with so many programs alive.
//
// One call is under way at a time, and the device takes no time: so a figure is the way of the call
// and nothing else, neither the handling of it nor that of others (batching has nothing to join).
// What grows with the programs is what the tables and the caches of the machine make of them.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "main/commands/bench_guest.h"
#include "main/commands/bench_scheduling.h"
#include "main/commands/kv_text.h"
#include "main/commands/output.h"
#include "main/machine/application.h"
#include "main/machine/simulated_machine.h"

namespace quire {
namespace {

constexpr const char* kGuestName = "bench/call_loop.wasm";
constexpr std::size_t kCallsOfABlock = 64;  // As in call_loop.cpp.
constexpr std::size_t kSampleCountMin = 2'000;

struct Sample {
  std::uint64_t begin_ns = 0;  // In the guest: before the call,
  std::uint64_t end_ns = 0;    // and after it.
};

class Callers final : public lifecycle::ClientSink {
 public:
  bool message(lifecycle::InstanceId, std::string_view bytes) override {
    Sample sample;
    const std::string text(bytes);
    char* rest = nullptr;
    sample.begin_ns = std::strtoull(text.c_str(), &rest, 10);
    sample.end_ns = std::strtoull(rest, nullptr, 10);
    last = sample;
    return true;
  }
  bool log(lifecycle::InstanceId, lifecycle::LogSource, lifecycle::LogLevel,
           std::string_view line) override {
    note(std::string(line));
    return true;
  }
  bool file(lifecycle::InstanceId, const hostcalls::FilePart&) override { return true; }
  bool ended(lifecycle::InstanceId, const lifecycle::EndRecord& record) override {
    if (record.exit_code != 0) note("ended. " + record.message);
    return true;
  }

  std::optional<Sample> last;
  std::optional<Error> failure;

 private:
  void note(const std::string& what) {
    if (!failure) failure.emplace(ErrorCode::Internal, "call_loop: " + what);
  }
};

struct Figures {
  std::vector<double> call_us;
  std::vector<double> one_way_us;  // Device: from the call to the batch being the device's.
};

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

// So many programs, which make a call each in turn.
class Scene {
 public:
  static Result<std::unique_ptr<Scene>> build(const std::string& guest, const std::string& kind,
                                              std::uint32_t count) {
    auto scene = std::make_unique<Scene>(count);
    SimulatedMachine& machine = scene->machine_;
    scene->application_ = TRY(Application::build(
        {machine.control(), machine.answers(), machine.wakeup()}, scene->clock_, SandboxOptions{}));
    const lifecycle::ProgramId program =
        TRY(scene->application_->manager().load_program_file(guest));
    for (std::uint32_t each = 0; each < count; ++each) {
      scene->instances_.push_back(TRY(scene->application_->launch(
          {.program = program, .tenant = {}, .arguments = {kind}, .limits = {}}, scene->callers_)));
    }
    scene->settle();
    if (scene->callers_.failure) return std::move(*scene->callers_.failure);
    return scene;
  }
  explicit Scene(std::uint32_t count)
      : machine_(
            {.page_count = 16, .sequence_count = count + 16, .embed_slot_count = 4 * count + 16},
            {.dispatch = {.kind = control::DispatchKind::Eager}}, clock_) {}

  Result<Figures> measure(bool is_device) {
    Figures figures;
    const std::size_t rounds = std::max<std::size_t>(kSampleCountMin / instances_.size(), 3);
    for (std::size_t round = 0; round < rounds + 1; ++round) {
      for (const lifecycle::InstanceId each : instances_) {
        TRY(application_->manager().send_to(each, "go"));
        callers_.last.reset();
        std::uint64_t given_ns = 0;
        std::uint64_t done_ns = 0;
        while (!callers_.last && !callers_.failure) {
          application_->loop().step();
          if (machine_.device().inflight_count() == 0) continue;
          given_ns = clock_.now_ns();
          machine_.device().complete_next();
          done_ns = clock_.now_ns();
        }
        if (callers_.failure) return std::move(*callers_.failure);
        if (round > 0) note(figures, is_device, given_ns, done_ns);  // The first one warms up.
      }
    }
    return figures;
  }

 private:
  void note(Figures& figures, bool is_device, std::uint64_t given_ns, std::uint64_t done_ns) const {
    const Sample& sample = *callers_.last;
    const double whole_us = static_cast<double>(sample.end_ns - sample.begin_ns) * 1e-3;
    if (!is_device) {
      figures.call_us.push_back(whole_us / kCallsOfABlock);
      return;
    }
    figures.call_us.push_back(whole_us - static_cast<double>(done_ns - given_ns) * 1e-3);
    figures.one_way_us.push_back(static_cast<double>(given_ns - sample.begin_ns) * 1e-3);
  }
  void settle() {
    const std::uint64_t until_ns = clock_.now_ns() + 50'000'000;
    while (clock_.now_ns() < until_ns || machine_.device().inflight_count() > 0) {
      application_->loop().step();
      while (machine_.device().inflight_count() > 0) machine_.device().complete_next();
    }
  }

  const SteadyClock clock_;
  SimulatedMachine machine_;
  Callers callers_;
  std::unique_ptr<Application> application_;
  std::vector<lifecycle::InstanceId> instances_;
};

}  // namespace

Result<void> bench_calls(const cli::BenchOptions& options) {
  const bool is_text = options.output == cli::OutputStyle::Text;
  const std::string guest = TRY(find_bench_guest(options.program, kGuestName));
  nlohmann::json rows = nlohmann::json::array();
  if (is_text) print("instances   kind        p50 us     p99 us   one way us (p50)\n");
  for (const char* kind : {"control", "device"}) {
    const bool is_device = kind == std::string("device");
    for (const std::uint32_t count : options.streams) {
      const std::unique_ptr<Scene> scene = TRY(Scene::build(guest, kind, count));
      const Figures figures = TRY(scene->measure(is_device));
      nlohmann::json row = {{"instances", count},
                            {"kind", kind},
                            {"p50_us", percentile(figures.call_us, 0.5)},
                            {"p99_us", percentile(figures.call_us, 0.99)}};
      if (is_device) row["one_way_us"] = percentile(figures.one_way_us, 0.5);
      if (is_text) {
        char line[120];
        std::snprintf(line, sizeof line, "%9u   %-8s %9.3f  %9.3f   %s\n", count, kind,
                      row["p50_us"].get<double>(), row["p99_us"].get<double>(),
                      is_device ? decimal(row["one_way_us"].get<double>(), 3).c_str() : "");
        print(line);
      }
      rows.push_back(std::move(row));
    }
  }
  if (!is_text) print(json_line({{"results", rows}}));
  return {};
}

}  // namespace quire
