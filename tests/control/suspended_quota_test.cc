// The limits of a program do not depend on where its pages are: pages that its contexts gave up
// count as if they had stayed.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "base/seeds.h"
#include "control/harness.h"

namespace quire::control {
namespace {

constexpr std::uint32_t kPageSize = 16;
constexpr std::uint32_t kTight = 12;
constexpr std::uint32_t kRoomy = 400;

// A program with a quota, in a pool that either holds all, or makes it give way to other programs.
class Tenant {
 public:
  Tenant(std::uint32_t page_count, std::uint32_t quota, bool is_disturbed)
      : is_disturbed_(is_disturbed), harness_(options_of(page_count)) {
    id_ = harness_.start(TenantId{1}, {.page_count_max = quota});
    queue_ = harness_.queue(id_);
  }

  // Other programs come, compute what fills a tight pool but for `left` pages, and stay or go.
  void disturb(std::uint32_t left = 0, bool stays = false) {
    if (!is_disturbed_) return;
    const InstanceId other = harness_.start(TenantId{2});
    const ObjectId queue = harness_.queue(other, Priority::High);
    const ObjectId context = harness_.context(other, queue);
    const std::uint32_t count = (kTight - left) * kPageSize;
    harness_.send(other, ContextAppend{context, count_tokens(count, ++disturbances_)}, false);
    const FutureId done = harness_.send(other, ContextFlush{context});
    EXPECT_EQ(outcome_of(other, done), "");
    if (!stays) harness_.controller->end_instance(other);
    harness_.run();
  }
  ObjectId context() { return harness_.context(id_, queue_); }
  ObjectId context_of(Priority priority) {
    return harness_.context(id_, harness_.queue(id_, priority));
  }
  bool step() { return harness_.step(); }
  // Tokens that are the same for all contexts with the same `first` up to there.
  FutureId compute(ObjectId context, std::uint32_t count, std::uint32_t first) {
    harness_.send(id_, ContextAppend{context, count_tokens(count, first)}, false);
    return harness_.send(id_, ContextFlush{context});
  }
  FutureId fork(ObjectId context, ObjectId& child) {
    child = harness_.new_object();
    return harness_.send(id_, ContextFork{context, child});
  }
  FutureId rewind(ObjectId context, std::uint32_t length) {
    return harness_.send(id_, ContextEdit{context, ContextEditKind::Rewind, length});
  }
  FutureId reserve(ObjectId context, std::uint32_t count) {
    return harness_.send(id_, ContextEdit{context, ContextEditKind::ReservePages, count});
  }
  void drop(ObjectId context) { harness_.send(id_, ContextDrop{context}, false); }
  FutureId alloc(std::uint32_t count, std::vector<ObjectId>& pages) {
    pages = harness_.new_objects(count);
    return harness_.send(id_, AllocPages{queue_, pages});
  }
  void dealloc(const std::vector<ObjectId>& pages) {
    harness_.send(id_, DeallocPages{queue_, pages}, false);
  }
  // Nothing, or the error.
  std::string outcome(FutureId future) { return outcome_of(id_, future); }
  std::string message(FutureId future) { return harness_.message(id_, future); }
  InstanceStatistics statistics() { return harness_.controller->statistics(id_); }
  std::uint64_t suspension_count() { return harness_.controller->statistics().suspension_count; }

 private:
  static Harness::Options options_of(std::uint32_t page_count) {
    Harness::Options options;
    options.device.page_count = page_count;
    options.device.row_count_max = 48;  // Long prompts take some batches.
    return options;
  }
  std::string outcome_of(InstanceId instance, FutureId future) {
    harness_.run_until(instance, future);
    if (!harness_.has(instance, future)) return "no answer";
    const auto error = harness_.error(instance, future);
    return error ? error_code_name(*error) : "";
  }

