// `quire-bench overhead`: what each layer between a program and the device adds to a token. The
// ways to make the same tokens are a ladder, from batches by hand to a program that does every part
// by itself. A way adds its time less the time of the way below it, which Way::over names.
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/engine/bench_guest.h"
#include "bench/engine/bench_scheduling.h"
#include "bench/engine/raw_decode.h"
#include "bench/machine/bench_streams.h"
#include "main/machine/application.h"
#include "main/machine/machine.h"
#include "main/verbs/shared/kv_text.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

constexpr std::uint32_t kPromptTokens = 16;
constexpr const char* kTokenGuestName = "bench/token_loop.wasm";

// `guest_way` is token_loop.cpp's; empty: not a guest.
struct Way {
  const char* name;
  const char* guest_way;
  const char* over;  // The way below it: what it is compared with.
  const char* adds;
};
constexpr const char* kRaw = "raw batches";
constexpr const char* kHost = "host loop";
constexpr Way kWays[] = {
    {kRaw, "", "", "nothing: batches by hand, no control layer"},
    {kHost, "", kRaw, "scheduling, pages, and the host's own loop"},
    {"generate", "generate", kHost, "Wasm and the boundary: a program takes each token"},
    {"forward-sample", "forward-sample", "generate", "the program's loop, a call for each token"},
    {"context", "context", "forward-sample", "sampling in the program"},
    {"distribution", "distribution", "context", "returning a distribution of 256"},
    {"by hand", "by-hand", "context", "pages, embeds and positions by hand"},
    {"separate sampling", "separate-sampling", "by hand", "a step of its own for the distribution"},
    {"separate embedding", "separate-embedding", "by hand",
     "a wait of its own for the embedding, which the host does"},
};

// The engine twice, for the host's loop and for guests, with a device each: they take turns.
class Ladder {
 public:
  static Result<std::unique_ptr<Ladder>> build(const cli::BenchOptions& options) {
    auto ladder = std::make_unique<Ladder>(options);
    ladder->host_machine_ = TRY(Machine::build(options.engine, ladder->clock_));
    ladder->guest_machine_ = TRY(Machine::build(options.engine, ladder->clock_));
    ladder->application_ =
        TRY(Application::build(*ladder->guest_machine_, ladder->clock_, SandboxOptions{}));
    const std::string guest = TRY(find_bench_guest(options.program, kTokenGuestName));
    ladder->program_ = TRY(ladder->application_->manager().load_program_file(guest));
    return ladder;
  }
  explicit Ladder(const cli::BenchOptions& options) : options_(options) {}

  // Milliseconds of one token of each of `count` streams that decode side by side.
  Result<double> measure(const Way& way, std::uint32_t count, std::uint64_t seed) {
    const std::uint32_t tokens = options_.decode_tokens;
    if (way.name == std::string(kRaw)) {
      const RawDecode wanted{
          .stream_count = count, .prompt_tokens = kPromptTokens, .token_count = tokens};
      return 1e3 * count / TRY(raw_decode_rate(options_.engine, wanted, clock_));
    }
    if (way.name == std::string(kHost)) return 1e3 * TRY(run_host(count, seed)) / tokens;
    return 1e3 * TRY(run_guests(way.guest_way, count, seed)) / tokens;
  }
  std::string model() { return host_machine_->model().name; }
  std::string backend() { return host_machine_->device().name; }

 private:
  Result<double> run_host(std::uint32_t count, std::uint64_t seed) {
    Machine& machine = *host_machine_;
    HostLoop loop(machine.control(), machine.answers(), machine.wakeup());
    SeededRandom random(seed);
    std::vector<std::unique_ptr<HostGenerator>> owned;
    std::vector<HostGenerator*> generators;
    std::vector<std::vector<std::uint32_t>> prompts;
    for (std::uint32_t each = 0; each < count; ++each) {
      owned.push_back(std::make_unique<HostGenerator>(loop, machine.text(), machine.model()));
      generators.push_back(owned.back().get());
      prompts.push_back(random_prompt(random, machine.model().vocabulary_size, kPromptTokens));
    }
    return TRY(run_streams(clock_, generators, prompts, options_.decode_tokens + 1)).decode_s;
  }

