#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <vector>

#include "inference/models/rope_angles.h"
#include "inference/models/worker_pool.h"

namespace quire::inference {
namespace {

TEST(SineCosine, EqualsLibmWithinAMillionthOfAFloat) {
  for (double x = 0.0; x < 2e6; x = x * 1.01 + 0.013) {
    const SineCosine pair = sine_cosine(x);
    ASSERT_NEAR(pair.sine, std::sin(x), 2e-15 + x * 1e-20) << x;
    ASSERT_NEAR(pair.cosine, std::cos(x), 2e-15 + x * 1e-20) << x;
  }
}

TEST(RopeAngles, TurnEachPairByItsFrequencyAndFactor) {
  const RopeAngles angles({.theta = 10000.0, .factors = {1.0f, 2.0f}}, 4);
  float cosine[2];
  float sine[2];
  angles.at(100, cosine, sine);
  EXPECT_FLOAT_EQ(cosine[0], static_cast<float>(std::cos(100.0)));
  EXPECT_FLOAT_EQ(sine[1], static_cast<float>(std::sin(100.0 * 0.01 / 2.0)));
}

TEST(WorkerPool, EveryTileOfEveryPhaseRunsOnceAndPhasesDoNotOverlap) {
  for (const std::uint32_t count : {1u, 2u, 5u}) {
    const std::unique_ptr<WorkerPool> pool = WorkerPool::create(count, 0).take();
    for (int job = 0; job < 50; ++job) {
      constexpr std::uint32_t kPhases = 20;
      constexpr std::uint32_t kTiles = 13;
      std::vector<std::atomic<int>> ran(kPhases * kTiles);
      std::atomic<int> last_ran{0};
      std::atomic<bool> overlapped{false};
      pool->run([&](Worker& worker) {
        for (std::uint32_t phase = 0; phase < kPhases; ++phase) {
          const auto tile = [&](std::uint32_t i) {
            ++ran[phase * kTiles + i];
            for (std::uint32_t t = 0; phase > 0 && t < kTiles; ++t) {
              if (ran[(phase - 1) * kTiles + t] != 1) overlapped = true;
            }
          };
          worker.phase_then(kTiles, tile, [&] { ++last_ran; });
        }
      });
      for (const auto& times : ran) ASSERT_EQ(times, 1);
      ASSERT_EQ(last_ran, static_cast<int>(kPhases));
      ASSERT_FALSE(overlapped);
    }
  }
}

}  // namespace
}  // namespace quire::inference
