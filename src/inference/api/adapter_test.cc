#include "inference/api/adapter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "base/half.h"
#include "support/small_adapter.h"

namespace quire::inference {
namespace {

AdapterBase small_base() {
  return {.architecture = "llama",
          .embedding_width = 24,
          .vocabulary_size = 50,
          .layers = {2, {.query_width = 32, .kv_width = 16, .feed_forward_width = 40}}};
}

std::shared_ptr<const Adapter> made(std::vector<AdapterPart> parts) {
  return Adapter::create(small_base(), std::move(parts)).value();
}

void expect_refused(std::vector<AdapterPart> parts, ErrorCode code, const std::string& message) {
  const auto made = Adapter::create(small_base(), std::move(parts));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), code);
  EXPECT_EQ(made.error().message(), message);
}

AdapterPart small_part(std::uint32_t layer, Projection projection, std::uint32_t rank = 2) {
  return part_of(small_base(), layer, projection, rank, 0.5f);
}

std::vector<AdapterPart> parts_of(AdapterPart first) {
  std::vector<AdapterPart> parts;
  parts.push_back(std::move(first));
  return parts;
}

TEST(Adapter, PlacesBothMatricesWithZerosAsPadding) {
  AdapterPart part = small_part(1, Projection::Query);
  std::vector<float> a(2 * 24), b(32 * 2);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i) + 1.0f;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = -static_cast<float>(i) - 1.0f;
  part.a = bytes_of_floats(a);
  part.b = bytes_of_floats(b);
  const auto adapter = made(parts_of(part));
  ASSERT_EQ(adapter->find(0, Projection::Query), nullptr);
  ASSERT_EQ(adapter->find(2, Projection::Query), nullptr);
  const AdapterMatrix* matrix = adapter->find(1, Projection::Query);
  ASSERT_NE(matrix, nullptr);
  EXPECT_EQ(matrix->a_stride, 32u);
  const auto* placed_a = reinterpret_cast<const float*>(matrix->a);
  const auto* placed_b = reinterpret_cast<const float*>(matrix->b);
  for (std::uint32_t r = 0; r < 2; ++r) {
    for (std::uint32_t i = 0; i < 32; ++i) {
      EXPECT_EQ(placed_a[r * 32 + i], i < 24 ? a[r * 24 + i] : 0.0f);
      EXPECT_EQ(placed_b[(i / 16 * 2 + r) * 16 + i % 16], b[i * 2 + r]);
    }
  }
  EXPECT_EQ(adapter->rank_max(), 2u);
  EXPECT_EQ(adapter->parameter_count(), 2u * (24 + 32));
}

TEST(Adapter, KeepsARowForEachTokenOfTheEmbeddings) {
  AdapterPart part = small_part(0, Projection::Embedding, 3);
  std::vector<float> a(50 * 3);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i);
  part.a = bytes_of_floats(a);
  const AdapterMatrix* matrix = nullptr;
  const auto adapter = made(parts_of(part));
  ASSERT_NE(matrix = adapter->find(0, Projection::Embedding), nullptr);
  EXPECT_EQ(matrix->input_count, 50u);
  EXPECT_EQ(matrix->output_count, 24u);
  EXPECT_TRUE(std::equal(a.begin(), a.end(), reinterpret_cast<const float*>(matrix->a)));
  part.layer = 1;
  expect_refused(parts_of(part), ErrorCode::NotFound, "layer 1, embedding: the model has 1 layers");
}

TEST(Adapter, HasOneDigestForEqualNumbersInAnyFormatAndOrder) {
  AdapterPart halves = small_part(0, Projection::Up);
  halves.a_format = NumberFormat::F16;
  halves.a.resize(halves.a.size() / 2);
  const std::uint16_t half = f16_from_float(0.5f);
  for (std::size_t i = 0; i < halves.a.size(); i += 2) std::memcpy(&halves.a[i], &half, 2);
  std::vector<AdapterPart> one = parts_of(halves), other = parts_of(small_part(1, Projection::Key));
  one.push_back(small_part(1, Projection::Key));
  other.push_back(small_part(0, Projection::Up));
  EXPECT_EQ(made(std::move(one))->digest(), made(std::move(other))->digest());
}

TEST(Adapter, HasAnotherDigestForAnotherNumberScalePlaceOrRank) {
  const Digest digest = made(parts_of(small_part(0, Projection::Gate)))->digest();
  AdapterPart number = small_part(0, Projection::Gate);
  number.b[0] = std::byte{1};
  AdapterPart scale = small_part(0, Projection::Gate);
  scale.scale = 2.0f;
  EXPECT_NE(made(parts_of(number))->digest(), digest);
  EXPECT_NE(made(parts_of(scale))->digest(), digest);
  EXPECT_NE(made(parts_of(small_part(0, Projection::Up)))->digest(), digest);
  EXPECT_NE(made(parts_of(small_part(1, Projection::Gate)))->digest(), digest);
  EXPECT_NE(made(parts_of(small_part(0, Projection::Gate, 1)))->digest(), digest);
}

TEST(Adapter, RefusesWhatCannotBeComputedWith) {
  expect_refused({}, ErrorCode::InvalidArgument,
                 "the adapter has no matrix that changes this model");
  AdapterPart part = small_part(0, Projection::Key);
  part.layer = 2;
  expect_refused(parts_of(part), ErrorCode::NotFound, "layer 2, key: the model has 2 layers");
  expect_refused(parts_of(small_part(0, Projection::Key, 0)), ErrorCode::Corrupted,
                 "layer 0, key: the rank is 0");
  part = small_part(0, Projection::Key);
  part.rank = 1'000'000;
  expect_refused(parts_of(part), ErrorCode::TooLarge,
                 "layer 0, key: the rank is 1000000; at most 1024 is supported");
  part = small_part(0, Projection::Key);
  part.b.pop_back();
  expect_refused(parts_of(part), ErrorCode::Corrupted,
                 "layer 0, key: B has 127 bytes; its shape takes 128");
  part = small_part(0, Projection::Key);
  part.a_format = NumberFormat::Q4_K;
  expect_refused(parts_of(part), ErrorCode::NotSupported,
                 "layer 0, key: A is in Q4_K; F32, F16 and BF16 are supported");
  part = small_part(0, Projection::Key);
  part.scale = std::numeric_limits<float>::infinity();
  expect_refused(parts_of(part), ErrorCode::Corrupted, "layer 0, key: the scale is inf");
  std::vector<AdapterPart> twice = parts_of(small_part(0, Projection::Key));
  twice.push_back(small_part(0, Projection::Key));
  expect_refused(std::move(twice), ErrorCode::Corrupted,
                 "layer 0, key: the adapter has two matrices for it");
}

TEST(Adapter, RefusesNumbersThatAreNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    AdapterPart part = small_part(1, Projection::Down);
    std::memcpy(part.b.data() + 3 * sizeof(float), &bad, sizeof(bad));
    expect_refused(parts_of(part), ErrorCode::Corrupted,
                   "layer 1, down, B: number 3 of 48 is " + std::to_string(bad));
  }
}

}  // namespace
}  // namespace quire::inference
