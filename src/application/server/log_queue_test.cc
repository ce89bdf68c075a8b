#include "application/server/log_queue.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <sstream>
#include <vector>

#include "base/random.h"
#include "base/seeds.h"

namespace quire::server {
namespace {

std::string notice(std::uint64_t count) {
  return "dropped " + std::to_string(count) + "\n";
}

std::string drained(LogQueue& queue) {
  std::string text;
  while (!queue.is_empty()) {
    const std::string_view front = queue.front();
    text += front;
    queue.wrote({front.size()});
    queue.verify();
  }
  return text;
}

TEST(LogQueue, GivesLinesInTheirOrder) {
  LogQueue queue(1 << 20, notice);
  EXPECT_TRUE(queue.push("one\n"));
  EXPECT_TRUE(queue.push("two\n"));
  EXPECT_EQ(queue.front(), "one\n");
  EXPECT_EQ(queue.wrote({4}), LogNext::Write);
  EXPECT_EQ(queue.wrote({queue.front().size()}), LogNext::Wait);
  EXPECT_TRUE(queue.is_empty());
}

TEST(LogQueue, CountsWhatDoesNotFitAtItsPlaceBetweenTheLines) {
  LogQueue queue(2 * (4 + kLogLineOverheadBytes), notice);
  for (const char* each : {"aaa\n", "bbb\n"}) EXPECT_TRUE(queue.push(each));
  for (const char* each : {"ccc\n", "ddd\n"}) EXPECT_FALSE(queue.push(each));
  EXPECT_EQ(queue.dropped_count(), 2u);
  queue.front();
  queue.wrote({4});
  EXPECT_TRUE(queue.push("eee\n"));
  EXPECT_FALSE(queue.push("fff\n"));
  queue.verify();
  EXPECT_EQ(drained(queue), "bbb\ndropped 2\neee\ndropped 1\n");
}

TEST(LogQueue, ALineThatWasWrittenInPartGoesOnAfterTheFileRefusedBytes) {
  LogQueue queue(1 << 20, notice);
  queue.push("0123456789\n");
  queue.front();
  EXPECT_EQ(queue.wrote({4, ENOSPC}), LogNext::Retry);
  EXPECT_EQ(queue.wrote({0, ENOSPC}), LogNext::Retry);
  EXPECT_EQ(queue.front(), "456789\n");
  queue.verify();
}

TEST(LogQueue, ALineLongerThanTheQueueIsCounted) {
  LogQueue queue(100, notice);
  EXPECT_FALSE(queue.push(std::string(200, 'x')));
  EXPECT_EQ(drained(queue), "dropped 1\n");
}

// Each line of `read` is the next one that was taken, or counts those that were not.
void expect_accounted(const std::string& read, const std::vector<bool>& was_taken) {
  std::size_t at = 0;
  std::istringstream lines(read);
  for (std::string line; std::getline(lines, line);) {
    const bool is_notice = line.starts_with("dropped ");
    const std::size_t count = is_notice ? std::stoul(line.substr(8)) : 1;
    ASSERT_LE(at + count, was_taken.size());
    ASSERT_TRUE(is_notice || std::stoul(line) == at) << line << " instead of " << at;
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(was_taken[at + i], !is_notice);
    at += count;
  }
  EXPECT_EQ(at, was_taken.size());
}

// Beside the simplest model: every line that was pushed, and whether it was taken. What a reader reads must
// be the taken ones in their order, and the counts between them those of the others.
TEST(LogQueue, AReaderHasEveryLineOrItsCountWhateverTheFileTakes) {
  for (const std::uint64_t seed : campaign_seeds(400)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    LogQueue queue(100 + random.next() % 2'000, notice);
    std::vector<bool> was_taken;
    std::string read;
    const auto write = [&](std::size_t room, int error) {
      const std::string_view front = queue.front();
      const std::size_t bytes = std::min(room, front.size());
      read += front.substr(0, bytes);
      queue.wrote({bytes, error});
    };
    for (int step = 0; step < 500; ++step) {
      if (random.next() % 3 != 0) {
        const std::string line =
            std::to_string(was_taken.size()) + std::string(random.next() % 100, '.') + "\n";
        was_taken.push_back(queue.push(line));
      } else {
        write(random.next() % 200, random.next() % 4 == 0 ? EIO : 0);
      }
      queue.verify();
    }
    read += drained(queue);
    expect_accounted(read, was_taken);
  }
}

}  // namespace
}  // namespace quire::server