  // Seconds for the tokens of all, prompts left out.
  Result<double> run_guests(const char* way, std::uint32_t count, std::uint64_t seed) {
    BenchGuests& guests =
        guests_.emplace_back(*application_, kTokenGuestName, [this](bool was_busy) {
          if (was_busy) return;
          const std::uint64_t ns = application_->loop().sleep_ns();
          guest_machine_->wakeup().wait_for(std::chrono::nanoseconds(ns));
        });
    for (std::uint32_t each = 0; each < count; ++each) {
      TRY(guests.launch(program_,
                        {way, std::to_string(seed * 1000 + each), std::to_string(kPromptTokens),
                         std::to_string(options_.decode_tokens)}));
    }
    TRY(guests.wait_until_ready());
    const std::uint64_t begin_ns = clock_.now_ns();
    for (const lifecycle::InstanceId each : guests.instances()) TRY(guests.tell(each));
    TRY(guests.wait_for_ends());
    return static_cast<double>(clock_.now_ns() - begin_ns) * 1e-9;
  }

  const cli::BenchOptions& options_;
  const SteadyClock clock_;
  std::unique_ptr<Machine> host_machine_;
  std::unique_ptr<Machine> guest_machine_;
  std::deque<BenchGuests> guests_;  // Those of each measurement.
  std::unique_ptr<Application> application_;
  lifecycle::ProgramId program_{};
};

// The order differs in each round, because the way after the host's loop finds the other engine's
// weights in the caches.
std::vector<const Way*> shuffled_ways(std::uint32_t round) {
  std::vector<const Way*> ways;
  for (const Way& way : kWays) ways.push_back(&way);
  SeededRandom random(round);
  for (std::size_t left = ways.size(); left > 1; --left) {
    std::swap(ways[left - 1], ways[random.next() % left]);
  }
  return ways;
}

// Milliseconds a token, of each round.
using OverheadFigures = std::map<std::string, std::vector<double>>;

// Returns how much longer one way takes than another, round by round. Other work on the machine
// hits both ways of a round.
std::vector<double> differences(const OverheadFigures& figures, const char* way, const char* over) {
  std::vector<double> added;
  const std::vector<double>& above = figures.at(way);
  const std::vector<double>& below = figures.at(over);
  for (std::size_t round = 0; round < above.size(); ++round) {
    added.push_back(above[round] - below[round]);
  }
  return added;
}

void tell(const OverheadFigures& figures, std::uint32_t count, bool is_text,
          nlohmann::json& results) {
  const double host_ms = spread_of(figures.at(kHost)).median;
  for (const Way& way : kWays) {
    const Spread spread = spread_of(figures.at(way.name));
    const bool is_first = way.over[0] == '\0';
    const double added_ms =
        is_first ? 0.0 : spread_of(differences(figures, way.name, way.over)).median;
    const double over_host = spread_of(differences(figures, way.name, kHost)).median / host_ms;
    results.push_back({{"instances", count},
                       {"way", way.name},
                       {"ms_per_token", spread.median},
                       {"least", spread.least},
                       {"most", spread.most},
                       {"over", way.over},
                       {"added_ms", added_ms},
                       {"over_host_loop", over_host}});
    if (!is_text) continue;
    char line[200];
    std::snprintf(line, sizeof line, "%4u  %-19s %8.3f (%.3f to %.3f) %+8.3f %+7.1f %%  %s\n",
                  count, way.name, spread.median, spread.least, spread.most, added_ms,
                  100.0 * over_host, way.adds);
    print(line);
  }
}

}  // namespace

Result<void> bench_overhead(const cli::BenchOptions& options) {
  const bool is_text = options.output == cli::OutputStyle::Text;
  const std::unique_ptr<Ladder> ladder = TRY(Ladder::build(options));
  nlohmann::json json = {{"model", ladder->model()},
                         {"backend", ladder->backend()},
                         {"tokens", options.decode_tokens},
                         {"rounds", options.repetitions},
                         {"results", nlohmann::json::array()}};
  if (is_text) {
    print(ladder->model() + ", backend " + ladder->backend() + ", " +
          std::to_string(options.decode_tokens) + " tokens each, medians of " +
          std::to_string(options.repetitions) + " rounds, all ways in each\n" +
          "   n  way                 ms/token (least to most)   adds ms  over the host's loop\n");
  }
  std::uint64_t seed = 0;
  for (const std::uint32_t count : options.streams) {
    OverheadFigures figures;
    for (std::uint32_t round = 0; round < options.repetitions; ++round) {
      for (const Way* way : shuffled_ways(round)) {
        figures[way->name].push_back(TRY(ladder->measure(*way, count, ++seed)));
      }
    }
    tell(figures, count, is_text, json["results"]);
  }
  if (!is_text) print(json_line(json));
  return {};
}

}  // namespace quire
