#pragma once
// The seccomp filter of a process that reads a stranger's bytes: part of its wall (worker_wall.h).

namespace quire::workers {

// Allows the calling thread, and those it starts, the system calls listed in the .cc; every other
// one fails with EPERM. Returns 0, or the errno that says why there is no filter. Requires: no new
// privileges.
int raise_system_call_filter();

}  // namespace quire::workers