  const bool is_disturbed_;
  std::uint32_t disturbances_ = 0;
  Harness harness_;
  InstanceId id_{};
  ObjectId queue_{};
};

TEST(SuspendedQuota, PagesOfASuspendedContextCountAndComeBackWithoutAnError) {
  Tenant tenant(kTight, 5, true);
  const ObjectId context = tenant.context();
  EXPECT_EQ(tenant.outcome(tenant.compute(context, 40, 1)), "");  // 3 pages.
  tenant.disturb();
  ASSERT_EQ(tenant.suspension_count(), 1u);
  EXPECT_EQ(tenant.statistics().page_count, 0u);
  // So that they are not lent to other programs.
  EXPECT_EQ(tenant.statistics().page_count_away, 3u);
  std::vector<ObjectId> pages;
  const FutureId beyond = tenant.alloc(3, pages);
  EXPECT_EQ(tenant.outcome(beyond), "quota-exceeded");
  EXPECT_EQ(tenant.message(beyond),
            "page_count_max: 3 more wanted, 0 of 5 held, 3 of suspended contexts to come back");
  EXPECT_EQ(tenant.outcome(tenant.alloc(2, pages)), "");
  EXPECT_EQ(tenant.outcome(tenant.compute(context, 8, 2)), "");  // The third page is full now.
  EXPECT_EQ(tenant.outcome(tenant.compute(context, 1, 3)), "quota-exceeded");
  tenant.dealloc(pages);
  EXPECT_EQ(tenant.outcome(tenant.compute(context, 1, 3)), "");
}

TEST(SuspendedQuota, APageThatSeveralContextsAreToHaveBackCountsOnce) {
  Tenant tenant(kTight, 8, true);
  std::vector<ObjectId> contexts{tenant.context()};
  EXPECT_EQ(tenant.outcome(tenant.compute(contexts[0], 64, 1)), "");  // 4 pages.
  for (int fork = 0; fork < 3; ++fork) {
    contexts.emplace_back();
    EXPECT_EQ(tenant.outcome(tenant.fork(contexts[0], contexts.back())), "");
    EXPECT_EQ(tenant.outcome(tenant.compute(contexts.back(), 16, 100 + fork)), "");  // And one.
  }
  tenant.disturb();
  ASSERT_EQ(tenant.suspension_count(), 4u);
  std::vector<ObjectId> pages;
  EXPECT_EQ(tenant.outcome(tenant.alloc(2, pages)), "quota-exceeded");
  EXPECT_EQ(tenant.outcome(tenant.alloc(1, pages)), "");
  for (const ObjectId context : contexts) {
    EXPECT_EQ(tenant.outcome(tenant.compute(context, 0, 1)), "");
  }
  // Another that says the same needs no page that is not counted.
  EXPECT_EQ(tenant.outcome(tenant.compute(tenant.context(), 64, 1)), "");
}

TEST(SuspendedQuota, ForksThatSharedAPageHoldNoMoreThanTheLimitWhenTheyAreBack) {
  constexpr std::uint32_t kQuota = 4;
  Tenant tenant(kTight, kQuota, true);
  std::vector<ObjectId> contexts{tenant.context()};
  EXPECT_EQ(tenant.outcome(tenant.compute(contexts[0], 8, 1)), "");
  for (int fork = 0; fork < 5; ++fork) {
    contexts.emplace_back();
    EXPECT_EQ(tenant.outcome(tenant.fork(contexts[0], contexts.back())), "");
  }
  EXPECT_EQ(tenant.statistics().page_count, 1u);
  tenant.disturb();
  ASSERT_EQ(tenant.suspension_count(), 6u);
  for (std::uint32_t index = 0; index < contexts.size(); ++index) {
    const std::string outcome = tenant.outcome(tenant.compute(contexts[index], 1, 7));
    EXPECT_EQ(outcome, index < kQuota ? "" : "quota-exceeded") << index;
    EXPECT_LE(tenant.statistics().page_count, kQuota) << index;
  }
  tenant.drop(contexts.front());
  EXPECT_EQ(tenant.outcome(tenant.compute(contexts.back(), 1, 7)), "");
}

TEST(SuspendedQuota, AContextThatComesBackWaitsForOneThatComputesTheSame) {
  constexpr std::uint32_t kQuota = 6;
  Tenant tenant(kTight, kQuota, true);
  const ObjectId first = tenant.context_of(Priority::Low);
  const ObjectId second = tenant.context_of(Priority::High);
  EXPECT_EQ(tenant.outcome(tenant.compute(first, 96, 1)), "");   // 6 pages,
  EXPECT_EQ(tenant.outcome(tenant.compute(second, 96, 1)), "");  // and the same ones.
  tenant.disturb();
  ASSERT_EQ(tenant.suspension_count(), 2u);
  const FutureId first_back = tenant.compute(first, 0, 1);
  ASSERT_TRUE(tenant.step());  // Half of it; the pages for the rest are taken.
  const FutureId second_back = tenant.compute(second, 0, 1);  // Goes first from now on.
  while (tenant.step()) EXPECT_LE(tenant.statistics().page_count, kQuota);
  EXPECT_EQ(tenant.outcome(second_back), "");
  EXPECT_EQ(tenant.outcome(first_back), "");
  EXPECT_EQ(tenant.statistics().page_count, kQuota);
}

TEST(SuspendedQuota, ANewContextOfWhatIsAwayNeedsNoMore) {
  Tenant tenant(kTight, 4, true);
  EXPECT_EQ(tenant.outcome(tenant.compute(tenant.context(), 64, 1)), "");
  tenant.disturb();
  ASSERT_EQ(tenant.suspension_count(), 1u);
  EXPECT_EQ(tenant.outcome(tenant.compute(tenant.context(), 64, 1)), "");
  EXPECT_EQ(tenant.outcome(tenant.compute(tenant.context(), 16, 2)), "quota-exceeded");
}

TEST(SuspendedQuota, WhatIsDroppedOrRewoundCountsNoMore) {
  Tenant tenant(kTight, 5, true);
  const ObjectId cut = tenant.context();
  const ObjectId dropped = tenant.context();
  EXPECT_EQ(tenant.outcome(tenant.compute(cut, 48, 1)), "");
  EXPECT_EQ(tenant.outcome(tenant.compute(dropped, 32, 2)), "");
  tenant.disturb();
  ASSERT_EQ(tenant.suspension_count(), 2u);
  std::vector<ObjectId> first;
  std::vector<ObjectId> second;
  EXPECT_EQ(tenant.outcome(tenant.alloc(1, first)), "quota-exceeded");
  EXPECT_EQ(tenant.outcome(tenant.rewind(cut, 20)), "");
  EXPECT_EQ(tenant.outcome(tenant.alloc(1, first)), "");
  EXPECT_EQ(tenant.outcome(tenant.alloc(1, second)), "quota-exceeded");
  tenant.drop(dropped);
  EXPECT_EQ(tenant.outcome(tenant.alloc(2, second)), "");
  EXPECT_EQ(tenant.outcome(tenant.compute(cut, 12, 3)), "");
}

// Random programs. A page that was shared in part, by a fork or a rewind to its middle, is each
// one's own when it is back: here, both lie between pages.
class Programs {
 public:
  Programs(std::uint64_t seed, std::uint32_t page_count, bool is_disturbed)
      : random_(seed), tenant_(page_count, quota_of(seed), is_disturbed) {}

