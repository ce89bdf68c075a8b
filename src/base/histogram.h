#pragma once
// Histogram counts values in buckets of fixed edges: 1, 2, ... 9, then ten edges in each power of ten
// (10, 12, 15, 20, 25, 30, 40, 50, 60, 80). Times are counted in nanoseconds, so they reach from 1 ns to
// 800 s. The edges are round numbers because a page of metrics prints them.
//
// A quantile is estimated within kQuantileError of the true one, from 2 to the last edge.
//
// Thread   that of its owner, its one writer. Readers get copies.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace quire {

inline constexpr auto kHistogramEdges = [] {
  constexpr std::uint64_t kMantissas[] = {10, 12, 15, 20, 25, 30, 40, 50, 60, 80};
  std::array<std::uint64_t, 119> edges{};
  std::size_t at = 0;
  for (; at < 9; ++at) edges[at] = at + 1;
  for (std::uint64_t power = 1; at < edges.size(); power *= 10) {
    for (const std::uint64_t each : kMantissas) edges[at++] = each * power;
  }
  return edges;
}();

class Histogram {
 public:
  static constexpr std::size_t kEdgeCount = kHistogramEdges.size();
  static constexpr double kQuantileError = 0.155;  // sqrt(4/3) - 1: 30 and 40 are the widest.

  // `times` values like this one.
  void observe(std::uint64_t value, std::uint64_t times = 1) {
    counts_[bucket_of(value)] += times;
    sum_ += value * times;
  }

  std::uint64_t sum() const { return sum_; }
  std::uint64_t count() const { return count_before(counts_.size()); }
  // Values that are at most `edge`, which is exact if it is one of edges().
  std::uint64_t count_at_most(std::uint64_t edge) const {
    return count_before(bucket_of(edge) + 1);
  }

  // The value that a share of `q` (0 to 1) of all values do not exceed; 0 if there is none. A value
  // beyond the last edge counts as that edge.
  std::uint64_t quantile(double q) const {
    const std::uint64_t all = count();
    if (all == 0) return 0;
    const auto rank = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(all)));
    const std::uint64_t wanted = std::clamp<std::uint64_t>(rank, 1, all);
    std::uint64_t seen = 0;
    std::size_t bucket = 0;
    while ((seen += counts_[bucket]) < wanted) ++bucket;
    if (bucket == kEdgeCount) return edges().back();
    const std::uint64_t least = bucket == 0 ? 0 : edges()[bucket - 1] + 1;
    return static_cast<std::uint64_t>(
        std::lround(std::sqrt(static_cast<double>(least) * static_cast<double>(edges()[bucket]))));
  }

  Histogram& operator+=(const Histogram& more) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += more.counts_[i];
    sum_ += more.sum_;
    return *this;
  }
  bool operator==(const Histogram&) const = default;

  static constexpr const std::array<std::uint64_t, kEdgeCount>& edges() { return kHistogramEdges; }

 private:
  static std::size_t bucket_of(std::uint64_t value) {
    return static_cast<std::size_t>(std::lower_bound(edges().begin(), edges().end(), value) -
                                    edges().begin());
  }
  std::uint64_t count_before(std::size_t end) const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < std::min(end, counts_.size()); ++i) count += counts_[i];
    return count;
  }

  std::array<std::uint64_t, kEdgeCount + 1> counts_{};  // The last: beyond the last edge.
  std::uint64_t sum_ = 0;
};

static_assert(sizeof(Histogram) <= 1024, "a histogram takes 1 KB");

}  // namespace quire
