// The operations of layers with a state: bits that are equal in all tables, however rows are cut
// over calls, and values near those of double arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "inference/kernels/scalar/scalar.h"
#include "inference/kernels/vector_test_tables.h"

namespace quire::inference {
namespace recurrent_kernels_test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> normals(std::mt19937& random, std::size_t count, float scale = 1.0f) {
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> values(count);
  for (float& each : values) each = normal(random);
  return values;
}

// Bits, with one pattern for all that is not a number.
std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float each : values) {
    bits.push_back(std::isnan(each) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(each));
  }
  return bits;
}

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

// ---- what is around the delta rule ----

struct Around {
  std::uint32_t count = 0;
  std::vector<float> rows[3]{}, weights{};
  std::vector<float> x{}, gate{}, norm{};
  std::vector<float> decay{}, beta{}, bias{}, scale{};
};

Around random_around(std::mt19937& random, std::uint32_t count) {
  Around of{.count = count};
  for (auto& row : of.rows) row = normals(random, count);
  of.weights = normals(random, std::size_t{4} * count);
  of.x = normals(random, count);
  of.gate = normals(random, count, 8.0f);
  of.norm = normals(random, count);
  of.decay = normals(random, count, 16.0f);
  of.beta = normals(random, count, 16.0f);
  of.bias = normals(random, count);
  for (const float each : normals(random, count, 4.0f)) of.scale.push_back(-std::exp(each));
  return of;
}

struct AroundResults {
  std::vector<float> convolved, l2, normed, gated, decay, beta;
  std::vector<std::vector<std::uint32_t>> bits() const {
    return {bits_of(convolved), bits_of(l2),    bits_of(normed),
            bits_of(gated),     bits_of(decay), bits_of(beta)};
  }
};

// The convolution is cut into blocks of `piece` channels.
AroundResults results_of(const KernelTable& table, const Around& of, std::uint32_t piece) {
  AroundResults results{std::vector<float>(of.count), of.x, of.x, of.x, of.decay, of.beta};
  const float* rows[] = {nullptr, of.rows[0].data(), of.rows[1].data(), of.rows[2].data()};
  for (std::uint32_t first = 0; first < of.count; first += piece) {
    table.recurrent.convolve({.rows = rows,
                              .width = 4,
                              .weights = of.weights.data(),
                              .weight_stride = of.count,
                              .channel_first = first,
                              .channel_count = std::min(piece, of.count - first),
                              .out = results.convolved.data() + first});
  }
  table.recurrent.l2_norm(1e-6f, 0.25f, of.count, results.l2.data());
  table.recurrent.gated_norm(of.norm.data(), of.gate.data(), 1e-6f, of.count,
                             results.normed.data());
  table.recurrent.sigmoid_multiply(of.gate.data(), of.count, results.gated.data());
  table.recurrent.decays({.bias = of.bias.data(),
                          .scale = of.scale.data(),
                          .head_count = of.count,
                          .decay = results.decay.data(),
                          .beta = results.beta.data()});
  return results;
}

TEST(RecurrentKernels, AreNearDoubleArithmetic) {
  std::mt19937 random(1);
  for (const std::uint32_t count : {16u, 37u, 256u}) {
    const Around of = random_around(random, count);
    const AroundResults results = results_of(kScalarKernels, of, count);
    double squares = 0.0;
    for (const float x : of.x) squares += double{x} * x;
    for (std::uint32_t i = 0; i < count; ++i) {
      double sum = 0.0, magnitude = 0.0;
      for (std::uint32_t j = 0; j < 3; ++j) {
        const double product = double{of.weights[(j + 1) * count + i]} * of.rows[j][i];
        sum += product;
        magnitude += std::abs(product);
      }
      EXPECT_NEAR(results.convolved[i], sum * sigmoid(sum), 1e-6 * magnitude);
      const double x = of.x[i], gate = of.gate[i];
      EXPECT_NEAR(results.l2[i], 0.25 * x / std::sqrt(squares + 1e-6), 1e-6);
      const double normed = x / std::sqrt(squares / count + 1e-6) * of.norm[i];
      EXPECT_NEAR(results.normed[i], normed * gate * sigmoid(gate), 2e-6 * std::abs(normed * gate));
      EXPECT_NEAR(results.gated[i], x * sigmoid(gate), 1e-6 * std::abs(x));
      const double softplus = std::log1p(std::exp(double{of.decay[i]} + of.bias[i]));
      const double log = of.scale[i] * softplus;
      EXPECT_NEAR(results.decay[i], std::exp(log),
                  1e-6 * (1.0 + std::abs(log)) * std::exp(log) + 1e-37);
      EXPECT_NEAR(results.beta[i], sigmoid(of.beta[i]), 1e-6);
    }
  }
}

