#pragma once
// Measures what it takes to bring pages back from another tier, and to compute them, on this
// machine with this model. An engine computes prompts that do not fit its pool together, and brings
// them back from disk in turn.
//
// Thread   the main thread; builds and ends an engine of its own.
// Errors   of building an engine; NotSupported for one without pages.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "control/tiers/cost_model.h"

namespace quire {

struct TierCosts {
  std::uint32_t page_size = 0;
  std::uint64_t page_bytes = 0;
  control::CostFigures figures;
};
Result<TierCosts> measure_tiers(const cli::EngineOptions& options);

// The times of runs of some lengths, and what the engine would do.
nlohmann::json tier_costs_json(const TierCosts& costs);
std::string tier_costs_summary(const TierCosts& costs);  // One line.
std::vector<std::string> tier_costs_lines(const TierCosts& costs);

}  // namespace quire
