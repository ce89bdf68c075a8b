#pragma once
// The sampling flags of the command line as the SDK's sampler takes them.
#include "cli/options.h"
#include "quire/sampling.h"

namespace quire {

inline SamplerOptions sampler_options(const cli::SamplingOptions& options) {
  return {.temperature = options.temperature,
          .top_k = options.top_k,
          .top_p = options.top_p,
          .min_p = options.min_p,
          .seed = options.seed};
}

}  // namespace quire
