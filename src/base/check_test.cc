#include "base/check.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace quire {
namespace {

TEST(CheckDeathTest, SaysWhatFailedAndWhy) {
  EXPECT_DEATH(QUIRE_CHECK(1 + 1 == 3, "sums are right"),
               "check_test.cc:[0-9]+: check failed: 1 \\+ 1 == 3 \\(sums are right\\)");
}

void fill_standard_error() {
  int ends[2];
  if (pipe(ends) != 0) _exit(1);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const std::string bytes(4096, 'x');
  while (write(ends[1], bytes.data(), bytes.size()) > 0) {
  }
  fcntl(ends[1], F_SETFL, 0);
  dup2(ends[1], STDERR_FILENO);
}

TEST(CheckDeathTest, EndsTheProcessAlthoughNothingReadsStandardError) {
  EXPECT_EXIT(
      {
        fill_standard_error();
        alarm(20);
        QUIRE_CHECK(false, "nobody reads this");
      },
      testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace quire
