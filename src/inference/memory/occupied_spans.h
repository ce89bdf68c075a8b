#pragma once
// OccupiedSpans: in which spans of kSpanSlots slots a sequence has a page that can be seen, kept up
// to date page by page. Attention looks at no other, so that a context of any length costs what it
// still sees of itself.
//
// Invariant   OC1  spans() are, rising, those with a count.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "inference/api/types.h"

namespace quire::inference {

class OccupiedSpans {
 public:
  explicit OccupiedSpans(std::uint32_t page_size) : page_size_(page_size) {}

  // Adds or removes the page of the table's entry `index`. Each is added once before it is removed.
  void add(std::uint32_t index) {
    const std::uint32_t span = span_of(index);
    if (span >= page_counts_.size()) page_counts_.resize(span + 1);
    if (page_counts_[span]++ == 0) spans_.insert(place_of(span), span);
  }
  void remove(std::uint32_t index) {
    const std::uint32_t span = span_of(index);
    QUIRE_CHECK(span < page_counts_.size() && page_counts_[span] > 0, "OC1");
    if (--page_counts_[span] == 0) spans_.erase(place_of(span));
  }
  std::span<const std::uint32_t> spans() const { return spans_; }

 private:
  std::uint32_t span_of(std::uint32_t index) const {
    return static_cast<std::uint32_t>(std::uint64_t{index} * page_size_ / kSpanSlots);
  }
  std::vector<std::uint32_t>::iterator place_of(std::uint32_t span) {
    if (spans_.empty() || spans_.back() < span) return spans_.end();
    return std::lower_bound(spans_.begin(), spans_.end(), span);
  }

  std::uint32_t page_size_;
  std::vector<std::uint16_t> page_counts_;  // [span]
  std::vector<std::uint32_t> spans_;
};

}  // namespace quire::inference
