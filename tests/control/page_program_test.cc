// Random programs over the whole page store beside a naive model: page_program.h.
//
// Seeds are 0 to kSeedCount; `make test` runs a share of them, and QUIRE_SEED_SHARE=SEED/10000 the
// one that failed. In parts, so that each is a test of a bearable length under a sanitizer too.
#include "control/page_program.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "base/seeds.h"

namespace quire::control {
namespace {

constexpr std::uint64_t kSeedCount = 10'000;
constexpr std::size_t kPartCount = 4;
constexpr std::uint64_t kProgramsForCoverage = 300;  // With fewer, something may not come up.

class PagePrograms : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Parts, PagePrograms, testing::Range<std::size_t>(0, kPartCount));

TEST_P(PagePrograms, DoWhatANaiveModelSays) {
  const std::vector<std::uint64_t> seeds = campaign_seeds(kSeedCount);
  Coverage coverage = PageProgram::no_coverage();
  std::uint64_t program_count = 0;
  for (std::size_t index = GetParam(); index < seeds.size(); index += kPartCount) {
    SCOPED_TRACE("seed " + std::to_string(seeds[index]));
    PageProgram program(Knobs::of_seed(seeds[index]), seeds[index]);
    program.run();
    program.add_coverage(coverage);
    ++program_count;
    ASSERT_FALSE(HasFailure()) << "QUIRE_SEED_SHARE=" << seeds[index] << "/" << kSeedCount;
  }
  std::printf("%llu programs\n", static_cast<unsigned long long>(program_count));
  for (const auto& [what, count] : coverage) {
    std::printf("%8llu %s\n", static_cast<unsigned long long>(count), what.c_str());
    if (program_count >= kProgramsForCoverage) {
      EXPECT_GT(count, 0u) << what << " never came up";
    }
  }
}

// The same with a state that each token changes: whatever a program does to its contexts, and
// however few slots there are, it goes on from the right one.
TEST_P(PagePrograms, DoWhatANaiveModelSaysOnAModelWithStates) {
  const std::vector<std::uint64_t> seeds = campaign_seeds(kSeedCount);
  for (std::size_t index = GetParam(); index < seeds.size(); index += kPartCount) {
    SCOPED_TRACE("seed " + std::to_string(seeds[index]));
    PageProgram program(Knobs::with_states(seeds[index]), seeds[index]);
    program.run();
    ASSERT_FALSE(HasFailure()) << "QUIRE_SEED_SHARE=" << seeds[index] << "/" << kSeedCount;
  }
}

}  // namespace
}  // namespace quire::control
