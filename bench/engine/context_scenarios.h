#pragma once
// What contexts cost where a page store is put to the test: restored from disk, in a pool that is
// too small, and for ever behind a sliding window. Each scenario checks its outputs bit for bit
// before it tells a time.
//
// BenchOptions::kv_report_file is of a run of its own, which is not timed: one that restores, one
// in the small pool; of the sink, whose run is long, it is of that.
//
// Thread   the main thread; each builds and ends engines of its own.
// Errors   of building an engine; Internal where outputs differ, which is a bug of ours.
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cli/options.h"

namespace quire {

// `token_count` tokens computed, saved, and opened in an engine that was built anew, in turn.
struct RestoreTimes {
  std::vector<double> recompute_s;
  std::vector<double> restore_cold_s;  // The store's files were put out of the file cache before.
  std::vector<double> restore_warm_s;
  double cached_share = 0.0;  // Of the store's files, in the file cache at the cold ones' begin.
  std::uint64_t store_bytes = 0;
};
Result<RestoreTimes> time_restore(const cli::BenchOptions& options);

// So many conversations at once, each going on as soon as it has its token: in a pool that holds
// them all, and in one of a quarter of that, in turn.
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
