#pragma once
// Facts of the machine, read from the kernel's own files.
//
// Thread   any.
#include <cstdint>
#include <optional>
#include <string>

namespace quire {

// Cores that this process may use, hyperthreads of one core counted once; at least 1.
std::uint32_t physical_core_count();

// Processors that this process may use, hyperthreads included; at least 1.
std::uint32_t processor_count();

// The smaller of the machine's memory and what the process's control group allows.
std::uint64_t memory_bytes_total();
std::uint64_t memory_bytes_available();
// The memory that the control groups of this process allow, those above its own included: version 2
// (memory.max) and 1 (memory.limit_in_bytes). None: no limit that is less than the machine's
// memory. The arguments are the kernel's files.
std::optional<std::uint64_t> memory_group_bytes_max(
    const std::string& groups_file = "/proc/self/cgroup",
    const std::string& root = "/sys/fs/cgroup");
// The memory that this process may have: the machine's, or what its control groups allow.
std::uint64_t memory_bytes_allowed();
// Resident set of this process: now, and the most since reset (or since it began, where the kernel
// does not let it be reset).
std::uint64_t memory_bytes_resident();
std::uint64_t memory_bytes_resident_max();
void reset_memory_bytes_resident_max();

}  // namespace quire
