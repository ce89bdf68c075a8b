#pragma once
// Three scenarios measure what contexts cost when they put the page store to the test. A context is
// restored from disk, contexts share a pool that is too small, and a context generates forever
// under a sliding window. The first fails if the logits of a restored context differ in a bit, and
// the second if the small pool gives other tokens.
//
// BenchOptions::kv_report_file names the file for a report of the pages. The first two scenarios
// write it in one more run, which is not timed. The third writes it in its only run, which is long.
//
// Thread   the main thread. Each scenario builds and ends engines of its own.
// Errors   those of building an engine. Internal if outputs differ, which is a bug of ours.
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cli/options.h"

namespace quire {

// The scenario saves BenchOptions::tokens tokens once. Each round then computes them again, opens
// them cold and opens them warm, each time in a new engine.
struct RestoreTimes {
  std::vector<double> recompute_s;
  std::vector<double> restore_cold_s;  // The store's files were put out of the file cache before.
  std::vector<double> restore_warm_s;
  double cached_share = 0.0;  // Of the store's files, in the file cache at the cold ones' begin.
  std::uint64_t store_bytes = 0;
};
Result<RestoreTimes> time_restore(const cli::BenchOptions& options);

// Many conversations run at once, and each goes on as soon as it has its token. A pool that holds
// them all takes turns with a pool of a quarter of its pages.
struct PressureTimes {
  std::vector<double> roomy_s;
  std::vector<double> tight_s;
  std::uint32_t roomy_page_count = 0;
  std::uint32_t tight_page_count = 0;
  std::uint64_t suspension_count = 0;  // Of the last run in the small pool,
  std::uint64_t lost_token_count = 0;  // and the tokens that it had to compute again.
};
Result<PressureTimes> time_pressure(const cli::BenchOptions& options);

// Tokens generated one at a time, each seeing the first few and a window of the latest ones.
struct SinkTimes {
  std::uint32_t sink = 4;
  std::uint32_t window = 256;
  std::vector<double> token_ms;        // Mean of each fifth of the tokens.
  std::uint32_t page_count_least = 0;  // After the first fifth.
  std::uint32_t page_count_most = 0;
};
Result<SinkTimes> time_sink(const cli::BenchOptions& options);

}  // namespace quire
