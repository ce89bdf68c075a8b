#include "base/thread_schedule.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>

#include "base/thread_schedule_test_support.h"

namespace quire {
namespace {

std::uint64_t own_turn_ns() {  // 0: the kernel does not report it.
  std::array<std::byte, 48> attributes{};
  std::uint64_t runtime_ns = 0;
  if (syscall(SYS_sched_getattr, 0, attributes.data(), attributes.size(), 0) != 0) return 0;
  std::memcpy(&runtime_ns, attributes.data() + 24, sizeof runtime_ns);
  return runtime_ns;
}

TEST(ThreadSchedule, NicenessIsOfTheThreadAlone) {
  const int before = own_niceness();
  std::thread([&] {
    add_niceness(1);
    EXPECT_EQ(own_niceness(), std::min(before + 1, 19));
  }).join();
  EXPECT_EQ(own_niceness(), before);
}

TEST(ThreadSchedule, ShortTurnsKeepPolicyAndNiceness) {
  const std::uint64_t before_ns = own_turn_ns();
  std::thread([&] {
    add_niceness(2);
    const int niceness = own_niceness();
    shorten_turns();
    EXPECT_EQ(own_niceness(), niceness);
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
    if (before_ns == 0) return;  // Before Linux 6.12 there is nothing to ask for.
    EXPECT_EQ(own_turn_ns(), 100'000u);
  }).join();
  EXPECT_EQ(own_turn_ns(), before_ns);
}

TEST(ThreadSchedule, AThreadOfAnotherPolicyIsLeftAsItIs) {
  std::thread([] {
    sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    const std::uint64_t before_ns = own_turn_ns();
    shorten_turns();
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
    EXPECT_EQ(own_turn_ns(), before_ns);
  }).join();
}

cpu_set_t own_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  EXPECT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
  return cores;
}

TEST(ThreadSchedule, ATeamOfAsManyThreadsAsCoresHasOneEach) {
  const cpu_set_t all = own_cores();
  const auto count = static_cast<std::uint32_t>(CPU_COUNT(&all));
  cpu_set_t seen;
  CPU_ZERO(&seen);
  for (std::uint32_t index = 0; index < count; ++index) {
    std::thread([&] {
      stay_on_core(index, count);
      const cpu_set_t own = own_cores();
      EXPECT_EQ(CPU_COUNT(&own), 1);
      CPU_OR(&seen, &seen, &own);
    }).join();
  }
  EXPECT_TRUE(CPU_EQUAL(&seen, &all));
}

TEST(ThreadSchedule, ATeamOfAnotherSizeIsLeftToTheSystem) {
  const cpu_set_t all = own_cores();
  const auto count = static_cast<std::uint32_t>(CPU_COUNT(&all));
  for (const std::uint32_t team : {count - 1, count + 1}) {
    std::thread([&] {
      stay_on_core(0, team);
      const cpu_set_t own = own_cores();
      EXPECT_TRUE(CPU_EQUAL(&own, &all)) << team;
    }).join();
  }
}

}  // namespace
}  // namespace quire
