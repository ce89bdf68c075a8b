#include "main/verbs/models/tier_costs.h"

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>

#include "base/clock.h"
#include "cli/terminal.h"
#include "main/machine/host_context.h"
#include "main/machine/machine.h"
#include "main/verbs/shared/kv_text.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/random_prompt.h"
#include "main/verbs/shared/scratch_folder.h"

namespace quire {
namespace {

// In turn, in a pool that holds one of the long ones and no other: the long ones are samples of the
// time of a page, the short one of that of a job.
constexpr std::array<std::uint32_t, 3> kPromptPageCounts{32, 32, 2};
constexpr std::uint32_t kPoolPageCount = 40;
// A sample weighs an eighth: of the first guess a fiftieth is left.
constexpr std::uint32_t kRoundCount = 32;
constexpr std::array<std::uint32_t, 5> kPageCounts{1, 4, 16, 64, 256};

struct Choice {
  std::uint32_t token_count = 0;
  double compute_ns = 0;
  double host_ns = 0;
  double disk_ns = 0;
};

std::vector<Choice> choices(const TierCosts& costs) {
  std::vector<Choice> all;
  for (const std::uint32_t count : kPageCounts) {
    control::CostModel::Run run{.page_count = count, .token_count = count * costs.page_size};
    Choice choice{.token_count = run.token_count,
                  .compute_ns = control::compute_ns(costs.figures, run),
                  .host_ns = control::restore_ns(costs.figures, run)};
    run.read_count = count;
    choice.disk_ns = control::restore_ns(costs.figures, run);
    all.push_back(choice);
  }
  return all;
}

const char* choice_name(double restore_ns, double compute_ns) {
  return restore_ns < compute_ns ? "restore" : "recompute";
}

std::string ms_text(double ns) {
  return decimal(ns * 1e-6, ns < 1e6 ? 3 : 1) + " ms";
}

}  // namespace

Result<TierCosts> measure_tiers(const cli::EngineOptions& options) {
  if (options.kv_mode != cli::KvModeChoice::Paged) {
    return Error(ErrorCode::NotSupported, "tiers need the paged KV cache");
  }
  const ScratchFolder folder;
  if (folder.path().empty()) {
    return Error(ErrorCode::Io, "no folder for a store could be made among the temporary files");
  }
  cli::EngineOptions engine = options;
  engine.pool.memory_bytes.reset();
  engine.pool.page_count = kPoolPageCount;
  engine.store_use = cli::StoreUse::Required;
  engine.store_folder = (folder.path() / "store").string();
  engine.tiers.host_bytes = 0;
  engine.tiers.disk_bytes = std::uint64_t{1} << 40;  // All of the pages.
  engine.tiers.always_restores = true;
  engine.eviction = cli::PagePolicyChoice::Lru;  // What is asked for next goes first.
  const SteadyClock clock;
  const std::unique_ptr<Machine> machine = TRY(Machine::build(engine, clock));
  HostLoop loop(machine->control(), machine->answers(), machine->wakeup());
  SeededRandom random(1);
  std::vector<std::vector<std::uint32_t>> prompts;
  for (const std::uint32_t page_count : kPromptPageCounts) {
    const std::uint32_t token_count =
        std::min(page_count * options.page_size, machine->model().context_length);
    prompts.push_back(random_prompt(random, machine->model().vocabulary_size, token_count));
  }
  for (std::uint32_t round = 0; round < kRoundCount; ++round) {
    for (const std::vector<std::uint32_t>& prompt : prompts) {
      HostContext context(loop);
      context.create();
      context.append(prompt);
      TRY(context.flush());
    }
  }
  const control::TierStatistics tiers = machine->tiers();
  if (tiers.restored_page_count == 0) {
    return Error(ErrorCode::Internal, "no page was brought back while tiers were measured");
  }
  return TierCosts{.page_size = options.page_size,
                   .page_bytes = machine->device().page_bytes,
                   .figures = {.compute_ns_per_token = tiers.compute_ns_per_token,
                               .load_ns_per_page = tiers.load_ns_per_page,
                               .read_ns = tiers.read_ns,
                               .read_ns_per_page = tiers.read_ns_per_page}};
}

nlohmann::json tier_costs_json(const TierCosts& costs) {
  nlohmann::json lengths = nlohmann::json::array();
  for (const Choice& each : choices(costs)) {
    lengths.push_back({{"tokens", each.token_count},
                       {"compute_ms", each.compute_ns * 1e-6},
                       {"host_ms", each.host_ns * 1e-6},
                       {"disk_ms", each.disk_ns * 1e-6},
                       {"from_host", choice_name(each.host_ns, each.compute_ns)},
                       {"from_disk", choice_name(each.disk_ns, each.compute_ns)}});
  }
  const control::CostFigures& figures = costs.figures;
  return {{"page_size", costs.page_size},
          {"page_bytes", costs.page_bytes},
          {"compute_ms_per_page", figures.compute_ns_per_token * costs.page_size * 1e-6},
          {"load_ms_per_page", figures.load_ns_per_page * 1e-6},
          {"read_ms", figures.read_ns * 1e-6},
          {"read_ms_per_page", figures.read_ns_per_page * 1e-6},
          {"lengths", lengths}};
}

std::string tier_costs_summary(const TierCosts& costs) {
  const control::CostFigures& figures = costs.figures;
  return "a page of " + std::to_string(costs.page_size) + " tokens, " +
         cli::bytes_text(costs.page_bytes) + ": computed in " +
         ms_text(figures.compute_ns_per_token * costs.page_size) + ", loaded from host memory in " +
         ms_text(figures.load_ns_per_page) + ", read from disk in " +
         ms_text(figures.read_ns_per_page) + " and " + ms_text(figures.read_ns) + " for the run";
}

std::vector<std::string> tier_costs_lines(const TierCosts& costs) {
  std::vector<std::vector<std::string>> rows = {
      {"TOKENS", "COMPUTED", "FROM HOST", "", "FROM DISK", ""}};
  for (const Choice& each : choices(costs)) {
    rows.push_back({std::to_string(each.token_count), ms_text(each.compute_ns),
                    ms_text(each.host_ns), choice_name(each.host_ns, each.compute_ns),
                    ms_text(each.disk_ns), choice_name(each.disk_ns, each.compute_ns)});
  }
  std::istringstream text(table_text(rows, {true, true, true, false, true, false}));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

}  // namespace quire
