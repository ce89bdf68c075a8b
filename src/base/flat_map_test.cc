#include "base/flat_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace quire {
namespace {

TEST(FlatMap, AgreesWithAMap) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  FlatMap<int> flat;
  std::map<std::uint32_t, int> model;
  for (int step = 0; step < 50'000; ++step) {
    const std::uint32_t key = 1 + static_cast<std::uint32_t>(random() % 300);
    if (random() % 2 == 0) {
      flat[key] = step;
      model[key] = step;
    } else {
      ASSERT_EQ(flat.erase(key), model.erase(key) == 1);
    }
    const std::uint32_t probe = static_cast<std::uint32_t>(random() % 301);
    const int* found = flat.find(probe);
    ASSERT_EQ(found != nullptr, model.contains(probe));
    if (found != nullptr) {
      ASSERT_EQ(*found, model[probe]);
    }
    ASSERT_EQ(flat.count(), model.size());
  }
}

}  // namespace
}  // namespace quire
