#pragma once
// The wall of a process that reads a stranger's bytes. Code that takes the process over after that
// reaches no file, no network and no other process. It can only reply wrongly, within the limits of
// WorkerProcess.
//
// The process always gives up capabilities and new privileges. The kernel decides about the rest:
//
//   Namespaces   user, mount, network and IPC namespaces of its own. Within its user namespace a
//                limit on threads (RLIMIT_NPROC) counts this process alone.
//   Files        landlock without a rule: no path can be opened, changed or executed
//   SystemCalls  a seccomp filter with the calls that compute and those on open descriptors
//
// Thread   the process's only one: a thread that exists already would keep what this one gives up.
// Errors   Unavailable if the process keeps its capabilities or may get new privileges.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace quire::workers {

enum class Wall : std::uint8_t { Namespaces, Files, SystemCalls };
inline constexpr Wall kWalls[] = {Wall::Namespaces, Wall::Files, Wall::SystemCalls};
inline constexpr std::size_t kWallCount = std::size(kWalls);

// As operators know them: "namespaces", "landlock", "seccomp".
const char* name_of(Wall wall);

// A WallReport says which walls stand. It goes over a pipe as plain bytes.
struct WallReport {
  std::int32_t missing[kWallCount] = {};  // 0: it stands; otherwise the errno of the refusal.

  bool stands(Wall wall) const { return missing[static_cast<std::size_t>(wall)] == 0; }
  bool is_whole() const;
};

// "landlock (Function not implemented), seccomp (Invalid argument)"; empty if all stand.
std::string missing_walls(const WallReport& report);

// Raises every wall that the kernel allows. `thread_count_max`: of the process, with this one.
Result<WallReport> raise_wall(std::uint32_t thread_count_max);

}  // namespace quire::workers
