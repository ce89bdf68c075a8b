#pragma once
// One controller on one simulated device, in one thread, with the short-hands that tests need.
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "control/controller/controller.h"
#include "control/store/disk_thread.h"
#include "control/store/simulated_file_system.h"
#include "inference/handlers/simulated_backend.h"
#include "support/verifying.h"

namespace quire::control {

using Answers = std::map<std::pair<InstanceId, FutureId>, Result<AnswerBody>>;

class Harness final : public AnswerSink {
 public:
  static constexpr int kBatchCountMax = 20'000;  // Of one run().

  struct Options {
    inference::SimulatedBackendOptions device{};
    // Misses are explained, so that verify() walks what explains them too.
    ControllerOptions controller{.miss_count_max = 64};
    store::SimulatedFileSystem* files = nullptr;              // Where snapshots go; null: nowhere.
    std::uint64_t tenant_bytes_max = std::uint64_t{1} << 30;  // Of snapshots.
    bool has_second_model = false;  // ModelIndex{1}, on which nothing is computed.
  };

  explicit Harness(Options options) : inbox(wakeup), device(fill(options.device), inbox) {
    if (options.files != nullptr) {
      disk.emplace(*options.files, open_store(options), inbox, clock);
      options.controller.disk = &*disk;
    }
    std::vector<ServedModel> models{{.backend = &device}};
    if (options.has_second_model) {
      second_device.emplace(fill(options.device), inbox);
      models.push_back({.backend = &*second_device});
    }
    controller =
        make_controller(std::move(models), options.controller, inbox, *this, wakeup, clock);
  }
  Harness() : Harness(Options{}) {}

  void answer(Answer given) override {
    const auto key = std::pair(given.instance, given.future);
    if (answers.contains(key)) {
      std::cerr << "a future was answered twice\n";
      std::abort();
    }
    answers.emplace(key, std::move(given.body));
  }

  void lost(InstanceId instance, const Error& error) override {
    if (!losses.emplace(instance, error.copy()).second) {
      std::cerr << "an instance was lost twice\n";
      std::abort();
    }
  }

  FutureId send(InstanceId instance, CommandBody body, bool wants_answer = true) {
    const FutureId future = wants_answer ? FutureId{++next_future} : kNoFuture;
    controller->submit({.instance = instance, .future = future, .body = std::move(body)});
    return future;
  }
  ObjectId new_object() { return ObjectId{++next_object}; }
  std::vector<ObjectId> new_objects(std::size_t count) {
    std::vector<ObjectId> ids;
    while (ids.size() < count) ids.push_back(new_object());
    return ids;
  }

  // Runs until nothing more happens. Returns how many batches ran.
  int run() {
    int batches = 0;
    for (bool goes_on = true; goes_on;) {
      if (batches > kBatchCountMax) {
        std::cerr << "no end after " << batches << " batches\n";
        std::abort();
      }
      goes_on = controller->poll();
      if (controller->dispatch()) {
        ++batches;
        goes_on = true;
      }
      while (device.inflight_count() > 0) device.complete_next(), goes_on = true;
      while (disk && disk->run_one()) goes_on = true;
      verify();
    }
    return batches;
  }
  // Runs until the answer is there, or will not come by itself. More than once, because a context
  // counts as idle when a few batches went without it.
  void run_until(InstanceId instance, FutureId future) {
    for (int turn = 0; turn < 10 && !has(instance, future); ++turn) run();
  }
  // One batch: dispatch, and complete what runs.
  bool step() {
    controller->poll();
    const bool any = controller->dispatch();
    while (device.inflight_count() > 0) device.complete_next();
    if (disk) disk->run_one();
    controller->poll();
    verify();
    return any;
  }
  // Leaves the batch under way.
  void begin_step() {
    controller->poll();
    controller->dispatch();
    verify();
  }
  void verify() const {
    if (!verifies) return;
    const test::Verifying verifying;
    controller->verify();
  }

