#include "control/scheduler/batch_order.h"

#include <gtest/gtest.h>

#include <random>

#include "base/seeds.h"

namespace quire::control {
namespace {

constexpr std::uint64_t kAging = 100;
constexpr std::uint32_t kBatchRows = 64;

struct Order {
  FairShares shares{kBatchRows};
  BatchOrder order{shares, kAging};
  std::uint64_t ages = 0;

  Candidate candidate(FairShare& share, Priority priority = Priority::Normal) {
    return {.share = &share, .age = ++ages, .row_count = 1, .priority = priority};
  }
  // The ages of those who come, in order.
  std::vector<std::uint64_t> drained(Turn turn = Turn::Decode) {
    std::vector<std::uint64_t> all;
    order.begin(turn, 16);
    while (const std::optional<Candidate> next = order.next()) all.push_back(next->age);
    return all;
  }
};

TEST(BatchOrder, PriorityThenDeadlineThenAge) {
  Order test;
  FairShare& share = test.shares.join(TenantId{1}, 1);
  test.order.begin_batch(1000, false);
  test.order.add(test.candidate(share));                  // 1
  test.order.add(test.candidate(share, Priority::Low));   // 2
  test.order.add(test.candidate(share, Priority::High));  // 3
  Candidate urgent = test.candidate(share);               // 4
  urgent.deadline_ns = 5000;
  test.order.add(urgent);
  urgent = test.candidate(share);  // 5
  urgent.deadline_ns = 4000;
  test.order.add(urgent);
  EXPECT_EQ(test.drained(), (std::vector<std::uint64_t>{3, 5, 4, 1, 2}));
}

TEST(BatchOrder, WhatIsAheadComesNextWhileNoOtherTenantDoes) {
  Order test;
  FairShare& share = test.shares.join(TenantId{1}, 1);
  FairShare& other = test.shares.join(TenantId{2}, 1);
  test.order.begin_batch(1000, false);
  EXPECT_TRUE(test.order.decoding_ahead().empty()) << "nobody has come yet";
  for (int each = 0; each < 5; ++each) test.order.add(test.candidate(share));
  for (int each = 0; each < 2; ++each) test.order.add(test.candidate(other));
  test.order.begin(Turn::Decode, 16);
  std::vector<std::uint64_t> announced;
  while (const std::optional<Candidate> next = test.order.next()) {
    if (!announced.empty() && next->share == &share) {
      EXPECT_EQ(next->age, announced.front());
    }
    if (next->share == &share) {
      announced.clear();
      for (const Candidate& each : test.order.decoding_ahead()) announced.push_back(each.age);
    }
    test.shares.charge(*next->share, 1);  // So that the tenants take turns.
  }
  EXPECT_TRUE(announced.empty()) << "nobody was behind the last";
  EXPECT_TRUE(test.order.decoding_ahead().empty());
}

TEST(BatchOrder, WhoWaitsRisesALevelAPeriodAndIsOverdueInTheEnd) {
  Order test;
  FairShare& share = test.shares.join(TenantId{1}, 1);
  const auto first_with_low_since = [&](std::uint64_t waited_ns, Priority other,
                                        std::uint64_t deadline_ns = kNoDeadline) {
    test.order.begin_batch(10'000, false);
    Candidate waits = test.candidate(share, Priority::Low);
    waits.waiting.since_ns = 10'000 - waited_ns;
    Candidate fresh = test.candidate(share, other);
    fresh.age = waits.age - 1;  // Older, so that only the level can put it after.
    fresh.deadline_ns = deadline_ns;
    const std::uint64_t low = waits.age;
    test.order.add(fresh);
    test.order.add(waits);
    return test.drained().front() == low;
  };
  EXPECT_FALSE(first_with_low_since(kAging, Priority::Normal)) << "as Normal, and younger";
  EXPECT_TRUE(first_with_low_since(2 * kAging, Priority::Normal));
  EXPECT_FALSE(first_with_low_since(2 * kAging, Priority::High));
  EXPECT_FALSE(first_with_low_since(3 * kAging - 1, Priority::High, 1));
  EXPECT_TRUE(first_with_low_since(3 * kAging, Priority::High, 1)) << "overdue before any deadline";
}

TEST(BatchOrder, OverdueOnesGoByHowLongTheyWaitedWhateverTheirPriorityWas) {
  Order test;
  FairShare& share = test.shares.join(TenantId{1}, 1);
  test.order.begin_batch(10'000, false);
  for (const Priority priority : {Priority::Low, Priority::High, Priority::Normal}) {
    Candidate overdue = test.candidate(share, priority);
    overdue.waiting.since_ns = priority == Priority::Normal ? 1 : 2;
    test.order.add(overdue);
  }
  EXPECT_EQ(test.drained(), (std::vector<std::uint64_t>{3, 1, 2}));
}

TEST(BatchOrder, DecodingAndPrefillHaveTheirOwnTurnsUnlessAgeAloneCounts) {
  for (const bool by_age_alone : {false, true}) {
    Order test;
    FairShare& share = test.shares.join(TenantId{1}, 1);
    test.order.begin_batch(1000, by_age_alone);
    for (int each = 0; each < 4; ++each) {
      Candidate candidate = test.candidate(share);
      candidate.is_prefill = each % 2 == 0;
      test.order.add(candidate);
    }
    if (by_age_alone) {
      EXPECT_EQ(test.drained(Turn::Both), (std::vector<std::uint64_t>{1, 2, 3, 4}));
    } else {
      EXPECT_EQ(test.drained(Turn::Decode), (std::vector<std::uint64_t>{2, 4}));
      EXPECT_EQ(test.drained(Turn::Prefill), (std::vector<std::uint64_t>{1, 3}));
    }
  }
}

TEST(BatchOrder, WhoIsAddedWhileOthersAreServedComesToo) {
  Order test;
  FairShare& first = test.shares.join(TenantId{1}, 1);
  FairShare& second = test.shares.join(TenantId{2}, 1);
  test.order.begin_batch(1000, false);
  test.order.add(test.candidate(first));
  test.order.begin(Turn::Decode, 16);
  ASSERT_TRUE(test.order.next().has_value());
  test.order.add(test.candidate(first));
  test.order.add(test.candidate(second));
  EXPECT_TRUE(test.order.next().has_value());
  EXPECT_TRUE(test.order.next().has_value());
  EXPECT_FALSE(test.order.next().has_value());
  test.order.add(test.candidate(second));
  EXPECT_TRUE(test.order.next().has_value()) << "also behind the end";
}

// A device of `row_count` rows a batch and tenants that always want more, in decoding or in
// prefill of up to `chunk` rows at once.
struct Tenant {
  double weight = 1;
  bool has_decode = true;
  bool has_prefill = false;
  std::uint32_t chunk = 16;
  FairShare* share = nullptr;
  std::uint64_t row_count = 0;
  std::uint64_t prefill_row_count = 0;
};

void run_batches(Order& test, std::vector<Tenant>& tenants, int batch_count,
                 std::uint32_t row_count) {
  for (int batch = 0; batch < batch_count; ++batch) {
    test.order.begin_batch(1000, false);
    for (Tenant& tenant : tenants) {
      for (std::uint32_t each = 0; each < row_count; ++each) {
        Candidate candidate = test.candidate(*tenant.share);
        if (tenant.has_decode) test.order.add(candidate);
        candidate.is_prefill = true;
        if (tenant.has_prefill) test.order.add(candidate);
      }
    }
    test.order.begin(Turn::Both, 16);
    std::uint32_t left = row_count;
    while (const std::optional<Candidate> next = test.order.next()) {
      if (left == 0) {
        test.order.note_waiting(*next);
        continue;
      }
      Tenant& tenant = *std::find_if(tenants.begin(), tenants.end(),
                                     [&](const Tenant& each) { return each.share == next->share; });
      const std::uint32_t rows = next->is_prefill ? std::min(left, tenant.chunk) : 1;
      test.shares.charge(*next->share, rows);
      test.order.note_served(*next, rows);
      tenant.row_count += rows;
      if (next->is_prefill) tenant.prefill_row_count += rows;
      left -= rows;
    }
    test.order.end_batch();
    test.shares.verify();
  }
}

TEST(BatchOrder, TenantsThatAlwaysWaitGetRowsByWeightWhateverTheyDoWithThem) {
  for (const std::uint64_t seed : campaign_seeds(50)) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Order test;
    std::vector<Tenant> tenants(2 + random() % 6);
    double weights = 0;
    for (std::size_t index = 0; index < tenants.size(); ++index) {
      Tenant& tenant = tenants[index];
      tenant.weight = 0.5 + static_cast<double>(random() % 8) / 2;
      tenant.has_prefill = random() % 2 == 0;
      tenant.has_decode = !tenant.has_prefill || random() % 2 == 0;
      tenant.chunk = 1 + static_cast<std::uint32_t>(random() % 40);
      tenant.share = &test.shares.join(TenantId{static_cast<std::uint32_t>(index)}, tenant.weight);
      weights += tenant.weight;
    }
    const auto row_count = static_cast<std::uint32_t>(1 + random() % 64);
    run_batches(test, tenants, 2000, row_count);
    for (const Tenant& tenant : tenants) {
      const double share = 2000.0 * row_count * tenant.weight / weights;
      EXPECT_NEAR(static_cast<double>(tenant.row_count), share, 0.02 * share + 64);
      if (!tenant.has_prefill || !tenant.has_decode) continue;
      EXPECT_NEAR(
          static_cast<double>(tenant.prefill_row_count) / static_cast<double>(tenant.row_count),
          0.25, 0.05)
          << "a quarter of what the tenant gets is prefill";
    }
  }
}

// Prompts of one tenant, of all lengths, on a device that has less than they want. No time passes,
// so that only their age and their rows count.
TEST(BatchOrder, APromptIsDoneAFifthOfItsRowsAfterTheOrderOfAgeAtMost) {
  struct Prompt {
    Candidate candidate;
    std::uint64_t done_at = 0;  // In rows of its priority, if they went in the order of age.
    std::uint64_t row_count = 0;
  };
  std::uint64_t overtaken_count = 0;
  for (const std::uint64_t seed : campaign_seeds(50)) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Order test;
    FairShare& share = test.shares.join(TenantId{1}, 1);
    std::vector<Prompt> prompts;
    std::uint64_t served[3] = {};  // Rows of each priority.
    for (int batch = 0; batch < 1'000; ++batch) {
      if (random() % 4 == 0) {
        const std::uint64_t rows = 20 + random() % (random() % 4 == 0 ? 1'000 : 200);
        Candidate candidate = test.candidate(share, static_cast<Priority>(random() % 3));
        candidate.row_count = static_cast<std::uint32_t>(rows);
        candidate.is_prefill = true;
        const auto priority = static_cast<std::size_t>(candidate.priority);
        std::uint64_t done_at = served[priority] + rows;
        for (const Prompt& each : prompts) {
          if (each.candidate.priority == candidate.priority) done_at += each.candidate.row_count;
        }
        prompts.push_back({candidate, done_at, rows});
      }
      test.order.begin_batch(1'000, false);
      for (const Prompt& each : prompts) test.order.add(each.candidate);
      test.order.begin(Turn::Prefill, 16);
      std::uint32_t left = kBatchRows;
      while (const std::optional<Candidate> next = test.order.next()) {
        const std::uint32_t rows = std::min(left, next->row_count);
        left -= rows;
        test.order.note_served(*next, rows);
        const std::uint64_t now = served[static_cast<std::size_t>(next->priority)] += rows;
        for (Prompt& each : prompts) {
          if (each.candidate.age != next->age) continue;
          each.candidate = *next;
          each.candidate.row_count -= rows;
          each.candidate.waiting.computed_row_count += rows;
          if (each.candidate.row_count > 0) continue;
          ASSERT_LE(now, each.done_at + each.row_count / 5) << "a prompt of " << each.row_count;
        }
        if (next->overtakes) overtaken_count += rows;
      }
      test.order.end_batch();
      std::erase_if(prompts, [](const Prompt& each) { return each.candidate.row_count == 0; });
    }
  }
  EXPECT_GT(overtaken_count, 1'000u);
}

TEST(BatchOrder, WhoHadNothingWaitingCatchesUpByABatchAndNoMore) {
  Order test;
  std::vector<Tenant> tenants(1);
  tenants[0].share = &test.shares.join(TenantId{0}, 1);
  run_batches(test, tenants, 1000, 16);
  tenants.resize(2);
  tenants[1].share = &test.shares.join(TenantId{1}, 1);
  tenants[0].row_count = 0;
  run_batches(test, tenants, 100, 16);
  EXPECT_NEAR(static_cast<double>(tenants[1].row_count), 800, kBatchRows / 2.0 + 16);
  // The first does nothing for as long, and is back.
  std::vector<Tenant> second{tenants[1]};
  run_batches(test, second, 1000, 16);
  tenants[0].row_count = tenants[1].row_count = 0;
  run_batches(test, tenants, 100, 16);
  EXPECT_NEAR(static_cast<double>(tenants[0].row_count), 800, kBatchRows / 2.0 + 16);
}

// While the first tenant used rows that no other wanted, the second waited for something else: its
// budget.
TEST(BatchOrder, WhoUsedWhatWasLeftOverIsHeldBackForAFewBatchesAndNoLonger) {
  Order test;
  std::vector<Tenant> tenants(2);
  for (std::uint32_t index = 0; index < 2; ++index) {
    tenants[index].share = &test.shares.join(TenantId{index}, 1);
  }
  for (int batch = 0; batch < 1000; ++batch) {
    test.order.begin_batch(1000, false);
    for (const Tenant& tenant : tenants) test.order.add(test.candidate(*tenant.share));
    test.shares.charge(*tenants[0].share, 50);
    test.shares.charge(*tenants[1].share, 1);
    test.shares.leave_waiting(*tenants[1].share);
    test.order.end_batch();
  }
  run_batches(test, tenants, 100, kBatchRows);
  const double debt = (FairShares::kDebtBatchCount + 1) * kBatchRows / 2;
  EXPECT_GE(static_cast<double>(tenants[0].row_count), 50.0 * kBatchRows - debt);
  EXPECT_GT(tenants[1].row_count, tenants[0].row_count);
}

TEST(FairShares, WhoLeavesWithMoreThanItsShareComesBackWithThat) {
  FairShares shares(kBatchRows);
  FairShare& greedy = shares.join(TenantId{7}, 1);
  shares.charge(greedy, 10'000);
  shares.leave(greedy);
  EXPECT_EQ(shares.tenant_count(), 1u);
  EXPECT_EQ(shares.join(TenantId{7}, 1).time, 10'000);
}

TEST(FairShares, ForgetsTenantsThatHaveNoInstanceAndNoDebt) {
  FairShares shares(kBatchRows);
  for (std::uint32_t tenant = 0; tenant < 100'000; ++tenant) {
    FairShare& share = shares.join(TenantId{tenant}, 1);
    shares.begin_round();
    shares.enter(share);
    shares.charge(share, 5);
    shares.end_round(0, share.time, false);
    shares.leave(share);
  }
  EXPECT_LE(shares.tenant_count(), 128u);
}

}  // namespace
}  // namespace quire::control
