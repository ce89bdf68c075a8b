#include "inference/models/feed_forward/expert_rows.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace quire::inference {

ExpertRows::ExpertRows(std::uint32_t row_count_max, std::uint32_t choice_count_max) {
  const std::size_t count = std::size_t{row_count_max} * choice_count_max;
  choices_.reserve(count);
  rows_.reserve(count);
}

void ExpertRows::begin(std::uint32_t row_count, std::uint32_t choice_count) {
  row_count_ = row_count;
  choice_count_ = choice_count;
  choices_.resize(std::size_t{row_count} * choice_count);
}

void ExpertRows::group(std::uint32_t expert_count) {
  next_.assign(expert_count + 1, 0);
  for (const ExpertChoice& each : choices_) {
    QUIRE_CHECK(each.expert < expert_count, "a row chooses an expert of its layer");
    ++next_[each.expert + 1];
  }
  blocks_.clear();
  for (std::uint32_t expert = 0; expert < expert_count; ++expert) {
    const std::uint32_t first = next_[expert];
    next_[expert + 1] += first;
    for (std::uint32_t at = first; at < next_[expert + 1]; at += kBlockRowsMax) {
      blocks_.push_back({expert, at, std::min(kBlockRowsMax, next_[expert + 1] - at)});
    }
  }
  rows_.resize(choices_.size());
  for (std::uint32_t row = 0; row < row_count_; ++row) {
    for (ExpertChoice& each : choices(row)) {
      each.place = next_[each.expert]++;
      rows_[each.place] = row;
    }
  }
}

void choose_experts(std::span<float> numerators, float sum, bool is_renormalised, float scale,
                    std::span<ExpertChoice> chosen) {
  float chosen_sum = 0.0f;
  for (ExpertChoice& each : chosen) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < numerators.size(); ++i) {
      if (numerators[i] > numerators[best]) best = i;
    }
    each.expert = static_cast<std::uint32_t>(best);
    each.weight = numerators[best];
    chosen_sum += each.weight;
    numerators[best] = -1.0f;  // A numerator is at least 0.
  }
  if (!std::isfinite(sum)) {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      chosen[i].expert = static_cast<std::uint32_t>(i);
      chosen[i].weight = NAN;
    }
    return;
  }
  const float whole = is_renormalised ? chosen_sum : sum;
  for (ExpertChoice& each : chosen) each.weight = each.weight / whole * scale;
}

}  // namespace quire::inference