TEST(RecurrentKernels, DecayKeepsItsPrecisionFromOneEndToTheOther) {
  // softplus alone: exp(-softplus(x)) is sigmoid(-x).
  for (float x = -80.0f; x < 80.0f; x += 0.37f) {
    float decay = x, beta = 0.0f;
    const float bias = 0.0f, scale = -1.0f;
    kScalarKernels.recurrent.decays({&bias, &scale, 1, &decay, &beta});
    EXPECT_NEAR(decay, sigmoid(-double{x}), 3e-7 * (1.0 + std::max(x, 0.0f)) * sigmoid(-double{x}));
    // A tiny logarithm: of softplus, only a small one shows.
    float slow = x;
    const float large = -1024.0f;
    kScalarKernels.recurrent.decays({&bias, &large, 1, &slow, &beta});
    const double log = -1024.0 * std::log1p(std::exp(double{x}));
    if (log < -80.0) continue;
    EXPECT_NEAR(slow, std::exp(log), 1e-6 * (1.0 - log) * std::exp(log)) << x;
  }
}

class RecurrentKernelsOf : public testing::TestWithParam<const KernelTable*> {};

TEST_P(RecurrentKernelsOf, GiveTheBitsOfScalarAlsoForNumbersThatAreNone) {
  std::mt19937 random(2);
  for (const std::uint32_t count : {1u, 15u, 16u, 37u, 64u, 128u, 256u}) {
    Around of = random_around(random, count);
    EXPECT_EQ(results_of(*GetParam(), of, 48).bits(), results_of(kScalarKernels, of, 256).bits());
    of.gate[0] = kNan;
    of.gate[count / 2] = -kInfinity;
    of.decay[0] = kInfinity;
    of.decay[count / 2] = kNan;
    of.beta[0] = -kInfinity;
    of.beta[count - 1] = kNan;
    of.rows[1][0] = kNan;
    of.rows[2][count - 1] = kInfinity;
    EXPECT_EQ(results_of(*GetParam(), of, 48).bits(), results_of(kScalarKernels, of, 256).bits());
  }
}

// ---- the delta rule ----

struct Delta {
  std::uint32_t key_dim = 0, column_count = 0, row_count = 0;
  std::vector<float> query{}, key{}, value{};  // [row][kStride]
  std::vector<float> decay{}, beta{};          // [row]
  std::vector<float> state{};                  // [key_dim][kDeltaColumns], the second of two tiles.
};
constexpr std::size_t kStride = 272;

std::size_t tile_floats(const Delta& of) {
  return std::size_t{of.key_dim} * kDeltaColumns;
}

Delta random_delta(std::mt19937& random, std::uint32_t key_dim, std::uint32_t column_count,
                   std::uint32_t row_count) {
  Delta of{.key_dim = key_dim, .column_count = column_count, .row_count = row_count};
  const float length = 1.0f / std::sqrt(static_cast<float>(key_dim));
  of.query = normals(random, row_count * kStride, length);
  of.key = normals(random, row_count * kStride, length);
  of.value = normals(random, row_count * kStride);
  std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
  for (std::uint32_t i = 0; i < row_count; ++i) {
    of.decay.push_back(uniform(random));
    of.beta.push_back(uniform(random));
  }
  of.state = normals(random, 2 * tile_floats(of));
  for (std::size_t i = 0; i < of.state.size(); ++i) {
    if (i % kDeltaColumns >= column_count) of.state[i] = 0.0f;
  }
  return of;
}

struct DeltaResult {
  std::vector<float> out{};                  // [row][kDeltaColumns]
  std::vector<std::vector<float>> states{};  // The tile after each row.
  friend bool operator==(const DeltaResult&, const DeltaResult&) = default;
};

// Rows in calls of `rows_together`, each of which begins from what the last left and stores the
// state after each of its rows. A call of one row changes the state in place if `in_place`.
DeltaResult run_delta(const KernelTable& table, const Delta& of, std::uint32_t rows_together,
                      bool in_place, bool from_nothing = false) {
  DeltaResult result;
  result.out.resize(std::size_t{of.row_count} * kDeltaColumns);
  std::vector<std::vector<float>> states(rows_together, of.state);
  std::vector<float> begin = of.state;
  const std::size_t offset = tile_floats(of) * sizeof(float);
  for (std::uint32_t first = 0; first < of.row_count; first += rows_together) {
    const std::uint32_t count = std::min(rows_together, of.row_count - first);
    std::vector<StateTarget> targets;
    for (std::uint32_t i = 0; i < count; ++i) {
      float* to = in_place && count == 1 ? begin.data() : states[i].data();
      targets.push_back({i + 1, reinterpret_cast<std::byte*>(to)});
    }
    const bool is_null = first == 0 && from_nothing;
    table.recurrent.delta_rule(
        {.from = is_null ? nullptr : reinterpret_cast<const std::byte*>(begin.data()),
         .targets = targets.data(),
         .target_count = count,
         .tile_offset = offset,
         .key_dim = of.key_dim,
         .column_count = of.column_count,
         .row_count = count,
         .query = of.query.data() + first * kStride,
         .key = of.key.data() + first * kStride,
         .key_stride = kStride,
         .value = of.value.data() + first * kStride,
         .value_stride = kStride,
         .decay = of.decay.data() + first,
         .beta = of.beta.data() + first,
         .gate_stride = 1,
         .out = result.out.data() + std::size_t{first} * kDeltaColumns,
         .out_stride = kDeltaColumns});
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto* tile = reinterpret_cast<const float*>(targets[i].to + offset);
      result.states.emplace_back(tile, tile + tile_floats(of));
    }
    if (!(in_place && count == 1)) begin = states[count - 1];
  }
  return result;
}

