#include "control/objects/miss_log.h"

#include <gtest/gtest.h>

namespace quire::control {
namespace {

MissRecord miss(std::uint64_t operation, std::uint32_t page, MissReason reason) {
  return {.operation = operation, .page = page, .why = {.reason = reason}};
}

std::vector<MissRecord> all(const MissLog& log) {
  std::vector<MissRecord> records;
  log.for_each([&records](const MissRecord& each) { records.push_back(each); });
  return records;
}

TEST(MissLog, LooksBelowPagesThatOneOperationComputesAreOneMiss) {
  MissLog log(8);
  const std::uint64_t first = log.note(0, miss(1, 3, MissReason::Differs));
  log.count(first, 1, 256);
  EXPECT_EQ(log.note(first, miss(1, 19, MissReason::NeverSeen)), first);
  log.count(first, 1, 100);
  ASSERT_EQ(all(log).size(), 1u);
  EXPECT_EQ(all(log)[0].page, 3u);
  EXPECT_EQ(all(log)[0].token_count, 356u);
}

TEST(MissLog, TheLastLookBeforeAnythingIsComputedCounts) {
  MissLog log(8);
  const std::uint64_t first = log.note(0, miss(1, 3, MissReason::Evicted));
  EXPECT_EQ(log.note(first, miss(1, 3, MissReason::InFlight)), first);
  ASSERT_EQ(all(log).size(), 1u);
  EXPECT_EQ(all(log)[0].why.reason, MissReason::InFlight);
}

TEST(MissLog, AnotherReasonFurtherOnIsAnotherMiss) {
  MissLog log(8);
  const std::uint64_t first = log.note(0, miss(1, 3, MissReason::NeverSeen));
  log.count(first, 1, 16);
  const std::uint64_t second = log.note(first, miss(1, 4, MissReason::Evicted));
  EXPECT_NE(second, first);
  log.count(second, 1, 32);
  ASSERT_EQ(all(log).size(), 2u);
  EXPECT_EQ(all(log)[0].token_count, 16u);
  EXPECT_EQ(all(log)[1].token_count, 32u);
}

TEST(MissLog, GeneratedTokensAreOneMissOfTheirOwn) {
  MissLog log(8);
  const std::uint64_t prompt = log.note(0, miss(1, 3, MissReason::Differs));
  log.count(prompt, 1, 20);
  // Up to the end of the page they fill the prompt's last page, and are not a miss.
  log.count(prompt, 2, 1);
  const std::uint64_t reply = log.note(prompt, miss(3, 4, MissReason::NeverSeen));
  EXPECT_NE(reply, prompt);
  for (std::uint64_t operation = 3; operation < 40; ++operation) {
    EXPECT_EQ(log.note(reply, miss(operation, 4, MissReason::NeverSeen)), reply);
    log.count(reply, operation, 1);
  }
  ASSERT_EQ(all(log).size(), 2u);
  EXPECT_EQ(all(log)[0].token_count, 20u);
  EXPECT_EQ(all(log)[1].token_count, 37u);
}

TEST(MissLog, KeepsTheLastOnesAndSaysHowManyItForgot) {
  MissLog log(3);
  for (std::uint32_t page = 0; page < 10; ++page) {
    const std::uint64_t number = log.note(0, miss(page, page, MissReason::NeverSeen));
    log.count(number, page, page);
  }
  EXPECT_EQ(log.noted_count(), 10u);
  EXPECT_EQ(log.forgotten_count(), 7u);
  const std::vector<MissRecord> kept = all(log);
  ASSERT_EQ(kept.size(), 3u);
  for (std::uint32_t index = 0; index < 3; ++index) {
    EXPECT_EQ(kept[index].page, 7 + index);
    EXPECT_EQ(kept[index].token_count, 7 + index);
  }
  log.count(2, 1, 1'000);  // The record was forgotten, so the tokens count nowhere.
  EXPECT_EQ(all(log)[1].token_count, 8u);
}

}  // namespace
}  // namespace quire::control
