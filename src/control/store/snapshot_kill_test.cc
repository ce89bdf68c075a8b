// kill -9 at random moments while a process saves, overwrites, deletes and collects on real files.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/seeds.h"
#include "control/store/posix_file_system.h"
#include "control/store/snapshot_store.h"
#include "support/process.h"
#include "support/snapshot_harness.h"

namespace quire::store {
namespace {

using test::load;
using test::Loaded;
using test::make_snapshot;
using test::TestSnapshot;

constexpr std::uint64_t kRoundCount = 200;
constexpr std::size_t kRoundCountOfAShare = 10;  // It waits for the disk: a few in `make test`.
constexpr std::uint64_t kOperationCountMax = 100'000;  // Of a round: it is killed long before.
constexpr std::uint64_t kAnswersBeforeKillMax = 7;
constexpr std::uint64_t kKillDelayUsMax = 20'000;
constexpr std::uint64_t kPageBytes = 20'000;  // Several sectors and blocks.

// An operation of a round. The seed gives all of them, so that the parent needs only the count of
// answers.
struct Operation {
  enum class Kind : std::uint8_t { Save, Remove, Collect } kind = Kind::Save;
  TestSnapshot snapshot;  // Its name is what Remove removes.
};

class Script {
 public:
  explicit Script(std::uint64_t seed) : random_(seed) {}
  Operation next() {
    const std::uint64_t choice = random_.next() % 10;
    const std::string name(1, "abcde"[random_.next() % 5]);
    std::vector<std::uint32_t> tokens(random_.next() % 40, 1);
    for (std::size_t at = 8; at < tokens.size(); ++at) {
      tokens[at] = static_cast<std::uint32_t>(random_.next() % 1000);
    }
    Operation operation;
    operation.kind = choice == 0   ? Operation::Kind::Collect
                     : choice == 1 ? Operation::Kind::Remove
                                   : Operation::Kind::Save;
    operation.snapshot = make_snapshot("a", name, tokens, test::small_space(4, kPageBytes));
    return operation;
  }

 private:
  SeededRandom random_;
};

using Model = std::map<std::string, TestSnapshot>;

void do_in_model(const Operation& operation, Model& model) {
  const std::string& name = operation.snapshot.record.name;
  if (operation.kind == Operation::Kind::Save) model[name] = operation.snapshot;
  if (operation.kind == Operation::Kind::Remove) model.erase(name);
}

// Answers with a byte for each operation that is done, until it is killed. 2: something failed.
[[noreturn]] void work(const std::string& folder, std::uint64_t seed, int answers) {
  PosixFileSystem files;
  const SystemWallClock clock;
  Result<std::unique_ptr<SnapshotStore>> opened =
      SnapshotStore::open(files, clock, {.folder = folder});
  if (!opened.ok()) _exit(2);
  SnapshotStore& store = *opened.value();
  Script script(seed);
  for (std::uint64_t count = 0; count < kOperationCountMax; ++count) {
    const Operation operation = script.next();
    const TestSnapshot& snapshot = operation.snapshot;
    bool is_done = false;
    switch (operation.kind) {
      case Operation::Kind::Save:
        is_done = store.save(snapshot.record, snapshot.pages, {.overwrite = true}).ok();
        break;
      case Operation::Kind::Remove: {
        const Result<void> removed = store.remove("a", snapshot.record.name);
        is_done = removed.ok() || removed.error().code() == ErrorCode::NotFound;
        break;
      }
      case Operation::Kind::Collect:
        is_done = store.gc().ok();
        break;
    }
    const char answer = is_done ? 1 : 2;
    if (::write(answers, &answer, 1) != 1 || !is_done) _exit(2);
  }
  _exit(0);
}

struct Round {
  std::uint64_t done_count = 0;
  bool has_failed = false;
};

Round run_and_kill(const std::string& folder, std::uint64_t seed) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t child = ::fork();
  EXPECT_GE(child, 0);
  if (child == 0) work(folder, seed, ends[1]);
  ::close(ends[1]);
  // At a moment within some operation, however fast the disk is.
  SeededRandom random(~seed);
  const std::uint64_t answers_before_kill = random.next() % kAnswersBeforeKillMax;
  bool is_killed = false;
  Round round;
  char answer = 0;
  ssize_t got = 1;
  while (got == 1 || (got < 0 && errno == EINTR)) {
    if (!is_killed && round.done_count >= answers_before_kill) {
      ::usleep(static_cast<useconds_t>(random.next() % kKillDelayUsMax));
      ::kill(child, SIGKILL);
      is_killed = true;
    }
    got = ::read(ends[0], &answer, 1);
    round.done_count += got == 1 && answer == 1;
    round.has_failed |= got == 1 && answer != 1;
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  round.has_failed |= WIFEXITED(status);
  return round;
}

bool holds(SnapshotStore& store, const Model& model, std::string& why) {
  const Result<std::vector<SnapshotInfo>> list = store.list("a");
  if (!list.ok() || list.value().size() != model.size()) {
    why = "another number of snapshots";
    return false;
  }
  for (const auto& [name, snapshot] : model) {
    const test::LoadResult loaded = load(store, snapshot);
    if (loaded.loaded == Loaded::Equal) continue;
    why = name + ": " + loaded.why;
    return false;
  }
  return true;
}

std::uint64_t pages_in_files(const std::string& folder, std::uint64_t slot_bytes) {
  std::uint64_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".quire") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    for (std::uint64_t at = kPageFileHeaderBytes;; at += slot_bytes) {
      file.seekg(static_cast<std::streamoff>(at));
      const int first = file.get();
      if (first == EOF) break;
      count += first != 0;
    }
  }
  return count;
}

