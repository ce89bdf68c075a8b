#pragma once
// `quire-bench restore | pressure | sink`: what the scenarios of context_scenarios.h took, as a
// table or as JSON.
#include "base/result.h"
#include "cli/options.h"

namespace quire {

Result<void> bench_restore(const cli::BenchOptions& options);
Result<void> bench_pressure(const cli::BenchOptions& options);
Result<void> bench_sink(const cli::BenchOptions& options);

}  // namespace quire
