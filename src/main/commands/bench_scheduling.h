#pragma once
// `quire bench batching | scheduler | arrival`: the policies for batches against each other, what a
// step costs the scheduler, and what a long prompt does to those who decode. As a table or as JSON.
#include "base/result.h"
#include "cli/options.h"

namespace quire {

Result<void> bench_batching(const cli::BenchOptions& options);
Result<void> bench_scheduler(const cli::BenchOptions& options);
Result<void> bench_arrival(const cli::BenchOptions& options);

}  // namespace quire
