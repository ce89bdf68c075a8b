#pragma once
// One controller on one simulated device, in one thread, with the short-hands that tests need.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "control/api/adapter_catalog.h"
#include "control/controller/controller.h"
#include "control/store/disk_thread.h"
#include "control/store/simulated_file_system.h"
#include "inference/devices/simulated/simulated_backend.h"
#include "support/empty_catalog.h"

namespace quire::control {

using Answers = std::map<std::pair<InstanceId, FutureId>, Result<AnswerBody>>;

// Adapters that every tenant may use.
class LoadedAdapters final : public EmptyCatalog {
 public:
  std::vector<std::shared_ptr<const inference::Adapter>> all;
  std::shared_ptr<const inference::Adapter> find(TenantId, ModelIndex,
                                                 const Digest& digest) const override {
    for (const auto& each : all) {
      if (each->digest() == digest) return each;
    }
    return nullptr;
  }
};

class Harness final : public AnswerSink {
 public:
  static constexpr int kBatchCountMax = 20'000;  // Of one run().
  // Commands in turn say that they have 1, 2, ... bytes, up to this prime, and begin again.
  static constexpr std::uint32_t kArgumentBytesMax = 997;

  struct Options {
    inference::SimulatedBackendOptions device{};
    // Misses are explained, so that verify() walks what explains them too.
    ControllerOptions controller{.miss_count_max = 64};
    store::SimulatedFileSystem* files = nullptr;              // Where snapshots go; null: nowhere.
    std::uint64_t tenant_bytes_max = std::uint64_t{1} << 30;  // Of snapshots.
    std::vector<std::shared_ptr<const inference::Adapter>> adapters{};
    bool has_second_model = false;  // ModelIndex{1}, on a device of its own that takes turns.
  };

  explicit Harness(Options options);
  Harness();
  ~Harness() override;

  void answer(Answer given) override;
  void lost(InstanceId instance, const Error& error) override;

  FutureId send(InstanceId instance, CommandBody body, bool wants_answer = true);
  ObjectId new_object() { return ObjectId{++next_object}; }
  std::vector<ObjectId> new_objects(std::size_t count);

  // Runs until nothing more happens. Returns how many batches ran.
  int run();
  // Runs until the answer is there, or will not come by itself. More than once, because a context
  // counts as idle when a few batches went without it.
  void run_until(InstanceId instance, FutureId future);
  // One batch: dispatch, and complete what runs.
  bool step();
  // The batch under way, of whatever model; false where there is none.
  bool complete_next();
  // Leaves the batch under way.
  void begin_step();
  void verify() const;
  void check_nothing_is_pending() const;

  InstanceId start(TenantId tenant = TenantId{1}, const InstanceLimits& limits = {});
  ObjectId queue(InstanceId instance, Priority priority = Priority::Normal);
  ObjectId context(InstanceId instance, ObjectId in_queue);
  std::vector<ObjectId> embeds(InstanceId instance, ObjectId in_queue, std::size_t count);
  std::vector<ObjectId> pages(InstanceId instance, ObjectId in_queue, std::size_t count);

  bool has(InstanceId instance, FutureId future) const;
  const Result<AnswerBody>& at(InstanceId instance, FutureId future) const;
  // The answer, which must not be an error.
  const AnswerBody& body_at(InstanceId instance, FutureId future) const;
  template <typename T>
  T get(InstanceId instance, FutureId future) const {
    return std::get<T>(body_at(instance, future));
  }
  std::optional<ErrorCode> error(InstanceId instance, FutureId future) const;
  std::string message(InstanceId instance, FutureId future) const;
  std::uint32_t free_page_count() const;

  Wakeup wakeup;
  ManualClock clock;
  CompletionInbox inbox;
  inference::SimulatedBackend device;
  std::optional<inference::SimulatedBackend> second_device;
  ManualWallClock wall_clock;
  LoadedAdapters adapters;
  const AdapterCatalog* catalog = nullptr;  // What guests choose from by name; null: nothing.
  std::optional<store::InlineDisk> disk;
  std::unique_ptr<Controller> controller;
  Answers answers;
  std::map<InstanceId, Error> losses;
  bool verifies = true;
  std::uint32_t next_future = 0;
  std::uint32_t next_argument_bytes = 1;
  std::uint32_t next_object = 0;
  std::uint64_t next_instance = 0;
};

// Seeds of a campaign: QUIRE_TEST_SEED names one, QUIRE_TEST_SEED_COUNT how many; else `count` that
// change with the day. The caller prints the one that fails.
std::vector<std::uint64_t> test_seeds(std::size_t count);

// tokens first, first + 1, ... below 512
std::vector<std::uint32_t> count_tokens(std::size_t count, std::uint32_t first = 1);

}  // namespace quire::control