TEST(DeltaRule, IsNearDoubleArithmetic) {
  std::mt19937 random(3);
  const Delta of = random_delta(random, 128, 16, 40);
  const DeltaResult result = run_delta(kScalarKernels, of, 40, false);
  for (std::uint32_t c = 0; c < of.column_count; ++c) {
    std::vector<double> state(of.key_dim);
    for (std::uint32_t i = 0; i < of.key_dim; ++i) {
      state[i] = of.state[tile_floats(of) + i * kDeltaColumns + c];
    }
    for (std::uint32_t row = 0; row < of.row_count; ++row) {
      const float* key = &of.key[row * kStride];
      const float* query = &of.query[row * kStride];
      double of_key = 0.0, output = 0.0;
      for (std::uint32_t i = 0; i < of.key_dim; ++i) {
        state[i] *= of.decay[row];
        of_key += state[i] * key[i];
      }
      const double delta = (of.value[row * kStride + c] - of_key) * of.beta[row];
      for (std::uint32_t i = 0; i < of.key_dim; ++i) {
        state[i] += key[i] * delta;
        output += state[i] * query[i];
      }
      EXPECT_NEAR(result.out[row * kDeltaColumns + c], output, 2e-6);
      EXPECT_NEAR(result.states[row][c], state[0], 2e-6);
    }
  }
}

TEST(DeltaRule, NoStateIsAStateOfZeros) {
  std::mt19937 random(4);
  Delta of = random_delta(random, 48, 16, 3);
  const DeltaResult from_nothing = run_delta(kScalarKernels, of, 3, false, true);
  std::ranges::fill(of.state, 0.0f);
  EXPECT_EQ(run_delta(kScalarKernels, of, 3, false), from_nothing);
}

TEST_P(RecurrentKernelsOf, ChangeStatesWithTheBitsOfScalarHoweverRowsAreCut) {
  std::mt19937 random(5);
  for (const std::uint32_t key_dim : {16u, 33u, 64u, 128u, 250u, 256u}) {
    for (const std::uint32_t column_count : {16u, 5u}) {
      const Delta of = random_delta(random, key_dim, column_count, 11);
      const DeltaResult expected = run_delta(kScalarKernels, of, 11, false);
      const KernelTable& table = *GetParam();
      EXPECT_EQ(run_delta(table, of, 11, false), expected) << key_dim << " " << column_count;
      EXPECT_EQ(run_delta(table, of, 4, false), expected) << key_dim << " " << column_count;
      EXPECT_EQ(run_delta(table, of, 1, true), expected) << key_dim << " " << column_count;
      EXPECT_EQ(run_delta(table, of, 1, false), expected) << key_dim << " " << column_count;
      EXPECT_EQ(run_delta(table, of, 5, false, true),
                run_delta(kScalarKernels, of, 1, false, true));
    }
  }
}

TEST_P(RecurrentKernelsOf, StateOfAValueThatIsNoNumberStaysInItsColumn) {
  std::mt19937 random(6);
  Delta of = random_delta(random, 64, 16, 5);
  const DeltaResult before = run_delta(*GetParam(), of, 5, false);
  of.value[2 * kStride + 3] = kNan;
  of.value[3 * kStride + 9] = kInfinity;
  const DeltaResult after = run_delta(*GetParam(), of, 5, false);
  EXPECT_EQ(bits_of(after.out), bits_of(run_delta(kScalarKernels, of, 2, false).out));
  for (std::uint32_t row = 0; row < 5; ++row) {
    for (std::uint32_t c = 0; c < kDeltaColumns; ++c) {
      const bool is_hurt = (c == 3 && row >= 2) || (c == 9 && row >= 3);
      const std::uint32_t at = row * kDeltaColumns + c;
      if (is_hurt) {
        EXPECT_FALSE(std::isfinite(after.out[at])) << row << " " << c;
      } else {
        EXPECT_EQ(after.out[at], before.out[at]) << row << " " << c;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, RecurrentKernelsOf, testing::ValuesIn(vector_tables_to_test()),
                         table_name);

}  // namespace
}  // namespace recurrent_kernels_test
}  // namespace quire::inference