TEST(Kill, NothingAcknowledgedIsLostAndNothingIsLeftHalf) {
  const test::TemporaryFolder folder;
  const std::string kv = folder.file("kv");
  PosixFileSystem files;
  const SystemWallClock clock;
  Model model;
  std::uint64_t done_count = 0;
  std::vector<std::uint64_t> seeds = campaign_seeds(kRoundCount);
  if (seeds.size() < kRoundCount) seeds.resize(std::min(seeds.size(), kRoundCountOfAShare));
  for (const std::uint64_t seed : seeds) {
    SCOPED_TRACE("round " + std::to_string(seed));
    const Round round = run_and_kill(kv, seed);
    ASSERT_FALSE(round.has_failed);
    done_count += round.done_count;
    Script script(seed);
    for (std::uint64_t count = 0; count < round.done_count; ++count)
      do_in_model(script.next(), model);
    Model next = model;
    do_in_model(script.next(), next);  // It may have been done, and killed before it could say so.

    Result<std::unique_ptr<SnapshotStore>> store =
        SnapshotStore::open(files, clock, {.folder = kv});
    ASSERT_TRUE(store.ok()) << store.error().message();
    std::string why;
    std::string why_next;
    if (!holds(*store.value(), model, why)) {
      ASSERT_TRUE(holds(*store.value(), next, why_next))
          << "after " << round.done_count << " operations: " << why
          << "; with one more: " << why_next;
      model = next;
    }
    ASSERT_TRUE(store.value()->gc().ok());
    const Result<std::vector<Damage>> damages = store.value()->verify();
    ASSERT_TRUE(damages.ok());
    for (const Damage& each : damages.value()) ADD_FAILURE() << each.where << ": " << each.what;
    EXPECT_EQ(pages_in_files(kv, slot_bytes_of(test::small_space(4, kPageBytes))),
              store.value()->counts().stored_page_count);
  }
  std::printf("%zu rounds, %llu operations acknowledged\n", seeds.size(),
              static_cast<unsigned long long>(done_count));
  EXPECT_GT(done_count, seeds.size());
}

}  // namespace
}  // namespace quire::store
