#pragma once
// The measurements of `quire-bench batching | scheduler | arrival | constraint | overhead | calls`,
// as a table or as JSON. The first compares the policies for batches. The second measures what a
// step costs the scheduler. `arrival` and `constraint` measure what a long prompt and what grammars
// cost streams that decode. The last two measure what a program costs over the host's own loop, and
// what a call costs a program.
#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "cli/options.h"

namespace quire {

Result<void> bench_batching(const cli::BenchOptions& options);
Result<void> bench_scheduler(const cli::BenchOptions& options);
Result<void> bench_arrival(const cli::BenchOptions& options);
Result<void> bench_constraint(const cli::BenchOptions& options);
Result<void> bench_overhead(const cli::BenchOptions& options);
Result<void> bench_calls(const cli::BenchOptions& options);

// A part of bench_calls: how many calls programs make for each token of their answer, as rows of
// {program, calls_per_token, control, device}.
Result<nlohmann::json> count_calls(const cli::BenchOptions& options);

}  // namespace quire
