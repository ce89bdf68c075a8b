#pragma once
// The logits of a model through a Backend in several ways, for tests that compare them with a
// reference and with each other.
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "inference/kernels/kernels.h"
#include "support/backend_driver.h"

namespace quire::test {

constexpr double kLogitTolerance = 1e-3;  // In F32, of a reference in F32.

using Logits = std::vector<std::vector<float>>;

// Nothing but sums in another order lies between these and a reference in F32.
inline inference::DeviceOptions exact_options() {
  inference::DeviceOptions options;
  options.name = "scalar";
  options.kv_format = inference::KvFormat::F32;
  options.page_count = 128;
  return options;
}

// The logits of each token, from batches of `chunk` tokens.
inline Logits in_chunks(Device& device, const std::vector<std::int32_t>& ids, std::uint32_t chunk) {
  Logits logits;
  const auto count = static_cast<std::uint32_t>(ids.size());
  for (std::uint32_t begin = 0; begin < count; begin += chunk) {
    const Span span{begin, std::min(count, begin + chunk)};
    inference::Batch batch;
    add_pass(batch, {.id = inference::SequenceId{1}}, ids, span, span);
    inference::Completion completion = device.run(std::move(batch));
    for (std::size_t i = 0; i < completion.distributions.size(); ++i) {
      logits.push_back(logits_of(completion, i));
    }
  }
  return logits;
}

// The last 16 tokens of two sequences in one batch, beside another one. They share the pages of the
// tokens before.
inline Logits as_forks(Device& device, const std::vector<std::int32_t>& ids) {
  const auto count = static_cast<std::uint32_t>(ids.size());
  const std::uint32_t shared = count - 16;
  const Sequence one{.id = inference::SequenceId{2}};
  const Sequence other{.id = inference::SequenceId{3}, .first_page = 60};
  inference::Batch prefix;
  add_pass(prefix, one, ids, {0, shared}, {0, 0});
  device.run(std::move(prefix));
  inference::Batch batch;
  add_pass(batch, other, ids, {0, 21}, {0, 0});
  add_pass(batch, one, ids, {shared, count}, {shared, count});
  const Sequence fork{.id = inference::SequenceId{4}};
  add_pass(batch, fork, ids, {shared, count}, {shared, count});
  auto& entries = batch.table_changes.back().entries;
  entries.back().page = inference::PageId{90};
  inference::Completion completion = device.run(std::move(batch));
  Logits logits;
  for (std::size_t i = 0; i < completion.distributions.size(); ++i) {
    logits.push_back(logits_of(completion, i));
  }
  return logits;
}

inline void expect_near(const Logits& logits, std::uint32_t row, std::span<const float> wanted) {
  ASSERT_EQ(logits.at(row).size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_NEAR(logits[row][i], wanted[i], kLogitTolerance) << "row " << row << ", token " << i;
  }
}

// With each set of kernels: whole, in chunks, on two threads and as forks beside another sequence.
inline void expect_same_bits(const inference::ModelFiles& files,
                             const std::vector<std::int32_t>& ids) {
  for (const char* kernels : {"scalar", "avx2", "avxvnni", "avx512"}) {
    if (!inference::choose_kernels(kernels).ok()) continue;  // This machine has not got them.
    for (const inference::KvFormat format : {inference::KvFormat::F16, inference::KvFormat::Q8}) {
      SCOPED_TRACE(kernels);
      inference::DeviceOptions options;
      options.name = kernels;
      options.kv_format = format;
      options.page_count = 128;
      const auto one = Device::open(files, options);
      options.threads = 2;
      const auto two = Device::open(files, options);
      ASSERT_TRUE(one != nullptr && two != nullptr);
      const auto all = static_cast<std::uint32_t>(ids.size());
      const Logits whole = in_chunks(*one, ids, all);
      EXPECT_EQ(in_chunks(*one, ids, 1), whole);
      EXPECT_EQ(in_chunks(*two, ids, 7), whole);
      Logits twice(whole.end() - 16, whole.end());
      twice.insert(twice.end(), whole.end() - 16, whole.end());
      EXPECT_EQ(as_forks(*two, ids), twice);
    }
  }
}

}  // namespace quire::test
