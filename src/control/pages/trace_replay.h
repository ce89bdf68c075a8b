#pragma once
// Replays a trace of prompts against ColdPages: the store's rules without its pages.
//
// A request is the list of its blocks, named so that equal names are equal prefixes. Its hits are
// the blocks of its longest cached prefix. Then all its blocks are held, the missing ones in the
// place of victims, and turn cold again, the last one first.
//
// `lru` is played as the literature plays it, and as the published rows were: blocks are alone
// (none is below another), and the first block of a request is the first to go.
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "control/pages/cold_pages.h"

namespace quire::control {

struct TraceRequest {
  std::uint64_t time_ms = 0;
  std::uint32_t tenant = 0;
  std::vector<std::uint32_t> blocks;
};

struct Trace {
  std::vector<TraceRequest> requests;
  std::uint32_t block_count = 0;  // Names are below it.
};

// Each line "TIME_MS FIRST-LAST FIRST ...": runs of consecutive names. InvalidArgument names the
// line.
Result<Trace> parse_compact_trace(std::string_view text);

struct ReplayOptions {
  EvictionPolicyKind policy = EvictionPolicyKind::Default;
  std::uint32_t capacity = 0;  // Blocks.
  // Programs say `will_resume` of what a later request will ask for, and `done` of the rest.
  bool hints_from_future = false;
  // Only requests from this share of the trace to that are counted; those before warm the cache.
  double from = 0.0;
  double to = 1.0;
  bool is_cold_start = false;                          // Those before `from` are not played.
  std::optional<std::uint32_t> tenant = std::nullopt;  // Only its requests are counted.
};

struct ReplayResult {
  std::uint64_t request_count = 0;
  std::uint64_t block_count = 0;
  std::uint64_t hit_count = 0;
  std::uint64_t eviction_count = 0;
  std::uint64_t step_count = 0;  // Of the whole replay.
  double hit_rate() const {      // Percent.
    return block_count == 0
               ? 0.0
               : 100.0 * static_cast<double>(hit_count) / static_cast<double>(block_count);
  }
};

// InvalidArgument: a request longer than the capacity or with a block twice, no capacity, no
// request, an empty span.
Result<ReplayResult> replay_trace(const Trace& trace, const ReplayOptions& options);

}  // namespace quire::control
