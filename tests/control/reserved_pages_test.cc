// Pages that a program reserved stay reserved when its context is suspended and comes back.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/random.h"
#include "base/seeds.h"
#include "control/harness.h"

namespace quire::control::reserved_pages_test {
namespace {

constexpr std::uint32_t kPageSize = 16;
constexpr std::uint32_t kTight = 8;

// A program and its context, in a pool that either holds all, or makes it give way to other
// programs.
class Reserver {
 public:
  explicit Reserver(std::uint32_t page_count, bool is_disturbed)
      : is_disturbed_(is_disturbed), harness_(options_of(page_count)) {
    id_ = harness_.start();
    queue_ = harness_.queue(id_);
    context_ = harness_.context(id_, queue_);
  }

  // Other programs come, compute what fills a tight pool, and go.
  void disturb() {
    if (!is_disturbed_) return;
    const InstanceId other = harness_.start();
    const ObjectId queue = harness_.queue(other);
    const ObjectId context = harness_.context(other, queue);
    harness_.send(other, ContextAppend{context, count_tokens(kTight * kPageSize, ++disturbances_)},
                  false);
    const FutureId done = harness_.send(other, ContextFlush{context});
    harness_.run_until(other, done);
    EXPECT_FALSE(harness_.error(other, done)) << harness_.message(other, done);
    harness_.controller->end_instance(other);
    harness_.run();
  }
  void append(std::uint32_t count, std::uint32_t first = 300) {
    harness_.send(id_, ContextAppend{context_, count_tokens(count, first)}, false);
  }
  FutureId flush() { return harness_.send(id_, ContextFlush{context_}); }
  FutureId edit(ContextEditKind kind, std::uint32_t count) {
    return harness_.send(id_, ContextEdit{context_, kind, count});
  }
  // The counters of the program's context, or the error.
  std::string outcome(FutureId future) {
    harness_.run_until(id_, future);
    if (const auto error = harness_.error(id_, future)) return error_code_name(*error);
    const ContextCounters seen = harness_.get<ContextState>(id_, future).counters;
    return "seq_len " + std::to_string(seen.seq_len) + ", committed " +
           std::to_string(seen.committed_page_count) + ", working " +
           std::to_string(seen.working_page_count) + ", tokens in them " +
           std::to_string(seen.working_page_token_count) + ", queued " +
           std::to_string(seen.queued_token_count);
  }
  std::uint64_t suspension_count() { return harness_.controller->statistics().suspension_count; }
  std::uint32_t free_page_count() const { return harness_.free_page_count(); }

 private:
  static Harness::Options options_of(std::uint32_t page_count) {
    Harness::Options options;
    options.device.page_count = page_count;
    options.device.row_count_max = 256;
    return options;
  }

  const bool is_disturbed_;
  std::uint32_t disturbances_ = 0;
  Harness harness_;
  InstanceId id_{};
  ObjectId queue_{};
  ObjectId context_{};
};

TEST(ReservedPages, AreCountedWhileTheContextIsSuspendedAndTakenAgainWhenItGoesOn) {
  Reserver program(kTight, true);
  program.append(37);
  program.outcome(program.flush());
  const std::string reserved = program.outcome(program.edit(ContextEditKind::ReservePages, 2));
  EXPECT_EQ(reserved, "seq_len 37, committed 2, working 3, tokens in them 5, queued 0");
  program.disturb();
  ASSERT_EQ(program.suspension_count(), 1u);
  EXPECT_EQ(program.free_page_count(), kTight);
  EXPECT_EQ(program.outcome(program.edit(ContextEditKind::Truncate, 0)), reserved);
  program.append(1);
  EXPECT_EQ(program.outcome(program.flush()),
            "seq_len 38, committed 2, working 3, tokens in them 6, queued 0");
  EXPECT_EQ(program.free_page_count(), kTight - 5);
}

TEST(ReservedPages, AreReleasedWithoutBeingTakenAgain) {
  Reserver program(kTight, true);
  program.append(32);
  program.outcome(program.flush());
  program.outcome(program.edit(ContextEditKind::ReservePages, 3));
  program.disturb();
  ASSERT_EQ(program.suspension_count(), 1u);
  EXPECT_EQ(program.outcome(program.edit(ContextEditKind::ReleasePages, 4)), "out-of-range");
  EXPECT_EQ(program.outcome(program.edit(ContextEditKind::ReleasePages, 2)),
            "seq_len 32, committed 2, working 1, tokens in them 0, queued 0");
  EXPECT_EQ(program.outcome(program.edit(ContextEditKind::ReservePages, 1)),
            "seq_len 32, committed 2, working 2, tokens in them 0, queued 0");
  EXPECT_EQ(program.free_page_count(), kTight - 4);
}

// Programs of operations on working pages see the same whether or not other programs make them give
// way.
TEST(ReservedPages, ASuspensionChangesNothingThatAProgramSees) {
  constexpr std::uint32_t kTokensMax = 40;
  constexpr std::uint32_t kReservedMax = 3;
  std::uint64_t suspensions = 0;
  for (const std::uint64_t seed : campaign_seeds(2000)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    const auto below = [&](std::uint32_t bound) {
      return static_cast<std::uint32_t>(random.next() % bound);
    };
    Reserver calm(64, false);
    Reserver disturbed(kTight, true);
    std::uint32_t appended = 0;
    std::uint32_t reserved = 0;
    for (int step = 0; step < 12 && !HasFailure(); ++step) {
      const std::uint32_t what = below(7);
      std::uint32_t count = below(3);
      if (what == 0) appended += count = std::min(below(24), kTokensMax - appended);
      if (what == 2) count = below(kTokensMax + 2);
      if (what == 3) reserved += count = std::min(count, kReservedMax - reserved);
      const auto act = [&](Reserver& program) {
        constexpr std::array<ContextEditKind, 7> kKinds{
            ContextEditKind::Truncate,     ContextEditKind::Truncate,
            ContextEditKind::Rewind,       ContextEditKind::ReservePages,
            ContextEditKind::ReleasePages, ContextEditKind::TruncatePageTokens,
            ContextEditKind::CommitPages};
        program.disturb();
        // The tokens are new, so that only lost pages are found.
        if (what == 0) program.append(count, 100 + 30 * static_cast<std::uint32_t>(step));
        return program.outcome(what == 0 ? program.flush() : program.edit(kKinds[what], count));
      };
      EXPECT_EQ(act(disturbed), act(calm))
          << "step " << step << ", operation " << what << ", count " << count;
    }
    suspensions += disturbed.suspension_count();
  }
  EXPECT_GT(suspensions, 0u);
}

}  // namespace
}  // namespace quire::control::reserved_pages_test
