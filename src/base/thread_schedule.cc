#include "base/thread_schedule.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace quire {
namespace {

constexpr std::uint64_t kTurnNs = 100'000;  // The least that the kernel takes.

// The first version of the kernel's struct sched_attr, which C libraries do not declare yet.
struct ScheduleAttributes {
  std::uint32_t bytes = 48;
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t niceness = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};
static_assert(sizeof(ScheduleAttributes) == 48);

}  // namespace

void add_niceness(int niceness) {
  if (niceness == 0) return;
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  const int now = getpriority(PRIO_PROCESS, thread);
  static_cast<void>(setpriority(PRIO_PROCESS, thread, now + niceness));
}

void shorten_turns() {
  ScheduleAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;  // A user chose another policy for this process.
  attributes.runtime_ns = kTurnNs;
  static_cast<void>(syscall(SYS_sched_setattr, 0, &attributes, 0));
}

void stay_on_core(std::uint32_t index, std::uint32_t team_size) {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return;  // More than 1,024 cores.
  if (static_cast<std::uint32_t>(CPU_COUNT(&cores)) != team_size) return;
  int core = 0;
  for (std::uint32_t before = index;; ++core) {
    if (CPU_ISSET(core, &cores) && before-- == 0) break;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  static_cast<void>(sched_setaffinity(0, sizeof one, &one));
}

}  // namespace quire
