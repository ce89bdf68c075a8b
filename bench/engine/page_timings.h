#pragma once
// How long the page store's own work takes, without a device: look-ups, forks, rewinds, taking and
// giving back pages, names.
//
// Thread   the calling one.
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace quire {

struct PageTiming {
  std::string key;      // With its unit: "lookup_50k_us".
  double median = 0.0;  // Of all rounds.
  double least = 0.0;
  double limit = 0.0;     // Of the median.
  bool is_ratio = false;  // The limit is so many times the median at 1x: of a "_10x" key.
  std::string meaning;
};

// Fixed contents; the same work each time.
std::vector<PageTiming> time_pages(const Clock& clock);

}  // namespace quire
