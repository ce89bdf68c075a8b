#pragma once
// One measurement: some streams that generate side by side with the host's own loop.
//
// Thread   the engine thread.
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "main/machine/host_generator.h"
#include "main/machine/machine.h"
#include "main/verbs/shared/random_prompt.h"

namespace quire {

struct StreamsTiming {
  double prefill_s = 0.0;  // Until every stream has its first token.
  double decode_s = 0.0;   // From then until the last one has its last.
};

// Every generator takes its prompt and then generates `token_count` tokens, greedy, past any end.
Result<StreamsTiming> run_streams(const Clock& clock, std::vector<HostGenerator*> generators,
                                  const std::vector<std::vector<std::uint32_t>>& prompts,
                                  std::uint32_t token_count);

struct Spread {
  double median = 0.0;
  double least = 0.0;
  double most = 0.0;
};
Spread spread_of(std::vector<double> values);  // At least one.
// The smallest value that so large a share of all does not exceed. At least one.
double percentile(std::vector<double> values, double share);

}  // namespace quire
