#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "inference/kernels/scalar/decode.h"
#include "support/golden.h"

namespace quire::inference {
namespace {

constexpr NumberFormat kFormats[] = {NumberFormat::F16,  NumberFormat::BF16, NumberFormat::Q8_0,
                                     NumberFormat::Q4_0, NumberFormat::Q4_1, NumberFormat::Q5_0,
                                     NumberFormat::Q5_1, NumberFormat::Q4_K, NumberFormat::Q5_K,
                                     NumberFormat::Q6_K};

class DecodesAsTheReference : public testing::TestWithParam<NumberFormat> {};

// The reference marks numbers that are not finite as NaN; every other one must agree in all bits.
TEST_P(DecodesAsTheReference, InEveryBit) {
  const FormatShape shape = format_shape(GetParam());
  const std::string name = shape.name;
  const Result<test::NpzArrays> read = test::read_npz(test::golden_path("quant_blocks.npz"));
  ASSERT_TRUE(read.ok()) << read.error().message();
  const NpyArray& blocks = read.value().at(name + "_bytes");
  const auto expected = read.value().at(name + "_values").values<float>().value();
  ASSERT_EQ(blocks.bytes.size() / shape.block_bytes * shape.block_values, expected.size());
  std::vector<float> decoded(expected.size());
  decode_row(GetParam(), blocks.bytes.data(), decoded.size(), decoded.data());
  std::size_t finite_count = 0;
  for (std::size_t index = 0; index < expected.size(); ++index) {
    if (!std::isfinite(expected[index])) continue;
    ++finite_count;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(decoded[index]),
              std::bit_cast<std::uint32_t>(expected[index]))
        << name << " value " << index << ": " << decoded[index] << " for " << expected[index];
  }
  EXPECT_GT(finite_count, expected.size() / 2);
}

INSTANTIATE_TEST_SUITE_P(Formats, DecodesAsTheReference, testing::ValuesIn(kFormats),
                         [](const auto& format) {
                           return std::string(format_shape(format.param).name);
                         });

TEST(Decode, CopiesF32AndTouchesNothingBeyondTheCount) {
  const float numbers[] = {1.5f, -0.0f, 3e38f};
  float out[4] = {9, 9, 9, 9};
  decode_row(NumberFormat::F32, reinterpret_cast<const std::byte*>(numbers), 3, out);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(out[1]), 0x80000000u);
  EXPECT_EQ(out[2], 3e38f);
  EXPECT_EQ(out[3], 9.0f);
}

}  // namespace
}  // namespace quire::inference
