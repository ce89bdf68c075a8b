// `quire-bench calls`: what a call costs a program while so many programs are alive.
//
// Only one call is under way at a time, and the device takes no time. A figure is therefore the
// time of the call itself, without work of the device and without other calls in its batch. If a
// figure grows with the number of programs, the causes are the tables and the caches of the
// machine. A second table has the calls for each token, counted in programs that answer with a
// model.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/engine/bench_guest.h"
#include "bench/engine/bench_scheduling.h"
#include "bench/machine/bench_streams.h"
#include "main/machine/application.h"
#include "main/machine/simulated_machine.h"
#include "main/verbs/shared/kv_text.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

constexpr const char* kCallGuestName = "bench/call_loop.wasm";
constexpr std::size_t kSampleCountMin = 2'000;

struct CallFigures {
  std::vector<double> call_us;     // Control: of 64 in a row, each.
  std::vector<double> alone_us;    // One after the program had waited, with one look at the clock.
  std::vector<double> one_way_us;  // Device: from the call to the batch being the device's.
};

// So many programs, which make a call each in turn.
class Scene {
 public:
  static Result<std::unique_ptr<Scene>> build(const std::string& guest, const std::string& kind,
                                              std::uint32_t count) {
    auto scene = std::make_unique<Scene>(count);
    SimulatedMachine& machine = scene->machine_;
    scene->application_ = TRY(Application::build(
        {machine.control(), machine.answers(), machine.wakeup()}, scene->clock_, SandboxOptions{}));
    scene->guests_.emplace(*scene->application_, kCallGuestName,
                           [each = scene.get()](bool) { each->complete(); });
    const lifecycle::ProgramId program =
        TRY(scene->application_->manager().load_program_file(guest));
    for (std::uint32_t each = 0; each < count; ++each) TRY(scene->guests_->launch(program, {kind}));
    TRY(scene->guests_->wait_until_ready());
    return scene;
  }
  explicit Scene(std::uint32_t count)
      : machine_(
            {.page_count = 16, .sequence_count = count + 16, .embed_slot_count = 4 * count + 16},
            {.dispatch = {.kind = control::DispatchKind::Eager}}, clock_) {}

  Result<CallFigures> measure(bool is_device) {
    CallFigures figures;
    const std::size_t count = guests_->instances().size();
    const std::size_t rounds = std::max<std::size_t>(kSampleCountMin / count, 3);
    for (std::size_t round = 0; round < rounds + 1; ++round) {
      for (const lifecycle::InstanceId each : guests_->instances()) {
        TRY(guests_->tell(each));
        const std::string times = TRY(guests_->wait_for_message());
        if (round > 0) note(figures, is_device, times);  // The first one warms up.
      }
    }
    return figures;
  }

 private:
  // `times` has four numbers of the guest. The first three are times on the server's clock: it made
  // one call alone, then began further calls, then ended. The fourth is the count of further calls.
  void note(CallFigures& figures, bool is_device, const std::string& times) const {
    char* rest = nullptr;
    const std::uint64_t alone_ns = std::strtoull(times.c_str(), &rest, 10);
    const std::uint64_t begin_ns = std::strtoull(rest, &rest, 10);
    const std::uint64_t end_ns = std::strtoull(rest, &rest, 10);
    const std::uint64_t call_count = std::strtoull(rest, &rest, 10);
    const std::uint64_t handling_ns = is_device ? done_ns_ - given_ns_ : 0;
    figures.call_us.push_back(static_cast<double>(end_ns - begin_ns - handling_ns) * 1e-3 /
                              static_cast<double>(call_count));
    figures.alone_us.push_back(is_device ? figures.call_us.back()
                                         : static_cast<double>(begin_ns - alone_ns) * 1e-3);
    if (!is_device) return;
    figures.one_way_us.push_back(static_cast<double>(given_ns_ - begin_ns) * 1e-3);
  }
  // After each turn: the device takes no time.
  void complete() {
    if (machine_.device().inflight_count() == 0) return;
    given_ns_ = clock_.now_ns();
    machine_.device().complete_next();
    done_ns_ = clock_.now_ns();
  }

  const SteadyClock clock_;
  SimulatedMachine machine_;
  std::optional<BenchGuests> guests_;
  std::unique_ptr<Application> application_;
  std::uint64_t given_ns_ = 0;  // Of the latest batch: given to the device,
  std::uint64_t done_ns_ = 0;   // and completed.
};

void tell_counts(const nlohmann::json& counts) {
  if (counts.empty()) return;
  print("\nprogram                   calls a token    control     device\n");
  for (const nlohmann::json& each : counts) {
    char line[120];
    std::snprintf(line, sizeof line, "%-25s %13.2f %10.2f %10.2f\n",
                  each["program"].get<std::string>().c_str(), each["calls_per_token"].get<double>(),
                  each["control"].get<double>(), each["device"].get<double>());
    print(line);
  }
}

}  // namespace

Result<void> bench_calls(const cli::BenchOptions& options) {
  const bool is_text = options.output == cli::OutputStyle::Text;
  const std::string guest = TRY(find_bench_guest(options.program, kCallGuestName));
  // If the model of the second table is missing, fail before the first table is measured.
  if (options.decode_tokens > 0) TRY(find_model(options.engine.model));
  nlohmann::json rows = nlohmann::json::array();
  if (is_text) print("instances   kind        p50 us     p99 us   one way us (p50)\n");
  for (const char* kind : {"control", "device"}) {
    const bool is_device = kind == std::string("device");
    for (const std::uint32_t count : options.streams) {
      const std::unique_ptr<Scene> scene = TRY(Scene::build(guest, kind, count));
      const CallFigures figures = TRY(scene->measure(is_device));
      nlohmann::json row = {{"instances", count},
                            {"kind", kind},
                            {"p50_us", percentile(figures.call_us, 0.5)},
                            {"p99_us", percentile(figures.alone_us, 0.99)}};
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
  const nlohmann::json counts = TRY(count_calls(options));
  if (is_text) tell_counts(counts);
  if (!is_text) print(json_line({{"results", rows}, {"calls_per_token", counts}}));
  return {};
}

}  // namespace quire
