#pragma once
// What the machine has, read from the kernel's own files.
//
// Thread   any.
#include <cstdint>

namespace quire {

// Cores that this process may use, hyperthreads of one core counted once; at least 1.
std::uint32_t physical_core_count();

// Processors that this process may use, hyperthreads included; at least 1.
std::uint32_t processor_count();

// The smaller of the machine's memory and what the process's control group allows.
std::uint64_t memory_bytes_total();
std::uint64_t memory_bytes_available();
// Resident set of this process: now, and the most since reset (or since it began, where the kernel
// does not let it be reset).
std::uint64_t memory_bytes_resident();
std::uint64_t memory_bytes_resident_max();
void reset_memory_bytes_resident_max();

}  // namespace quire
