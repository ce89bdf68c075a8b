#pragma once
// Each of these functions asks the kernel's scheduler something for the calling thread. If the
// system does not know or allow it, the thread stays as it was: it works either way.
//
// Thread   any.
#include <cstdint>

namespace quire {

// A nicer thread leaves more of the processor to other threads.
void add_niceness(int niceness);

// Gives the thread short turns, in exchange for running at once when it wakes, even if the core has
// another thread in the middle of a longer turn. Its share of the core stays the same. This is
// Linux's sched_attr::sched_runtime, from 6.12 on (Zijlstra, Complete EEVDF, 2024).
//
// It is for threads that wait for each other many times in a step. Otherwise each wait costs a turn
// of milliseconds of another process, and a step beside a busy process takes ten times as long.
// With short turns it takes twice as long.
void shorten_turns();

// Stays on the core of this index if the team has as many threads as this process has cores. The
// system might otherwise let two of the threads take turns on one core while another core is idle,
// or has only another process. With fewer or more threads than cores, the system chooses.
void stay_on_core(std::uint32_t index, std::uint32_t team_size);

}  // namespace quire