  std::vector<std::string> run(int step_count) {
    std::vector<std::string> outcomes;
    for (int step = 0; step < step_count; ++step) outcomes.push_back(one());
    return outcomes;
  }
  std::uint64_t suspension_count() { return tenant_.suspension_count(); }

 private:
  struct Held {
    ObjectId id{};
    std::uint32_t length = 0;
  };
  static std::uint32_t quota_of(std::uint64_t seed) {
    return 4 + static_cast<std::uint32_t>(seed % (kTight - 4));
  }
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(random_.next() % bound);
  }

  std::string one() {
    const std::uint32_t choice = below(16);
    if (choice < 3) {
      // Handles do not give way.
      std::uint32_t handles = 0;
      for (const std::vector<ObjectId>& pages : pages_) {
        handles += static_cast<std::uint32_t>(pages.size());
      }
      if (const std::uint32_t left = std::max(below(kTight / 2), handles); left < kTight) {
        tenant_.disturb(left);
      }
      return "";
    }
    if (contexts_.empty() || choice < 5) return create();
    Held& held = contexts_[below(static_cast<std::uint32_t>(contexts_.size()))];
    if (choice < 9) return append(held, below(3) == 0 ? below(20) : kPageSize * below(3));
    if (choice < 11 && held.length % kPageSize == 0) return fork(held);
    if (choice == 11) return rewind(held);
    if (choice < 14) return alloc();
    if (choice == 14) return drop();
    for (const std::vector<ObjectId>& pages : pages_) tenant_.dealloc(pages);
    pages_.clear();
    return "";
  }
  std::string create() {
    contexts_.push_back({.id = tenant_.context()});
    return append(contexts_.back(), kPageSize * (1 + below(3)));
  }
  std::string append(Held& held, std::uint32_t count) {
    // Two families, so that contexts often say the same.
    const std::string outcome = tenant_.outcome(tenant_.compute(held.id, count, 1 + below(2)));
    if (outcome.empty()) {
      held.length += count;
    } else {
      tenant_.rewind(held.id, held.length);  // Its queue is empty again.
    }
    return "append " + std::to_string(count) + " to " + std::to_string(held.length) + ": " +
           outcome;
  }
  std::string fork(const Held& held) {
    Held child{.length = held.length};
    const std::string outcome = tenant_.outcome(tenant_.fork(held.id, child.id));
    contexts_.push_back(child);
    return "fork: " + outcome;
  }
  std::string rewind(Held& held) {
    held.length =
        (held.length - std::min(held.length, kPageSize * below(2))) / kPageSize * kPageSize;
    return "rewind: " + tenant_.outcome(tenant_.rewind(held.id, held.length));
  }
  std::string alloc() {
    std::vector<ObjectId> pages;
    const std::string outcome = tenant_.outcome(tenant_.alloc(1 + below(3), pages));
    if (outcome.empty()) pages_.push_back(pages);
    return "alloc: " + outcome;
  }
  std::string drop() {
    const std::size_t index = below(static_cast<std::uint32_t>(contexts_.size()));
    tenant_.drop(contexts_[index].id);
    contexts_.erase(contexts_.begin() + static_cast<std::ptrdiff_t>(index));
    return "";
  }

  SeededRandom random_;
  Tenant tenant_;
  std::vector<Held> contexts_;
  std::vector<std::vector<ObjectId>> pages_;
};

TEST(SuspendedQuota, ProgramsGetTheSameAnswersWhetherTheyGiveWayOrNot) {
  std::uint64_t suspensions = 0;
  std::size_t refused = 0;
  std::size_t granted = 0;
  for (const std::uint64_t seed : campaign_seeds(2000)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Programs roomy(seed, kRoomy, false);
    Programs tight(seed, kTight, true);
    const std::vector<std::string> wanted = roomy.run(40);
    EXPECT_EQ(tight.run(40), wanted);
    suspensions += tight.suspension_count();
    for (const std::string& outcome : wanted) {
      refused += outcome.find("quota-exceeded") != std::string::npos;
      granted += outcome.ends_with(": ");
    }
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(suspensions, 0u);
  EXPECT_GT(refused, 0u);
  EXPECT_GT(granted, 0u);
  std::cout << suspensions << " suspensions, " << granted << " granted, " << refused
            << " refused\n";
}

}  // namespace
}  // namespace quire::control
