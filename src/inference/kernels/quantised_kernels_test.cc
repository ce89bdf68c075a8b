// The vector tables against their definitions: 8-bit operations bit for bit against
// scalar/quantised.h, packing against scalar/decode.h, floats against double arithmetic.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/half.h"
#include "inference/kernels/scalar/decode.h"
#include "inference/kernels/scalar/quantised.h"
#include "inference/kernels/vector_test_tables.h"

namespace quire::inference {
namespace {

constexpr NumberFormat kQuantised[] = {NumberFormat::Q8_0, NumberFormat::Q4_0, NumberFormat::Q4_1,
                                       NumberFormat::Q5_0, NumberFormat::Q5_1, NumberFormat::Q4_K,
                                       NumberFormat::Q5_K, NumberFormat::Q6_K};
constexpr NumberFormat kFloats[] = {NumberFormat::F32, NumberFormat::F16, NumberFormat::BF16};

template <typename T>
class Aligned {  // 64-byte aligned memory, with readable slack as KernelTable asks.
 public:
  explicit Aligned(std::size_t count)
      : bytes_(count * sizeof(T) + 64 + kPackedSlackBytes), count_(count) {}
  T* data() {
    auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    return reinterpret_cast<T*>((address + 63) / 64 * 64);
  }
  std::size_t size() const { return count_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t count_;
};

std::size_t row_bytes(NumberFormat format, std::uint32_t column_count) {
  return std::size_t{column_count} / format_shape(format).block_values *
         format_shape(format).block_bytes;
}

void put_half(std::byte* to, float value) {
  const std::uint16_t half = f16_from_float(value);
  std::memcpy(to, &half, sizeof(half));
}

// Random codes; scales as models have them.
std::vector<std::byte> random_rows(NumberFormat format, std::uint32_t row_count,
                                   std::uint32_t column_count, std::mt19937& random) {
  std::vector<std::byte> rows(row_count * row_bytes(format, column_count));
  for (std::byte& byte : rows) byte = static_cast<std::byte>(random());
  std::uniform_real_distribution<float> scale(0.001f, 0.01f);
  std::normal_distribution<float> normal;
  const std::size_t block_bytes = format_shape(format).block_bytes;
  for (std::size_t at = 0; at < rows.size(); at += block_bytes) {
    std::byte* block = rows.data() + at;
    const float number = normal(random);
    switch (format) {
      case NumberFormat::F32:
        std::memcpy(block, &number, sizeof(number));
        break;
      case NumberFormat::F16:
        put_half(block, number);
        break;
      case NumberFormat::BF16: {
        const std::uint16_t bits = bf16_from_float(number);
        std::memcpy(block, &bits, sizeof(bits));
        break;
      }
      case NumberFormat::Q6_K:
        put_half(block + 208, scale(random) / 32);
        break;
      case NumberFormat::Q4_K:
      case NumberFormat::Q5_K:
        put_half(block, scale(random) / 16);
        put_half(block + 2, scale(random) / 4);
        break;
      case NumberFormat::Q4_1:
      case NumberFormat::Q5_1:
        put_half(block + 2, -8 * scale(random));
        [[fallthrough]];
      default:
        put_half(block, scale(random));
    }
  }
  return rows;
}

struct Matrix {
  Matrix(const KernelTable& table, NumberFormat format, std::uint32_t rows, std::uint32_t columns,
         std::mt19937& random)
      : source(random_rows(format, rows, columns, random)),
        memory(table.matmul.packed_bytes(format, rows, columns)),
        packed{format, rows, columns, memory.data()} {
    // In two calls, so that offsets of later groups are exercised.
    const std::uint32_t first = rows / 2 / kRowGroup * kRowGroup;
    const std::size_t skipped = first * row_bytes(format, columns);
    table.matmul.pack_rows(format, columns, 0, first, source.data(), memory.data());
    table.matmul.pack_rows(format, columns, first, rows - first, source.data() + skipped,
                           memory.data());
  }
  const std::byte* row(std::uint32_t index) const {
    return source.data() + index * row_bytes(packed.format, packed.column_count);
  }
  std::vector<std::byte> source;
  Aligned<std::byte> memory;
  PackedMatrix packed;
};

std::vector<float> random_floats(std::size_t count, std::mt19937& random, float size = 1.0f) {
  std::normal_distribution<float> normal(0.1f * size, size);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

struct Activations {
  Activations(const KernelTable& table, NumberFormat format, std::uint32_t columns,
              const std::vector<float>& x)
      : stride(table.matmul.activation_bytes(format, columns)),
        count(static_cast<std::uint32_t>(x.size() / columns)),
        memory(stride * count) {
    for (std::uint32_t token = 0; token < count; ++token) {
      table.matmul.prepare(format, columns, x.data() + std::size_t{token} * columns,
                           memory.data() + token * stride);
    }
  }
  PreparedActivations all() { return {memory.data(), stride, count}; }
  PreparedActivations from(std::uint32_t token, std::uint32_t token_count) {
    return {memory.data() + token * stride, stride, token_count};
  }
  std::size_t stride;
  std::uint32_t count;
  Aligned<std::byte> memory;
};

std::vector<float> multiply(const KernelTable& table, const Matrix& matrix,
                            const PreparedActivations& x) {
  std::vector<float> out(std::size_t{x.token_count} * matrix.packed.row_count, -7.0f);
  table.matmul.multiply(matrix.packed, x, 0, matrix.packed.row_count, out.data(),
                        matrix.packed.row_count);
  return out;
}

bool same_bits(const float* a, const float* b, std::size_t count) {
  return std::memcmp(a, b, count * sizeof(float)) == 0;
}

class VectorKernels : public testing::TestWithParam<const KernelTable*> {
 protected:
  const KernelTable& table() const { return *GetParam(); }
  std::mt19937 random_{7};
};
INSTANTIATE_TEST_SUITE_P(Tables, VectorKernels, testing::ValuesIn(vector_tables_to_test()),
                         table_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(VectorKernels);

TEST_P(VectorKernels, PreparedActivationsEqualTheDefinition) {
  constexpr std::uint32_t kColumns = 32 * 64;
  std::vector<float> x = random_floats(kColumns, random_);
  for (std::uint32_t block = 0; block < 64; ++block) {
    const float factor = std::ldexp(1.0f, static_cast<int>(random_() % 250) - 125);
    for (int i = 0; i < 32 && block % 2 == 0; ++i) x[block * 32 + i] *= factor;
  }
  std::fill(x.begin() + 32, x.begin() + 64, 0.0f);
  x[32 * 5 + 31] = std::numeric_limits<float>::quiet_NaN();
  x[32 * 7] = -std::numeric_limits<float>::infinity();
  for (int i = 0; i < 32; ++i) x[32 * 9 + i] = static_cast<float>(i - 16) + 0.5f;  // Ties.
  x[32 * 9] = 127.0f;
  for (int i = 0; i < 32; ++i) x[32 * 11 + i] = i % 2 ? 1e-31f : -1e-39f;
  std::vector<ActivationBlock> expected(64);
  quantise_activations(kColumns, x.data(), expected.data());
  for (NumberFormat format : kQuantised) {
    Activations actual(table(), format, kColumns, x);
    const auto* blocks = reinterpret_cast<const ActivationBlock*>(actual.memory.data());
    for (std::uint32_t block = 0; block < 64; ++block) {
      ASSERT_EQ(std::memcmp(&blocks[block], &expected[block], sizeof(ActivationBlock)), 0) << block;
    }
  }
}

TEST_P(VectorKernels, QuantisedProductsEqualTheDefinitionBitForBit) {
  for (NumberFormat format : kQuantised) {
    SCOPED_TRACE(format_shape(format).name);
    for (int round = 0; round < 12; ++round) {
      const std::uint32_t rows = 1 + random_() % 100;
      const std::uint32_t columns = format_shape(format).block_values * (1 + random_() % 9);
      const std::uint32_t tokens = 1 + random_() % 40;
      Matrix matrix(table(), format, rows, columns, random_);
      std::vector<float> x = random_floats(std::size_t{tokens} * columns, random_);
      if (round % 3 == 0) std::fill(x.begin(), x.begin() + 32, 1.0f);  // The largest bytes.
      Activations activations(table(), format, columns, x);
      const std::vector<float> out = multiply(table(), matrix, activations.all());
      std::vector<ActivationBlock> blocks(columns / 32);
      for (std::uint32_t token = 0; token < tokens; ++token) {
        quantise_activations(columns, x.data() + std::size_t{token} * columns, blocks.data());
        for (std::uint32_t row = 0; row < rows; ++row) {
          const float expected = quantised_dot(format, columns, matrix.row(row), blocks.data());
          ASSERT_TRUE(same_bits(&out[std::size_t{token} * rows + row], &expected, 1))
              << out[std::size_t{token} * rows + row] << " is not " << expected << " at row " << row
              << " of " << rows << ", token " << token << " of " << tokens;
        }
      }
    }
  }
}

// Every code and every activation at its end: what 16-bit sums between would saturate on.
TEST_P(VectorKernels, ExtremeCodesDoNotSaturate) {
  constexpr std::uint32_t kColumns = 512;
  for (NumberFormat format : kQuantised) {
    SCOPED_TRACE(format_shape(format).name);
    for (const std::byte fill :
         {std::byte{0x00}, std::byte{0xff}, std::byte{0x80}, std::byte{0x7f}}) {
      Matrix matrix(table(), format, 32, kColumns, random_);
      std::fill(matrix.source.begin(), matrix.source.end(), fill);
      const std::size_t block_bytes = format_shape(format).block_bytes;
      for (std::size_t at = 0; at < matrix.source.size(); at += block_bytes) {
        put_half(matrix.source.data() + at + (format == NumberFormat::Q6_K ? 208 : 0), 0.5f);
      }
      table().matmul.pack_rows(format, kColumns, 0, 32, matrix.source.data(), matrix.memory.data());
      std::vector<float> x(3 * kColumns, 1.0f);
      for (std::uint32_t i = 0; i < kColumns; ++i) {
        x[kColumns + i] = -1.0f;
        x[2 * kColumns + i] = i % 2 ? 1.0f : -1.0f;
      }
      Activations activations(table(), format, kColumns, x);
      const std::vector<float> out = multiply(table(), matrix, activations.all());
      std::vector<ActivationBlock> blocks(kColumns / 32);
      for (std::uint32_t token = 0; token < 3; ++token) {
        quantise_activations(kColumns, x.data() + std::size_t{token} * kColumns, blocks.data());
        const float expected = quantised_dot(format, kColumns, matrix.row(31), blocks.data());
        ASSERT_TRUE(same_bits(&out[token * 32 + 31], &expected, 1)) << token;
      }
    }
  }
}

TEST_P(VectorKernels, BitsDependNeitherOnTheTokensBesideNorOnTheRowsOfACall) {
  std::vector<NumberFormat> formats(std::begin(kQuantised), std::end(kQuantised));
  formats.insert(formats.end(), std::begin(kFloats), std::end(kFloats));
  for (NumberFormat format : formats) {
    SCOPED_TRACE(format_shape(format).name);
    const std::uint32_t rows = 16 * 9 + 5, columns = 512, most = 40;
    Matrix matrix(table(), format, rows, columns, random_);
    Activations activations(table(), format, columns,
                            random_floats(std::size_t{most} * columns, random_));
    std::vector<float> alone;
    for (std::uint32_t token = 0; token < most; ++token) {
      const std::vector<float> out = multiply(table(), matrix, activations.from(token, 1));
      alone.insert(alone.end(), out.begin(), out.end());
    }
    for (std::uint32_t tokens = 1; tokens <= most; ++tokens) {
      const std::vector<float> out = multiply(table(), matrix, activations.from(0, tokens));
      ASSERT_TRUE(same_bits(out.data(), alone.data(), out.size())) << tokens;
    }
    for (std::uint32_t tokens : {1u, 2u, 5u, 17u}) {
      std::vector<float> out(std::size_t{tokens} * (rows + 3), -7.0f);
      for (std::uint32_t begin = 0; begin < rows;) {
        const std::uint32_t end = std::min(rows, begin + 16 * (1 + std::uint32_t(random_()) % 4));
        table().matmul.multiply(matrix.packed, activations.from(0, tokens), begin, end, out.data(),
                                rows + 3);
        begin = end;
      }
      for (std::uint32_t token = 0; token < tokens; ++token) {
        const float* got = out.data() + std::size_t{token} * (rows + 3);
        ASSERT_TRUE(same_bits(got, alone.data() + std::size_t{token} * rows, rows)) << tokens;
        ASSERT_EQ(got[rows], -7.0f) << "wrote beyond the last row";
      }
    }
  }
}

// Wide matrices and many tokens are cut into slices of columns and chunks of tokens.
TEST_P(VectorKernels, ManyTokensOfWideRowsGiveTheBitsOfOneTokenAtATime) {
  std::vector<NumberFormat> formats(std::begin(kQuantised), std::end(kQuantised));
  formats.insert(formats.end(), std::begin(kFloats), std::end(kFloats));
  for (NumberFormat format : formats) {
    SCOPED_TRACE(format_shape(format).name);
    const std::uint32_t rows = 16 * 2 + 3, columns = 2560, tokens = 128 + 128 + 39;
    Matrix matrix(table(), format, rows, columns, random_);
    Activations activations(table(), format, columns,
                            random_floats(std::size_t{tokens} * columns, random_));
    const std::vector<float> together = multiply(table(), matrix, activations.all());
    for (std::uint32_t token = 0; token < tokens; ++token) {
      const std::vector<float> alone = multiply(table(), matrix, activations.from(token, 1));
      ASSERT_TRUE(same_bits(alone.data(), &together[std::size_t{token} * rows], rows)) << token;
    }
    for (std::uint32_t fewer : {63u, 64u, 128u + 3u}) {  // The last three join the chunk before.
      const std::vector<float> out = multiply(table(), matrix, activations.from(0, fewer));
      ASSERT_TRUE(same_bits(out.data(), together.data(), out.size())) << fewer;
    }
  }
}

// Rounding each product and sum once costs at most column_count roundings of the running sum.
TEST_P(VectorKernels, FloatProductsAreWithinRoundingOfDoubleArithmetic) {
  for (NumberFormat format : kFloats) {
    SCOPED_TRACE(format_shape(format).name);
    for (std::uint32_t columns : {1u, 16u, 33u, 100u, 768u}) {
      const std::uint32_t rows = 1 + random_() % 60, tokens = 1 + random_() % 20;
      Matrix matrix(table(), format, rows, columns, random_);
      const std::vector<float> x = random_floats(std::size_t{tokens} * columns, random_);
      Activations activations(table(), format, columns, x);
      const std::vector<float> out = multiply(table(), matrix, activations.all());
      std::vector<float> row(columns);
      for (std::uint32_t r = 0; r < rows; ++r) {
        decode_row(format, matrix.row(r), columns, row.data());
        for (std::uint32_t token = 0; token < tokens; ++token) {
          double sum = 0.0, magnitude = 0.0;
          for (std::uint32_t c = 0; c < columns; ++c) {
            const double product = double{row[c]} * x[std::size_t{token} * columns + c];
            sum += product;
            magnitude += std::abs(product);
          }
          const double tolerance =
              magnitude * columns * std::numeric_limits<float>::epsilon() / 2 + 1e-30;
          ASSERT_NEAR(out[std::size_t{token} * rows + r], sum, tolerance);
        }
      }
    }
  }
}

// Against exact weights and activations: each activation is off by at most half a step of its
// block.
TEST_P(VectorKernels, QuantisedProductsAreWithinHalfAStepOfExactArithmetic) {
  for (NumberFormat format : kQuantised) {
    SCOPED_TRACE(format_shape(format).name);
    const std::uint32_t rows = 40, columns = 1024;
    Matrix matrix(table(), format, rows, columns, random_);
    const std::vector<float> x = random_floats(columns, random_);
    Activations activations(table(), format, columns, x);
    const std::vector<float> out = multiply(table(), matrix, activations.all());
    std::vector<float> row(columns);
    for (std::uint32_t r = 0; r < rows; ++r) {
      decode_row(format, matrix.row(r), columns, row.data());
      double sum = 0.0, tolerance = 0.0;
      for (std::uint32_t first = 0; first < columns; first += 32) {
        double largest = 0.0, weights = 0.0;
        for (std::uint32_t c = first; c < first + 32; ++c) {
          sum += double{row[c]} * x[c];
          largest = std::max(largest, std::abs(double{x[c]}));
          weights += std::abs(double{row[c]});
        }
        tolerance += weights * largest / 127 * 0.5;
      }
      ASSERT_NEAR(out[r], sum, tolerance * 1.01) << r;
    }
  }
}

TEST_P(VectorKernels, UnpackedRowsEqualTheFileExactly) {
  std::vector<NumberFormat> formats(std::begin(kQuantised), std::end(kQuantised));
  formats.insert(formats.end(), std::begin(kFloats), std::end(kFloats));
  for (NumberFormat format : formats) {
    SCOPED_TRACE(format_shape(format).name);
    const std::uint32_t rows = 37, columns = 768;
    Matrix matrix(table(), format, rows, columns, random_);
    std::vector<float> expected(columns), actual(columns);
    for (std::uint32_t r = 0; r < rows; ++r) {
      decode_row(format, matrix.row(r), columns, expected.data());
      table().matmul.unpack_row(matrix.packed, r, actual.data());
      ASSERT_TRUE(same_bits(actual.data(), expected.data(), columns)) << r;
    }
  }
}

TEST_P(VectorKernels, PackedWeightsTakeTheBytesOfTheFile) {
  for (NumberFormat format : kQuantised) {
    const std::size_t file = 512 * row_bytes(format, 2048);
    EXPECT_EQ(table().matmul.packed_bytes(format, 512, 2048), file) << format_shape(format).name;
  }
}

TEST_P(VectorKernels, NotANumberInOneBlockIsSeenInEveryRowOfItsTokenAndNoOther) {
  Matrix matrix(table(), NumberFormat::Q4_1, 32, 128, random_);
  std::vector<float> x = random_floats(3 * 128, random_);
  x[128 + 40] = std::numeric_limits<float>::infinity();
  Activations activations(table(), NumberFormat::Q4_1, 128, x);
  const std::vector<float> out = multiply(table(), matrix, activations.all());
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::isnan(out[i]), i / 32 == 1) << i;
}

}  // namespace
}  // namespace quire::inference
