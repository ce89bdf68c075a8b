#pragma once
// Would random programs notice a planted fault (base/planted_fault.h)? Each is switched on in a
// process of its own, which runs programs, seed after seed, until one fails or a check stops it.
//
// For test programs that are linked with files compiled with QUIRE_PLANTED_FAULTS, and that define
// quire::planted_fault. Thread: one.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>

#include "base/planted_fault.h"
#include "support/verifying.h"

namespace quire::test {

inline constexpr rlim_t kFaultSecondsMax = 100;  // At work on one; then it counts as not noticed.

// Random programs that may notice.
struct Driver {
  const char* name;
  void (*run)(std::uint64_t seed);
};

struct Plant {
  Fault fault;
  const char* name;
  Driver driver;
};

// The child writes this while it lives, for the parent to read when it is gone.
struct Shared {
  std::uint64_t seed_count;
  bool was_verifying;
};
inline Shared* shared = nullptr;

inline void on_abort(int) {
  shared->was_verifying = is_verifying;
  std::signal(SIGABRT, SIG_DFL);
  std::raise(SIGABRT);
}

[[noreturn]] inline void be_the_child(Fault fault, const Driver& driver, std::uint64_t first,
                                      std::uint64_t seed_count, int output) {
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const rlimit time{kFaultSecondsMax, kFaultSecondsMax + 1};
  setrlimit(RLIMIT_CPU, &time);
  std::signal(SIGABRT, on_abort);
  planted_fault = fault;
  for (std::uint64_t seed = first; seed < first + seed_count; ++seed) {
    ++shared->seed_count;
    driver.run(seed);
    if (testing::Test::HasFailure()) {
      std::fflush(stdout);
      _exit(1);
    }
  }
  _exit(0);
}

struct FaultFinding {
  bool is_noticed = false;
  std::uint64_t seed_count = 0;
  std::string by;
  std::string words;
};

inline std::string line_behind(const std::string& text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + mark.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

inline std::string read_all(int file) {
  std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
  const ssize_t count = pread(file, text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

inline FaultFinding judge(int status, const std::string& output) {
  FaultFinding finding{};
  finding.seed_count = shared->seed_count;
  const bool is_checked = output.find("check failed: ") != std::string::npos;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return finding;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
    finding.words = "out of time";
    return finding;
  }
  finding.is_noticed = true;
  if (is_checked) {
    finding.by = shared->was_verifying ? "verify" : "check";
    finding.words = line_behind(output, "check failed: ");
  } else if (WIFSIGNALED(status)) {
    finding.by = std::string("signal ") + strsignal(WTERMSIG(status));
    finding.words = output.substr(0, 60);
  } else {
    finding.by = output.find("tokens differ") != std::string::npos ? "tokens" : "model";
    finding.words = line_behind(output, "Failure\n");
    if (finding.words == "Failed") finding.words = line_behind(output, "Failed\n");
  }
  return finding;
}

inline FaultFinding look_for(Fault fault, const Driver& driver, std::uint64_t first,
                             std::uint64_t seed_count) {
  *shared = {};
  std::FILE* output = std::tmpfile();
  EXPECT_NE(output, nullptr);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) be_the_child(fault, driver, first, seed_count, fileno(output));
  EXPECT_GT(child, 0);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  const FaultFinding finding = judge(status, read_all(fileno(output)));
  std::fclose(output);
  return finding;
}

// Prints how each was noticed; gives the names of those that were not, a line each.
inline std::string missed_of(std::span<const Plant> plants, std::uint64_t first,
                             std::uint64_t seed_count_max) {
  std::string missed;  // Said by the caller, at the end: a child inherits what has failed so far.
  std::printf("%-36s %-10s %5s  noticed by (from seed %llu)\n", "fault", "programs", "seeds",
              static_cast<unsigned long long>(first));
  for (const Plant& plant : plants) {
    const FaultFinding found = look_for(plant.fault, plant.driver, first, seed_count_max);
    std::printf("%-36s %-10s %5llu  %s: %.60s\n", plant.name, plant.driver.name,
                static_cast<unsigned long long>(found.seed_count), found.by.c_str(),
                found.words.c_str());
    if (!found.is_noticed) missed += std::string(plant.name) + " " + found.words + "\n";
  }
  return missed;
}

// The findings, a line for each driver, when no fault is planted.
inline std::string noticed_unplanted(std::span<const Driver> drivers, std::uint64_t seed_count) {
  std::string noticed;
  for (const Driver& driver : drivers) {
    const FaultFinding found = look_for(Fault::None, driver, 0, seed_count);
    if (!found.is_noticed && found.words.empty()) continue;
    noticed += std::string(driver.name) + ", seed " + std::to_string(found.seed_count - 1) + ": " +
               found.by + " " + found.words + "\n";
  }
  return noticed;
}

// Has the memory that children share with the test.
class PlantedFaults : public testing::Test {
 protected:
  void SetUp() override {
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    shared = static_cast<Shared*>(memory);
  }
  void TearDown() override {
    munmap(shared, sizeof(Shared));
    shared = nullptr;
  }
};

}  // namespace quire::test
