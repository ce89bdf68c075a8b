#pragma once
// Decoding on a device without a control layer: batches by hand, all streams in each, the most
// probable token each. What batching can gain on this machine; benchmarks hold the engine against
// it.
//
// Owns     the device, while it runs.
// Thread   any; the device has its own.
#include <cstdint>

#include "base/clock.h"
#include "base/result.h"
#include "cli/options.h"

namespace quire {

struct RawDecode {
  std::uint32_t stream_count = 1;
  std::uint32_t prompt_tokens = 16;
  std::uint32_t token_count = 32;  // Of each stream, after its prompt.
};

// Tokens a second, prompts left out.
Result<double> raw_decode_rate(const cli::EngineOptions& options, const RawDecode& wanted,
                               const Clock& clock);

}  // namespace quire
