#include "main/machine/machine_facts.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

namespace quire {
namespace {

// The number behind `name` in a file of lines "name: 123 kB"; 0 where there is none.
std::uint64_t kib_field(const char* path, const std::string& name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind(name + ":", 0) != 0) continue;
    return std::strtoull(line.c_str() + name.size() + 1, nullptr, 10);
  }
  return 0;
}

std::uint64_t number_in(const char* path, std::uint64_t otherwise) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? number : otherwise;  // "max" is no number.
}

}  // namespace

std::uint32_t physical_core_count() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  }
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                       "/topology/thread_siblings_list");
    std::string siblings;
    if (!(file >> siblings)) siblings = std::to_string(cpu);
    cores.insert(siblings);
  }
  return static_cast<std::uint32_t>(std::max<std::size_t>(1, cores.size()));
}

std::uint32_t processor_count() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  }
  return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&allowed)));
}

std::uint64_t memory_bytes_total() {
  const std::uint64_t machine = kib_field("/proc/meminfo", "MemTotal") * 1024;
  return std::min(machine, number_in("/sys/fs/cgroup/memory.max", machine));
}

std::uint64_t memory_bytes_available() {
  const std::uint64_t machine = kib_field("/proc/meminfo", "MemAvailable") * 1024;
  const std::uint64_t limit = number_in("/sys/fs/cgroup/memory.max", UINT64_MAX);
  const std::uint64_t used = number_in("/sys/fs/cgroup/memory.current", 0);
  return std::min(machine, limit > used ? limit - used : 0);
}

std::uint64_t memory_bytes_resident() {
  return kib_field("/proc/self/status", "VmRSS") * 1024;
}

std::uint64_t memory_bytes_resident_max() {
  return kib_field("/proc/self/status", "VmHWM") * 1024;
}

void reset_memory_bytes_resident_max() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace quire
