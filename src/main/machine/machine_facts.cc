#include "main/machine/machine_facts.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

namespace quire {
namespace {

// The number after `name` in a file of lines "name: 123 kB"; 0 if there is none.
std::uint64_t kib_field(const char* path, const std::string& name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind(name + ":", 0) != 0) continue;
    return std::strtoull(line.c_str() + name.size() + 1, nullptr, 10);
  }
  return 0;
}

std::uint64_t number_in(const std::string& path, std::uint64_t otherwise) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? number : otherwise;  // "max" is not a number.
}

// The least number in the files of this name in `folder` + `path` and in all folders above that, down to `folder`.
std::uint64_t least_above(const std::string& folder, std::string path, const char* file) {
  std::uint64_t least = UINT64_MAX;
  while (true) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    least = std::min(least, number_in(folder + path + "/" + file, UINT64_MAX));
    if (path.empty()) return least;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

bool has_memory_controller(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "memory") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

}  // namespace

// A line of the file is "ID:CONTROLLERS:PATH", without controllers for version 2. In a container the folder of the path
// may not be there, and the limit is that of the root.
std::optional<std::uint64_t> memory_group_bytes_max(const std::string& groups_file,
                                                    const std::string& root) {
  std::ifstream groups(groups_file);
  std::uint64_t least = UINT64_MAX;
  std::string line;
  while (std::getline(groups, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, least_above(root, path, "memory.max"));
    } else if (has_memory_controller(controllers)) {
      least = std::min(least, least_above(root + "/memory", path, "memory.limit_in_bytes"));
    }
  }
  const std::uint64_t machine = kib_field("/proc/meminfo", "MemTotal") * 1024;
  return least < machine ? std::optional(least) : std::nullopt;
}

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

std::uint64_t memory_bytes_allowed() {
  return std::min(memory_bytes_total(), memory_group_bytes_max().value_or(UINT64_MAX));
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
