// The products with adapters' matrices: bits that are equal in all tables and do not depend on
// which rows share a call, and values near those of double arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/half.h"
#include "inference/kernels/scalar/scalar.h"
#include "inference/kernels/vector_test_tables.h"

namespace quire::inference {
namespace {

struct LowRank {
  NumberFormat format{};
  std::uint32_t rank = 0;
  std::uint32_t column_count = 0;
  std::uint32_t output_count = 0;
  std::uint32_t row_count = 0;
  std::vector<std::byte> a{}, b{};  // As AdapterMatrix has them.
  std::vector<float> a_values{}, b_values{};
  std::vector<float> x{}, y{};  // [row][column_count], [row][output_count]
  std::vector<float> scales{};

  std::uint32_t a_stride() const { return (column_count + 15) / 16 * 16; }
};

void put_number(NumberFormat format, std::vector<std::byte>& bytes, std::size_t index,
                float& value) {
  if (format == NumberFormat::F32) {
    std::memcpy(bytes.data() + index * 4, &value, 4);
    return;
  }
  const bool is_f16 = format == NumberFormat::F16;
  const std::uint16_t bits = is_f16 ? f16_from_float(value) : bf16_from_float(value);
  value = is_f16 ? float_from_f16(bits) : float_from_bf16(bits);
  std::memcpy(bytes.data() + index * 2, &bits, 2);
}

LowRank random_low_rank(std::mt19937& random, NumberFormat format, std::uint32_t rank,
                        std::uint32_t column_count, std::uint32_t output_count,
                        std::uint32_t row_count) {
  std::normal_distribution<float> normal;
  LowRank made{.format = format,
               .rank = rank,
               .column_count = column_count,
               .output_count = output_count,
               .row_count = row_count};
  const std::size_t step = format_shape(format).block_bytes;
  const std::size_t groups = (output_count + 15) / 16;
  made.a.resize(std::size_t{rank} * made.a_stride() * step);
  made.b.resize(groups * rank * 16 * step);
  for (std::uint32_t r = 0; r < rank; ++r) {
    for (std::uint32_t i = 0; i < column_count; ++i) {
      made.a_values.push_back(normal(random));
      put_number(format, made.a, r * made.a_stride() + i, made.a_values.back());
    }
  }
  for (std::uint32_t o = 0; o < output_count; ++o) {
    for (std::uint32_t r = 0; r < rank; ++r) {
      made.b_values.push_back(normal(random));
      put_number(format, made.b, (o / 16 * rank + r) * 16 + o % 16, made.b_values.back());
    }
  }
  for (std::size_t i = 0; i < std::size_t{row_count} * column_count; ++i) {
    made.x.push_back(normal(random));
  }
  for (std::size_t i = 0; i < std::size_t{row_count} * output_count; ++i) {
    made.y.push_back(normal(random));
  }
  for (std::uint32_t k = 0; k < row_count; ++k) made.scales.push_back(normal(random));
  return made;
}

// All rows in calls of `rows_together`, ranks and outputs in pieces: y after the adapter.
std::vector<float> adapted(const KernelTable& table, const LowRank& of, std::uint32_t rows_together,
                           std::uint32_t rank_piece, std::uint32_t output_piece) {
  constexpr std::uint32_t kFirst = 7;  // The number of the first row.
  std::vector<float> t(std::size_t{of.row_count} * of.rank), y = of.y;
  std::vector<std::uint32_t> rows(of.row_count);
  for (std::uint32_t k = 0; k < of.row_count; ++k) rows[k] = kFirst + k;
  for (std::uint32_t first = 0; first < of.row_count; first += rows_together) {
    const std::uint32_t count = std::min(rows_together, of.row_count - first);
    for (std::uint32_t rank = 0; rank < of.rank; rank += rank_piece) {
      table.matmul.adapter_shrink(of.format, {.a = of.a.data(),
                                              .a_stride = of.a_stride(),
                                              .column_count = of.column_count,
                                              .rank_begin = rank,
                                              .rank_end = std::min(of.rank, rank + rank_piece),
                                              .scale = 0.75f,
                                              .x = of.x.data(),
                                              .x_stride = of.column_count,
                                              .rows = rows.data() + first,
                                              .scales = of.scales.data() + first,
                                              .row_count = count,
                                              .row_first = kFirst,
                                              .out = t.data() + first * of.rank,
                                              .out_stride = of.rank});
    }
    for (std::uint32_t output = 0; output < of.output_count; output += output_piece) {
      table.matmul.adapter_expand(of.format,
                                  {.b = of.b.data(),
                                   .rank = of.rank,
                                   .output_begin = output,
                                   .output_end = std::min(of.output_count, output + output_piece),
                                   .t = t.data() + first * of.rank,
                                   .t_stride = of.rank,
                                   .rows = rows.data() + first,
                                   .row_count = count,
                                   .row_first = kFirst,
                                   .y = y.data(),
                                   .y_stride = of.output_count});
    }
  }
  return y;
}

constexpr NumberFormat kAdapterFormats[] = {NumberFormat::F32, NumberFormat::F16,
                                            NumberFormat::BF16};

TEST(AdapterKernels, AddScaledProductsOfBothMatrices) {
  std::mt19937 random(1);
  for (const NumberFormat format : kAdapterFormats) {
    const LowRank of = random_low_rank(random, format, 5, 44, 37, 3);
    const std::vector<float> y = adapted(kScalarKernels, of, 3, 5, 48);
    for (std::uint32_t k = 0; k < of.row_count; ++k) {
      for (std::uint32_t o = 0; o < of.output_count; ++o) {
        double sum = of.y[k * of.output_count + o];
        for (std::uint32_t r = 0; r < of.rank; ++r) {
          double t = 0.0;
          for (std::uint32_t i = 0; i < of.column_count; ++i) {
            t += double{of.a_values[r * of.column_count + i]} * of.x[k * of.column_count + i];
          }
          sum += t * of.scales[k] * 0.75 * of.b_values[o * of.rank + r];
        }
        EXPECT_NEAR(y[k * of.output_count + o], sum, 1e-4);
      }
    }
  }
}

class AdapterKernelsOf : public testing::TestWithParam<const KernelTable*> {};

TEST_P(AdapterKernelsOf, GiveTheBitsOfScalarHoweverRowsRanksAndOutputsAreCut) {
  std::mt19937 random(2);
  for (const NumberFormat format : kAdapterFormats) {
    for (const std::uint32_t rank : {1u, 3u, 8u, 16u, 65u}) {
      for (const std::uint32_t width : {16u, 40u, 576u}) {
        const LowRank of = random_low_rank(random, format, rank, width, width + 5, 11);
        const std::vector<float> expected = adapted(kScalarKernels, of, 11, rank, 4096);
        EXPECT_EQ(adapted(*GetParam(), of, 11, rank, 4096), expected) << rank << " " << width;
        EXPECT_EQ(adapted(*GetParam(), of, 1, 4, 16), expected) << rank << " " << width;
        EXPECT_EQ(adapted(*GetParam(), of, 4, 7, 48), expected) << rank << " " << width;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, AdapterKernelsOf, testing::ValuesIn(vector_tables_to_test()),
                         table_name);

}  // namespace
}  // namespace quire::inference
