#include "inference/devices/simulated/simulated_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "support/small_adapter.h"

namespace quire::inference {
namespace {

class Collector final : public CompletionSink {
 public:
  void complete(Completion completion) override { completions.push_back(std::move(completion)); }
  std::vector<Completion> completions;
};

// Drives one sequence whose pages are `first_page`, `first_page` + 1, ...
class Driver {
 public:
  explicit Driver(std::uint32_t page_size, std::uint32_t first_page = 0)
      : page_size_(page_size),
        first_page_(first_page),
        device({.model = simulated_model(), .page_size = page_size}, sink) {}

  // Computes tokens at slots and positions [begin, begin + count); logits after the last.
  std::vector<float> forward(const std::vector<std::uint32_t>& tokens, std::uint32_t begin,
                             std::uint32_t count) {
    Batch batch = table_for(begin + count);
    for (std::uint32_t i = begin; i < begin + count; ++i) {
      batch.rows.push_back({.token = TokenId{tokens[i]}, .position = i, .slot = i});
    }
    return logits_of(std::move(batch), begin + count);
  }

  Batch table_for(std::uint32_t slot_count) const {
    Batch batch;
    const std::uint32_t entry_count = (slot_count + page_size_ - 1) / page_size_;
    TableChange change{.sequence = SequenceId{7}, .entry_count = entry_count};
    for (std::uint32_t i = 0; i < entry_count; ++i) {
      const std::uint32_t used = std::min(page_size_, slot_count - i * page_size_);
      change.entries.push_back({.page = PageId{first_page_ + i},
                                .visible = static_cast<std::uint32_t>((1ull << used) - 1)});
    }
    batch.table_changes.push_back(change);
    return batch;
  }

  std::vector<float> logits_of(Batch batch, std::uint32_t visible_slot_end) {
    const auto row_count = static_cast<std::uint32_t>(batch.rows.size());
    batch.passes.push_back(
        {.sequence = SequenceId{7}, .row_count = row_count, .visible_slot_end = visible_slot_end});
    batch.distributions.push_back({.row = row_count - 1, .kind = DistributionKind::Logits});
    device.submit(std::move(batch));
    device.verify();
    return sink.completions.back().distributions[0].value().values;
  }

