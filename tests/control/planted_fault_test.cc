// Would the random programs notice? Each fault of base/planted_fault.h is switched on in a process
// of its own, which runs programs until one fails or a check stops it: within kSeedCountMax seeds.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <functional>
#include <map>
#include <string>

#include "base/planted_fault.h"
#include "base/seeds.h"
#include "control/page_program.h"
#include "control/schedule_program.h"
#include "support/admission_program.h"
#include "support/page_cache_program.h"
#include "support/store_program.h"
#include "support/verifying.h"

namespace quire {

Fault planted_fault = Fault::None;

namespace {

constexpr std::uint64_t kSeedCountMax = 1'000;
constexpr std::uint64_t kSeedCountUnplanted = 20;
constexpr rlim_t kSecondsMax = 100;  // At work on one fault; then it counts as not noticed.
constexpr std::uint64_t kBeginningCount = 4;  // Of seeds; `make test` takes one of them.

void run_all(std::uint64_t seed) {
  control::PageProgram(control::Knobs::of_seed(seed), seed).run();
}
void run_page_cache(std::uint64_t seed) {
  for (const std::uint32_t hash_bits : {8u, 64u}) test::PageCacheProgram(seed, hash_bits).run();
}
void run_store(std::uint64_t seed) {
  std::map<std::string, std::uint64_t> coverage;
  test::StoreProgram(seed).run(coverage);
}

void run_schedule(std::uint64_t seed) {
  control::ScheduleProgram(control::ScheduleKnobs::of_seed(seed), seed).run();
}

void run_admission(std::uint64_t seed) {
  test::AdmissionProgram(seed).run();
}

struct Driver {
  const char* name;
  void (*run)(std::uint64_t seed);
};
constexpr Driver kAll{"all", run_all};
constexpr Driver kPageCache{"page cache", run_page_cache};
constexpr Driver kStore{"store", run_store};
constexpr Driver kSchedule{"schedule", run_schedule};
constexpr Driver kAdmission{"admission", run_admission};

struct Plant {
  Fault fault;
  const char* name;
  Driver driver;
};
constexpr Plant kPlants[] = {
    {Fault::ForkWithoutCount, "count not raised on fork", kAll},
    {Fault::ReleaseWithoutDrop, "count not dropped on release", kAll},
    {Fault::ReleaseTwice, "count dropped twice", kAll},
    {Fault::PublishedBeforeWritten, "published before written", kAll},
    {Fault::NameWithoutParent, "parent left out of the name", kAll},
    {Fault::NameWithoutPosition, "position left out of the name", kPageCache},
    {Fault::NameWithoutDomain, "domain left out of the name", kAll},
    {Fault::CompareSkipped, "compare skipped with an 8-bit hash", kAll},
    {Fault::FreedWithoutFence, "freed without the fence", kAll},
    {Fault::SealedPageWritten, "sealed page written", kAll},
    {Fault::RewindOffByOne, "rewind off by one", kAll},
    {Fault::BoundaryPageNotCopied, "boundary page not copied", kAll},
    {Fault::DropRangeRenumbers, "drop_range renumbers", kAll},
    {Fault::EvictedBeforeLeaves, "cold page evicted before its leaves", kAll},
    {Fault::IndexEntryLeftBehind, "index entry left behind", kAll},
    {Fault::OpaquePageFound, "opaque page found", kPageCache},
    {Fault::ClaimKeptAfterFailure, "claim kept after failure", kAll},
    {Fault::RestoredFromStaleSlot, "restored from a stale slot", kAll},
    {Fault::LoadedFromStaleSlot, "loaded from a stale slot of a tier", kAll},
    {Fault::ChecksumNotChecked, "checksum not checked", kStore},
    {Fault::FolderNotSynced, "directory not synced", kStore},
    {Fault::IndexBeforePages, "snapshot index before pages", kStore},
    {Fault::CollectsReusedPage, "gc takes what a save reuses", kStore},
    {Fault::QuotaCountsTwice, "quota counted twice", kStore},
    {Fault::BatchOverLimit, "batch over the limit", kSchedule},
    {Fault::PriorityIgnored, "priority ignored", kSchedule},
    {Fault::AgingOff, "aging off", kSchedule},
    {Fault::ShareIgnored, "tenant share ignored", kSchedule},
    {Fault::ConflictMerged, "conflicting forwards merged", kSchedule},
    {Fault::BarrierSkipped, "order broken across a synchronize", kSchedule},
    {Fault::AdmissionForgets, "admission forgets who ended", kAdmission},
};
static_assert(std::size(kPlants) == kFaultCount - 1, "a driver for each fault");

// What the child writes while it lives, for the parent to read when it is gone.
struct Shared {
  std::uint64_t seed_count;
  bool was_verifying;
};
Shared* shared = nullptr;

void on_abort(int) {
  shared->was_verifying = test::is_verifying;
  std::signal(SIGABRT, SIG_DFL);
  std::raise(SIGABRT);
}

[[noreturn]] void be_the_child(Fault fault, const Driver& driver, std::uint64_t first,
                               std::uint64_t seed_count, int output) {
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const rlimit time{kSecondsMax, kSecondsMax + 1};
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

struct Finding {
  bool is_noticed = false;
  std::uint64_t seed_count = 0;
  std::string by;
  std::string words;
};

std::string line_behind(const std::string& text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + mark.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::string read_all(int file) {
  std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
  const ssize_t count = pread(file, text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

Finding judge(int status, const std::string& output) {
  Finding finding{};
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
  }
  return finding;
}

Finding look_for(Fault fault, const Driver& driver, std::uint64_t first, std::uint64_t seed_count) {
  *shared = {};
  std::FILE* output = std::tmpfile();
  EXPECT_NE(output, nullptr);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) be_the_child(fault, driver, first, seed_count, fileno(output));
  EXPECT_GT(child, 0);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  const Finding finding = judge(status, read_all(fileno(output)));
  std::fclose(output);
  return finding;
}

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

TEST_F(PlantedFaults, AreAllNoticedWithinAThousandSeeds) {
  std::string missed;  // Said at the end: a child inherits what has failed so far.
  for (const std::uint64_t beginning : campaign_seeds(kBeginningCount)) {
    const std::uint64_t first = beginning * kSeedCountMax;
    std::printf("%-36s %-10s %5s  noticed by (from seed %llu)\n", "fault", "programs", "seeds",
                static_cast<unsigned long long>(first));
    for (const Plant& plant : kPlants) {
      const Finding found = look_for(plant.fault, plant.driver, first, kSeedCountMax);
      std::printf("%-36s %-10s %5llu  %s: %.60s\n", plant.name, plant.driver.name,
                  static_cast<unsigned long long>(found.seed_count), found.by.c_str(),
                  found.words.c_str());
      if (!found.is_noticed) missed += std::string(plant.name) + " " + found.words + "\n";
    }
  }
  EXPECT_EQ(missed, "");
}

TEST_F(PlantedFaults, NothingIsNoticedWhereNoneIsPlanted) {
  std::string noticed;
  for (const Driver& driver : {kAll, kPageCache, kStore, kSchedule, kAdmission}) {
    const Finding found = look_for(Fault::None, driver, 0, kSeedCountUnplanted);
    if (!found.is_noticed && found.words.empty()) continue;
    noticed += std::string(driver.name) + ", seed " + std::to_string(found.seed_count - 1) + ": " +
               found.by + " " + found.words + "\n";
  }
  EXPECT_EQ(noticed, "");
}

}  // namespace
}  // namespace quire
