#pragma once
// The sampling flags of the command line as draws take them.
#include "cli/options.h"
#include "quire/draw_rule.h"

namespace quire {

inline DrawRule draw_rule(const cli::SamplingOptions& options) {
  DrawRule rule;
  rule.temperature = options.temperature;
  rule.top_k = options.top_k;
  rule.top_p = options.top_p;
  rule.min_p = options.min_p;
  rule.typical_p = options.typical_p;
  rule.top_n_sigma = options.top_n_sigma;
  rule.xtc_probability = options.xtc_probability;
  rule.xtc_threshold = options.xtc_threshold;
  rule.dry_multiplier = options.dry_multiplier;
  rule.repetition_penalty = options.repetition_penalty;
  rule.presence_penalty = options.presence_penalty;
  rule.frequency_penalty = options.frequency_penalty;
  return rule;
}

}  // namespace quire
