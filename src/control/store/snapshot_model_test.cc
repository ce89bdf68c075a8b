// Random operations, crashes and faults beside the simplest model: support/store_program.h.
#include <gtest/gtest.h>

#include <cstdio>

#include "base/seeds.h"
#include "support/store_program.h"

namespace quire::store {
namespace {

constexpr std::uint64_t kSeedCount = 400;

TEST(Model, RandomOperationsCrashesAndFaultsLeaveWhatTheModelSays) {
  std::map<std::string, std::uint64_t> coverage;
  for (const std::uint64_t seed : campaign_seeds(kSeedCount)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::StoreProgram(seed).run(coverage);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  for (const auto& [what, count] : coverage) {
    std::printf("%8llu %s\n", static_cast<unsigned long long>(count), what.c_str());
  }
  // A sixty-fourth, as under ThreadSanitizer, need not come to the rarest of them.
  if (campaign_seeds(kSeedCount).size() < kSeedCount / 16) {
    std::printf("too few seeds to ask that each of these happened\n");
    return;
  }
  for (const char* what : {"save",
                           "save overwrites",
                           "save already-exists",
                           "save quota-exceeded",
                           "save fails",
                           "save abandoned",
                           "remove",
                           "remove not-found",
                           "take",
                           "take not-found",
                           "take unavailable",
                           "take given up",
                           "take finished",
                           "cache",
                           "gc",
                           "time passes",
                           "crash",
                           "crash within an operation",
                           "ticket ends",
                           "open all",
                           "a note",
                           "damage refused"}) {
    EXPECT_GT(coverage[what], 0u) << what;
  }
}

}  // namespace
}  // namespace quire::store