  InstanceId start(TenantId tenant = TenantId{1}, const InstanceLimits& limits = {}) {
    const InstanceId id{++next_instance};
    controller->start_instance(id, tenant, limits);
    return id;
  }
  ObjectId queue(InstanceId instance, Priority priority = Priority::Normal) {
    const ObjectId id = new_object();
    send(instance, CreateQueue{.queue = id, .model = ModelIndex{0}, .priority = priority}, false);
    return id;
  }
  ObjectId context(InstanceId instance, ObjectId in_queue) {
    const ObjectId id = new_object();
    send(instance, ContextCreate{.context = id, .queue = in_queue}, false);
    return id;
  }
  std::vector<ObjectId> embeds(InstanceId instance, ObjectId in_queue, std::size_t count) {
    std::vector<ObjectId> ids = new_objects(count);
    send(instance, AllocEmbeds{.queue = in_queue, .embeds = ids}, false);
    return ids;
  }
  std::vector<ObjectId> pages(InstanceId instance, ObjectId in_queue, std::size_t count) {
    std::vector<ObjectId> ids = new_objects(count);
    send(instance, AllocPages{.queue = in_queue, .pages = ids}, false);
    return ids;
  }

  bool has(InstanceId instance, FutureId future) const {
    return answers.contains(std::pair(instance, future));
  }
  const Result<AnswerBody>& at(InstanceId instance, FutureId future) const {
    return answers.at(std::pair(instance, future));
  }
  template <typename T>
  T get(InstanceId instance, FutureId future) const {
    const Result<AnswerBody>& body = at(instance, future);
    if (!body.ok()) {
      std::cerr << "answer: " << error_code_name(body.error().code()) << ": "
                << body.error().message() << "\n";
      std::abort();
    }
    return std::get<T>(body.value());
  }
  std::optional<ErrorCode> error(InstanceId instance, FutureId future) const {
    const Result<AnswerBody>& body = at(instance, future);
    if (body.ok()) return std::nullopt;
    return body.error().code();
  }
  std::string message(InstanceId instance, FutureId future) const {
    return std::string(at(instance, future).error().message());
  }
  std::uint32_t free_page_count() const { return controller->statistics().page_count_free; }

  Wakeup wakeup;
  ManualClock clock;
  CompletionInbox inbox;
  inference::SimulatedBackend device;
  std::optional<inference::SimulatedBackend> second_device;
  ManualWallClock wall_clock;
  std::optional<store::InlineDisk> disk;
  std::unique_ptr<Controller> controller;
  Answers answers;
  std::map<InstanceId, Error> losses;
  bool verifies = true;
  std::uint32_t next_future = 0;
  std::uint32_t next_object = 0;
  std::uint64_t next_instance = 0;

 private:
  std::unique_ptr<store::SnapshotStore> open_store(const Options& wanted) {
    store::StoreOptions options;
    options.folder = "store";
    options.cached_slot_count_max = wanted.controller.disk_tier_page_count;
    options.tenant_bytes_max = wanted.tenant_bytes_max;
    auto opened = store::SnapshotStore::open(*wanted.files, wall_clock, options);
    if (!opened.ok()) {
      std::cerr << "store: " << opened.error().message() << "\n";
      std::abort();
    }
    return std::move(opened).take();
  }
  static inference::SimulatedBackendOptions fill(inference::SimulatedBackendOptions options) {
    if (options.model.vocabulary_size == 0) options.model = inference::simulated_model();
    options.manual = true;
    return options;
  }
};

// Seeds of a campaign: QUIRE_TEST_SEED names one, QUIRE_TEST_SEED_COUNT how many; else `count` that
// change with the day. The caller prints the one that fails.
inline std::vector<std::uint64_t> test_seeds(std::size_t count) {
  const char* given = std::getenv("QUIRE_TEST_SEED");
  if (given != nullptr) return {std::strtoull(given, nullptr, 10)};
  if (const char* wanted = std::getenv("QUIRE_TEST_SEED_COUNT")) {
    count = std::strtoull(wanted, nullptr, 10);
  }
  const std::uint64_t first = static_cast<std::uint64_t>(std::time(nullptr)) / 86'400 * 1'000'003;
  std::cout << "seeds " << first << " .. " << first + count - 1 << "\n";
  std::vector<std::uint64_t> seeds;
  for (std::size_t index = 0; index < count; ++index) seeds.push_back(first + index);
  return seeds;
}

// tokens first, first + 1, ... below 512
inline std::vector<std::uint32_t> count_tokens(std::size_t count, std::uint32_t first = 1) {
  std::vector<std::uint32_t> tokens;
  for (std::size_t index = 0; index < count; ++index) {
    tokens.push_back(static_cast<std::uint32_t>((first + index * 7) % 512));
  }
  return tokens;
}

}  // namespace quire::control