  std::uint32_t page_size_;
  std::uint32_t first_page_;
  Collector sink;
  SimulatedBackend device;
};

std::vector<std::uint32_t> some_tokens(std::uint32_t count) {
  std::mt19937 random(3);
  std::vector<std::uint32_t> tokens(count);
  for (std::uint32_t& token : tokens) token = static_cast<std::uint32_t>(random() % 512);
  return tokens;
}

TEST(SimulatedBackend, ChunksAndPageSizesDoNotChangeLogits) {
  const std::vector<std::uint32_t> tokens = some_tokens(75);
  Driver whole(16);
  const std::vector<float> expected = whole.forward(tokens, 0, 75);
  for (const std::uint32_t page_size : {1u, 2u, 8u, 32u}) {
    Driver chunked(page_size, 5);
    for (std::uint32_t begin = 0; begin < 70; begin += 7) chunked.forward(tokens, begin, 7);
    EXPECT_EQ(chunked.forward(tokens, 70, 5), expected);
  }
}

TEST(SimulatedBackend, OneOtherTokenAnywhereBeforeChangesLogits) {
  std::vector<std::uint32_t> tokens = some_tokens(40);
  Driver first(16);
  const std::vector<float> expected = first.forward(tokens, 0, 40);
  for (std::uint32_t i = 0; i < 40; ++i) {
    std::vector<std::uint32_t> other = tokens;
    other[i] ^= 1u;
    Driver second(16);
    EXPECT_NE(second.forward(other, 0, 40), expected) << i;
  }
}

TEST(SimulatedBackend, QueryOnlyRowGivesTheLogitsOfTheRowThatWrote) {
  const std::vector<std::uint32_t> tokens = some_tokens(32);
  Driver driver(16);
  const std::vector<float> expected = driver.forward(tokens, 0, 32);
  Batch batch;
  batch.rows.push_back({.token = TokenId{tokens[31]}, .position = 31});
  EXPECT_EQ(driver.logits_of(std::move(batch), 32), expected);
}

// Logits after 20 tokens, of which those from `switched` on have the set.
std::vector<float> logits_under(const AdapterSet& set, std::uint32_t switched) {
  const std::vector<std::uint32_t> tokens = some_tokens(20);
  Driver driver(16);
  Batch batch = driver.table_for(20);
  if (set != nullptr) batch.adapter_sets.push_back(set);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const bool is_adapted = set != nullptr && i >= switched;
    batch.rows.push_back({.token = TokenId{tokens[i]},
                          .position = i,
                          .slot = i,
                          .adapters = is_adapted ? 0 : kNoAdapters});
  }
  return driver.logits_of(std::move(batch), 20);
}

AdapterSet set_of(std::vector<AdapterUse> uses) {
  std::ranges::sort(uses, {}, [](const AdapterUse& use) { return use.adapter->digest(); });
  return std::make_shared<const std::vector<AdapterUse>>(std::move(uses));
}

TEST(SimulatedBackend, AdaptersScalesAndWhereTheyBeginChangeLogits) {
  const auto first = small_adapter(simulated_model(), 1),
             second = small_adapter(simulated_model(), 2);
  const std::vector<float> base = logits_under(nullptr, 0);
  const std::vector<float> adapted = logits_under(set_of({{first, 1.0f}}), 7);
  EXPECT_EQ(logits_under(set_of({{first, 1.0f}}), 20), base);
  EXPECT_EQ(logits_under(set_of({{small_adapter(simulated_model(), 1), 1.0f}}), 7), adapted);
  EXPECT_NE(adapted, base);
  EXPECT_NE(logits_under(set_of({{first, 1.0f}}), 8), adapted);
  EXPECT_NE(logits_under(set_of({{first, 0.5f}}), 7), adapted);
  EXPECT_NE(logits_under(set_of({{second, 1.0f}}), 7), adapted);
  EXPECT_NE(logits_under(set_of({{first, 1.0f}, {second, 1.0f}}), 7), adapted);
}

TEST(SimulatedBackendDeathTest, AdapterSetThatBreaksItsPromiseStopsTheProcess) {
  const auto first = small_adapter(simulated_model(), 1),
             second = small_adapter(simulated_model(), 2);
  const auto run = [](std::vector<AdapterUse> uses) {
    logits_under(std::make_shared<const std::vector<AdapterUse>>(std::move(uses)), 0);
  };
  const bool is_rising = first->digest() < second->digest();
  EXPECT_DEATH(run({}), "names an adapter");
  EXPECT_DEATH(run({{nullptr, 1.0f}}), "has its adapters");
  EXPECT_DEATH(run({{first, -0.0f}}), "scale is not zero");
  EXPECT_DEATH(run({{first, std::numeric_limits<float>::infinity()}}), "scale is finite");
  EXPECT_DEATH(run({{first, 1.0f}, {first, 2.0f}}), "ascends by digest");
  EXPECT_DEATH(run({{is_rising ? second : first, 1.0f}, {is_rising ? first : second, 1.0f}}),
               "ascends by digest");
  ModelInfo other = simulated_model();
  other.layer_count = 3;
  EXPECT_DEATH(run({{small_adapter(other, 1), 1.0f}}), "an adapter is of the batch's model");
}

TEST(SimulatedBackend, MaskedEqualsLeftOut) {
  const std::vector<std::uint32_t> tokens = some_tokens(49);
  std::vector<float> seen[3];
  for (int way = 0; way < 3; ++way) {
    Driver driver(16);
    driver.forward(tokens, 0, 48);
    Batch batch = driver.table_for(49);
    batch.rows.push_back({.token = TokenId{tokens[48]}, .position = 48, .slot = 48});
    if (way == 0) batch.table_changes[0].entries[1].visible = 0;
    if (way == 1) batch.table_changes[0].entries[1] = {};
    seen[way] = driver.logits_of(std::move(batch), 49);
  }
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_NE(seen[0], seen[2]);
}

TEST(SimulatedBackend, CopiedSlotsServeAsTheirOrigin) {
  const std::vector<std::uint32_t> tokens = some_tokens(21);
  Driver driver(16);
  const std::vector<float> expected = driver.forward(tokens, 0, 21);
  driver.forward(tokens, 0, 20);
  Batch batch = driver.table_for(21);
  batch.copies.push_back({.from = PageId{1}, .to = PageId{9}, .slot_count = 4});
  batch.table_changes[0].entries[1].page = PageId{9};
  batch.rows.push_back({.token = TokenId{tokens[20]}, .position = 20, .slot = 20});
  EXPECT_EQ(driver.logits_of(std::move(batch), 21), expected);
}

TEST(SimulatedBackend, ReadingAnUnwrittenSlotNeverGivesTheSameTwice) {
  Driver driver(16);
  const auto probe = [&] {
    Batch batch = driver.table_for(4);
    batch.rows.push_back({.token = TokenId{1}, .position = 9});
    return driver.logits_of(std::move(batch), 4);
  };
  const std::vector<float> first = probe();
  EXPECT_NE(first, probe());
}

TEST(SimulatedBackend, FailedPassFailsAloneAndWithItsDistribution) {
  Collector sink;
  SimulatedBackend device({.model = simulated_model(),
                           .fail_pass = [](const Batch&, std::size_t pass) -> std::optional<Error> {
                             if (pass != 1) return std::nullopt;
                             return Error(ErrorCode::Unavailable, "device lost");
                           }},
                          sink);
  Batch batch;
  for (std::uint32_t i = 0; i < 2; ++i) {
    batch.table_changes.push_back({.sequence = SequenceId{i},
                                   .entries = {{.page = PageId{i}, .visible = 1}},
                                   .entry_count = 1});
    batch.rows.push_back({.token = TokenId{5}, .slot = 0});
    batch.passes.push_back({SequenceId{i}, i, 1, 1, std::nullopt});
    batch.distributions.push_back({.row = i});
  }
  device.submit(std::move(batch));
  const Completion& completion = sink.completions.at(0);
  EXPECT_TRUE(completion.passes[0].ok());
  EXPECT_EQ(completion.distributions[0].value().tokens.size(), 256u);
  EXPECT_EQ(completion.passes[1].error().code(), ErrorCode::Unavailable);
  EXPECT_EQ(completion.distributions[1].error().code(), ErrorCode::Unavailable);
}

TEST(SimulatedBackend, ManualBatchesCompleteWhenToldAndInOrder) {
  Collector sink;
  SimulatedBackend device({.model = simulated_model(), .manual = true}, sink);
  for (const std::uint64_t id : {1u, 2u}) {
    Batch batch;
    batch.id = BatchId{id};
    device.submit(std::move(batch));
  }
  EXPECT_EQ(device.inflight_count(), 2u);
  EXPECT_TRUE(sink.completions.empty());
  device.complete_next();
  device.complete_next();
  EXPECT_EQ(sink.completions.at(0).id, BatchId{1});
  EXPECT_EQ(sink.completions.at(1).id, BatchId{2});
}

TEST(SimulatedBackendDeathTest, BatchBeyondTheLimitStopsTheProcess) {
  Collector sink;
  SimulatedBackend device({.model = simulated_model(), .row_count_max = 1}, sink);
  Batch batch;
  batch.rows.resize(2);
  EXPECT_DEATH(device.submit(std::move(batch)), "rows of one batch");
}

TEST(SelectTop, EqualsAFullSortWithTiesByIndex) {
  std::mt19937 random(11);
  for (const std::size_t count : {1u, 5u, 48u, 1000u, 49152u}) {
    std::vector<float> values(count);
    for (float& value : values) {
      value = static_cast<float>(random() % (count / 2 + 1)) - static_cast<float>(count / 4);
    }
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kOdd[] = {0.0f, -0.0f, kInfinity, -kInfinity, 1e-40f, -1e-40f};
    for (std::size_t i = 0; i < count / 8; ++i) values[random() % count] = kOdd[random() % 6];
    std::vector<std::uint32_t> expected(count);
    for (std::size_t i = 0; i < count; ++i) expected[i] = static_cast<std::uint32_t>(i);
    std::stable_sort(expected.begin(), expected.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return values[a] > values[b]; });
    TopKScratch scratch;
    for (const std::uint32_t k : {1u, 7u, 256u, 1024u, 1025u, 30000u, 100000u}) {
      std::vector<std::uint32_t> top;
      select_top(values, k, scratch, top);
      const std::size_t kept = std::min<std::size_t>(k, count);
      EXPECT_EQ(top, std::vector<std::uint32_t>(expected.begin(),
                                                expected.begin() + static_cast<long>(kept)));
    }
  }
}

}  // namespace
}  // namespace quire::inference
