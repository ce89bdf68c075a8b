#include "bench/machine/bench_streams.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace quire {

Result<StreamsTiming> run_streams(const Clock& clock, std::vector<HostGenerator*> generators,
                                  const std::vector<std::vector<std::uint32_t>>& prompts,
                                  std::uint32_t token_count) {
  QUIRE_CHECK(generators.size() == prompts.size(), "a prompt for each stream");
  const std::uint64_t begin_ns = clock.now_ns();
  std::uint64_t first_ns = begin_ns;
  for (std::size_t i = 0; i < generators.size(); ++i) {
    TRY(generators[i]->append(prompts[i]));
    generators[i]->start({}, 0, {.token_count_max = token_count});
  }
  for (std::uint32_t step = 0; step < token_count; ++step) {
    for (HostGenerator* generator : generators) {
      if (!generator->ended()) generator->begin_step();
    }
    for (HostGenerator* generator : generators) {
      if (!generator->ended()) TRY(generator->finish_step());
    }
    if (step == 0) first_ns = clock.now_ns();
  }
  return StreamsTiming{static_cast<double>(first_ns - begin_ns) * 1e-9,
                       static_cast<double>(clock.now_ns() - first_ns) * 1e-9};
}

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

double percentile(std::vector<double> values, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace quire
