#include "main/verbs/serve/log_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <sstream>

#include "base/descriptor.h"

namespace quire {
namespace {

class LogWriters : public testing::Test {
 protected:
  LogWriters() {
    signal(SIGPIPE, SIG_IGN);  // As in `serve`.
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    reader = Descriptor(ends[0]);
    writer = Descriptor(ends[1]);
  }
  std::unique_ptr<LogWriter> log() {
    return LogWriter::open(writer.get(),
                           [](std::uint64_t count) { return "dropped " + std::to_string(count); })
        .take();
  }
  std::string read_rest() {
    std::string text;
    char part[65536];
    for (ssize_t count; (count = read(reader.get(), part, sizeof part)) > 0;) {
      text.append(part, static_cast<std::size_t>(count));
    }
    return text;
  }
  Descriptor reader;
  Descriptor writer;
};

// Longer than the queue and the pipe together: a line is 1,000 bytes, and there are 3,000.
constexpr int kLineCount = 3'000;
const std::string kLine(1'000, '.');

TEST_F(LogWriters, ALogThatIsNotReadHoldsNobodyAndCountsWhatItDropped) {
  std::unique_ptr<LogWriter> lines = log();
  for (int i = 0; i < kLineCount; ++i) lines->write(kLine);
  EXPECT_GT(lines->dropped_count(), 1'000u);
  const std::uint64_t dropped = lines->dropped_count();
  std::thread ending([&] {
    lines.reset();
    writer.reset();
  });
  std::istringstream text(read_rest());
  ending.join();
  std::uint64_t read_count = 0;
  std::uint64_t told_count = 0;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("dropped ")) {
      told_count += std::stoul(line.substr(8));
    } else {
      EXPECT_EQ(line, kLine);
      ++read_count;
    }
  }
  EXPECT_EQ(told_count, dropped);
  EXPECT_EQ(read_count + told_count, kLineCount);
}

TEST_F(LogWriters, EndsWhileNobodyReads) {
  std::unique_ptr<LogWriter> lines = log();
  for (int i = 0; i < kLineCount; ++i) lines->write(kLine);
  const auto begin = std::chrono::steady_clock::now();
  lines.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5 * kLastLinesTime);
}

TEST_F(LogWriters, AFlushReturnsOnceTheLinesAreThere) {
  const std::unique_ptr<LogWriter> lines = log();
  fcntl(reader.get(), F_SETFL, O_NONBLOCK);
  for (int i = 0; i < 100; ++i) {
    lines->write("line");
    lines->flush();
    char part[16];
    ASSERT_EQ(read(reader.get(), part, sizeof part), 5) << i;
  }
}

TEST_F(LogWriters, OutlivesItsReader) {
  std::unique_ptr<LogWriter> lines = log();
  reader.reset();
  for (int i = 0; i < kLineCount; ++i) lines->write(kLine);
  EXPECT_GT(lines->dropped_count(), 1'000u);
}

TEST_F(LogWriters, GoesOnOnceAFullDiskHasRoom) {
  std::unique_ptr<LogWriter> lines = log();
  const Descriptor pipe(dup(writer.get()));
  const Descriptor full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_GE(dup2(full.get(), writer.get()), 0);
  lines->write("first");
  lines->write("second");
  ASSERT_GE(dup2(pipe.get(), writer.get()), 0);
  char part[64];
  std::string text;
  while (text.size() < 13) {
    const ssize_t count = read(reader.get(), part, sizeof part);
    ASSERT_GT(count, 0);
    text.append(part, static_cast<std::size_t>(count));
  }
  EXPECT_EQ(text, "first\nsecond\n");
}

}  // namespace
}  // namespace quire
