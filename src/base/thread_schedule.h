#pragma once
// What a thread asks of the kernel's scheduler. What the system does not know or allow leaves the
// thread as it was: it works either way.
//
// Thread   each is of the calling thread.
#include <cstdint>

namespace quire {

// Adds to how much it stands back behind other threads.
void add_niceness(int niceness);

// Short turns, in exchange for running at once when it wakes, even where the core has another
// thread in the middle of a longer turn (Linux 6.12 and later, as sched_attr::sched_runtime;
// Zijlstra, Complete EEVDF, 2024). Its share of the core stays the same. For threads that wait for
// each other many times in a step: where each wait costs somebody else's turn of milliseconds, a
// step takes ten times as long beside a busy process, and not twice.
void shorten_turns();

// Stays on the core of this index where a team has exactly as many threads as there are cores for
// this process; the system may otherwise have two of them take turns on one core, beside a core
// that is idle or another process has to itself. Elsewhere the system chooses.
void stay_on_core(std::uint32_t index, std::uint32_t team_size);

}  // namespace quire
