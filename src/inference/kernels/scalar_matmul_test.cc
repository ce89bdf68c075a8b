// The scalar table's matrices: exact decoding, one order of columns, whatever shape a call has.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/half.h"
#include "inference/kernels/scalar/decode.h"
#include "inference/kernels/scalar/exponential.h"
#include "inference/kernels/scalar/scalar.h"

namespace quire::inference::scalar_matmul_test {
namespace {

constexpr NumberFormat kFormats[] = {NumberFormat::F32,  NumberFormat::F16,  NumberFormat::BF16,
                                     NumberFormat::Q8_0, NumberFormat::Q4_0, NumberFormat::Q4_1,
                                     NumberFormat::Q5_0, NumberFormat::Q5_1, NumberFormat::Q4_K,
                                     NumberFormat::Q5_K, NumberFormat::Q6_K};

// Random rows in the file's layout. Halves that are scales are kept finite and small.
std::vector<std::byte> random_rows(NumberFormat format, std::uint32_t rows, std::uint32_t columns,
                                   std::mt19937& random) {
  const FormatShape shape = format_shape(format);
  std::vector<std::byte> bytes(std::size_t{rows} * columns / shape.block_values *
                               shape.block_bytes);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  const auto put_half = [&](std::size_t at) {
    const auto half = f16_from_float(static_cast<float>(random() % 1000) * 1e-4f - 0.05f);
    std::memcpy(&bytes[at], &half, sizeof(half));
  };
  for (std::size_t at = 0; at < bytes.size(); at += shape.block_bytes) {
    if (format == NumberFormat::F32) {
      const float value = static_cast<float>(random() % 2000) * 1e-3f - 1.0f;
      std::memcpy(&bytes[at], &value, sizeof(value));
    } else if (format == NumberFormat::F16) {
      put_half(at);
    } else if (format == NumberFormat::BF16) {
      const auto half = bf16_from_float(static_cast<float>(random() % 1000) * 1e-4f - 0.05f);
      std::memcpy(&bytes[at], &half, sizeof(half));
    } else if (format == NumberFormat::Q6_K) {
      put_half(at + 208);
    } else {
      put_half(at);
      put_half(at + (format == NumberFormat::Q8_0 || format == NumberFormat::Q4_0 ||
                             format == NumberFormat::Q5_0
                         ? 0
                         : 2));
    }
  }
  return bytes;
}

class ScalarMatrices : public testing::TestWithParam<NumberFormat> {
 protected:
  static constexpr std::uint32_t kRows = 53;  // Three whole groups and a part.
  static constexpr std::uint32_t kColumns = 768;
  static constexpr std::uint32_t kTokens = 131;  // More than one block of tokens.

  ScalarMatrices()
      : source_(random_rows(GetParam(), kRows, kColumns, random_)),
        packed_(scalar::packed_bytes(GetParam(), kRows, kColumns) + kPackedSlackBytes),
        x_(std::size_t{kTokens} * kColumns),
        matrix_{GetParam(), kRows, kColumns, packed_.data()} {
    const std::size_t row_bytes = source_.size() / kRows;
    scalar::pack_rows(GetParam(), kColumns, 0, 32, source_.data(), packed_.data());
    scalar::pack_rows(GetParam(), kColumns, 32, kRows - 32, source_.data() + 32 * row_bytes,
                      packed_.data());
    for (float& value : x_) value = static_cast<float>(random_() % 2000) * 1e-3f - 1.0f;
  }

  std::vector<float> multiply(std::uint32_t token_first, std::uint32_t token_count,
                              std::uint32_t row_begin, std::uint32_t row_end) const {
    std::vector<float> out(std::size_t{token_count} * kRows, -7.0f);
    const auto* bytes = reinterpret_cast<const std::byte*>(&x_[token_first * kColumns]);
    scalar::matmul(matrix_, {bytes, kColumns * sizeof(float), token_count}, row_begin, row_end,
                   out.data(), kRows);
    return out;
  }

  std::mt19937 random_{5};
  std::vector<std::byte> source_;
  std::vector<std::byte> packed_;
  std::vector<float> x_;
  PackedMatrix matrix_;
};

TEST_P(ScalarMatrices, RowsComeBackAsTheFileHasThem) {
  std::vector<float> expected(kColumns), actual(kColumns);
  for (std::uint32_t row = 0; row < kRows; ++row) {
    decode_row(GetParam(), source_.data() + row * (source_.size() / kRows), kColumns,
               expected.data());
    scalar::unpack_row(matrix_, row, actual.data());
    ASSERT_EQ(actual, expected) << row;
  }
}

TEST_P(ScalarMatrices, ProductsAddTheirColumnsInOrder) {
  const std::vector<float> out = multiply(0, kTokens, 0, kRows);
  std::vector<float> weights(kColumns);
  for (std::uint32_t row = 0; row < kRows; ++row) {
    scalar::unpack_row(matrix_, row, weights.data());
    for (std::uint32_t token = 0; token < kTokens; ++token) {
      float sum = 0.0f;
      for (std::uint32_t i = 0; i < kColumns; ++i) sum += weights[i] * x_[token * kColumns + i];
      ASSERT_EQ(out[token * kRows + row], sum) << token << " " << row;
    }
  }
}

TEST_P(ScalarMatrices, SplitsOverRowsAndTokensChangeNoBit) {
  const std::vector<float> whole = multiply(0, kTokens, 0, kRows);
  for (const std::uint32_t token : {0u, 1u, 127u, 128u, 130u}) {
    for (const std::uint32_t row : {0u, 16u, 48u}) {
      const std::uint32_t row_end = std::min(row + 16, kRows);
      const std::vector<float> part = multiply(token, 1, row, row_end);
      for (std::uint32_t r = 0; r < kRows; ++r) {
        const bool is_wanted = r >= row && r < row_end;
        ASSERT_EQ(part[r], is_wanted ? whole[token * kRows + r] : -7.0f);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ScalarMatrices, testing::ValuesIn(kFormats),
                         [](const auto& format) {
                           return std::string(format_shape(format.param).name);
                         });

TEST(Exponential, IsWithinTwoUnitsInTheLastPlaceAndHoldsAtItsEnds) {
  for (float x = -87.0f; x <= 88.0f; x += 0.0137f) {
    const double expected = std::exp(static_cast<double>(x));
    ASSERT_NEAR(scalar::exponential(x) / expected, 1.0, 2.4e-7) << x;
  }
  EXPECT_EQ(scalar::exponential(0.0f), 1.0f);
  EXPECT_EQ(scalar::exponential(-INFINITY), 0.0f);
  EXPECT_EQ(scalar::exponential(-1000.0f), 0.0f);
  EXPECT_EQ(scalar::exponential(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(scalar::exponential(NAN)));
}

TEST(Dispatch, OffersScalarFirstAndNamesWhatItHas) {
  EXPECT_STREQ(supported_kernels().front()->name, "scalar");
  EXPECT_EQ(choose_kernels("auto").value(), supported_kernels().back());
  EXPECT_EQ(choose_kernels("scalar").value(), &kScalarKernels);
  const auto unknown = choose_kernels("mmx");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code(), ErrorCode::NotSupported);
  EXPECT_NE(unknown.error().message().find("auto, scalar"), std::string::npos);
}

}  // namespace
}  // namespace quire::inference::scalar_matmul_test
