#pragma once
// Adapters: low-rank additions to a model's weights, by name. Context::use() puts them in force,
// and Model::adapters() lists them.
#include <cstdint>
#include <string>
#include <vector>

#include "quire/bindings.h"
#include "quire/result.h"
#include "quire/runtime.h"

namespace quire {

// An adapter by its name, and a factor of its own scale; 0 is its absence.
struct AdapterUse {
  std::string name;
  double scale = 1.0;
};

namespace detail {

[[gnu::noinline]] inline Result<void> use_adapters(std::int32_t context,
                                                   const std::vector<AdapterUse>& adapters) {
  std::string names;
  std::vector<double> scales;
  for (const AdapterUse& each : adapters) {
    names += (names.empty() ? "" : "\n") + each.name;
    scales.push_back(each.scale);
  }
  return checked_empty(abi::adapter::use_adapters(context, bytes_of(names), count_of(names.size()),
                                                  scales.data(), count_of(scales.size())));
}

}  // namespace detail
}  // namespace quire
