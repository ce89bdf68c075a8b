#include "inference/devices/shared/weight_estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "inference/kernels/kernels.h"
#include "quire/sampling.h"

namespace quire::inference {
namespace {

class WeightEstimate : public testing::TestWithParam<const KernelTable*> {};
INSTANTIATE_TEST_SUITE_P(Tables, WeightEstimate, testing::ValuesIn(supported_kernels()),
                         [](const auto& each) { return std::string(each.param->name); });

TEST_P(WeightEstimate, EachWeightIsWithinTheErrorThatItStates) {
  sampling::Random random(5);
  for (const double temperature : {0.01, 0.02, 0.1, 0.3, 0.8, 1.0, 1.7, 10.0, 1e3, 1e6}) {
    for (int round = 0; round < 3000; ++round) {
      const auto sum = static_cast<float>(std::exp2(20.0 * random.uniform()));
      const auto largest = static_cast<float>(0.001 + 0.999 * random.uniform());
      const WeightEstimator estimator(largest / sum, sum, temperature,
                                      GetParam()->elementwise.sum_of_powers);
      double depth = 45.0 * temperature * random.uniform();
      if (round % 4 == 0) depth = 0.01 * random.uniform();
      if (round % 8 == 1) depth = 150.0 * random.uniform();  // Denormal probabilities too.
      const std::vector<float> numerator = {largest * static_cast<float>(std::exp2(-depth))};
      const double exact =
          sampling::weight(numerator[0] / sum, static_cast<double>(largest / sum), temperature);
      const double estimated = estimator.estimate(numerator);
      if (estimated == 0.0) {
        ASSERT_LT(exact, WeightEstimator::kUncountedMost) << temperature << " " << depth;
      } else {
        ASSERT_LT(std::abs(estimated - exact), estimator.error() * exact)
            << temperature << " " << depth;
      }
    }
  }
}

TEST_P(WeightEstimate, ASumIsThatOfItsParts) {
  sampling::Random random(6);
  const WeightEstimator estimator(0.25f, 4.0f, 0.8, GetParam()->elementwise.sum_of_powers);
  for (std::size_t count = 0; count < 70; ++count) {
    std::vector<float> numerators(count);
    double parts = 0;
    for (float& each : numerators) {
      each = static_cast<float>(std::exp2(-30.0 * random.uniform()));
      parts += estimator.estimate(std::vector<float>{each});
    }
    ASSERT_NEAR(estimator.estimate(numerators), parts, 1e-13 * parts) << count;
  }
}

}  // namespace
}  // namespace quire::inference
