#include "control/harness.h"

#include <cstdlib>
#include <ctime>
#include <iostream>
#include <utility>

#include "support/verifying.h"

namespace quire::control {
namespace {

inference::SimulatedBackendOptions fill(inference::SimulatedBackendOptions options) {
  if (options.model.vocabulary_size == 0) options.model = inference::simulated_model();
  options.manual = true;
  return options;
}

std::unique_ptr<store::SnapshotStore> open_store(const Harness::Options& wanted,
                                                 const WallClock& clock) {
  store::StoreOptions options;
  options.folder = "store";
  options.cached_slot_count_max = wanted.controller.tiers.disk_page_count_max;
  options.tenant_bytes_max = wanted.tenant_bytes_max;
  auto opened = store::SnapshotStore::open(*wanted.files, clock, options);
  if (!opened.ok()) {
    std::cerr << "store: " << opened.error().message() << "\n";
    std::abort();
  }
  return std::move(opened).take();
}

}  // namespace

Harness::Harness(Options options) : inbox(wakeup), device(fill(options.device), inbox) {
  if (options.files != nullptr) {
    disk.emplace(*options.files, open_store(options, wall_clock), inbox, clock);
    options.controller.disk = &*disk;
  }
  adapters.all = options.adapters;
  std::vector<ServedModel> models{{.backend = &device, .adapters = &adapters}};
  if (options.has_second_model) {
    second_device.emplace(fill(options.device), inbox);
    models.push_back({.backend = &*second_device, .adapters = &adapters});
  }
  controller = make_controller(std::move(models), options.controller, inbox, *this, wakeup, clock);
}

Harness::Harness() : Harness(Options{}) {}
Harness::~Harness() = default;

void Harness::answer(Answer given) {
  const auto key = std::pair(given.instance, given.future);
  if (answers.contains(key)) {
    std::cerr << "a future was answered twice\n";
    std::abort();
  }
  answers.emplace(key, std::move(given.body));
}

void Harness::lost(InstanceId instance, const Error& error) {
  if (!losses.emplace(instance, error.copy()).second) {
    std::cerr << "an instance was lost twice\n";
    std::abort();
  }
}

FutureId Harness::send(InstanceId instance, CommandBody body, bool wants_answer) {
  const FutureId future = wants_answer ? FutureId{++next_future} : kNoFuture;
  const std::uint32_t bytes = next_argument_bytes;
  next_argument_bytes = bytes % kArgumentBytesMax + 1;
  controller->submit(
      {.instance = instance, .future = future, .body = std::move(body), .argument_bytes = bytes});
  return future;
}

std::vector<ObjectId> Harness::new_objects(std::size_t count) {
  std::vector<ObjectId> ids;
  while (ids.size() < count) ids.push_back(new_object());
  return ids;
}

int Harness::run() {
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
    } else if (const auto wait_ns = controller->next_dispatch_in_ns()) {
      clock.advance_ns(*wait_ns);
      goes_on = true;
    }
    while (complete_next()) goes_on = true;
    while (disk && disk->run_one()) goes_on = true;
    verify();
  }
  if (controller->idle()) check_nothing_is_pending();
  return batches;
}

void Harness::check_nothing_is_pending() const {
  for (std::uint64_t id = 1; id <= next_instance; ++id) {
    const PendingCommands left = controller->pending(InstanceId{id});
    if (left.count == 0 && left.bytes == 0) continue;
    std::cerr << "an idle controller has " << left.count << " commands and " << left.bytes
              << " bytes pending\n";
    std::abort();
  }
}

void Harness::run_until(InstanceId instance, FutureId future) {
  for (int turn = 0; turn < 10 && !has(instance, future); ++turn) run();
}

bool Harness::step() {
  controller->poll();
  const bool any = controller->dispatch();
  while (complete_next()) {
  }
  if (disk) disk->run_one();
  controller->poll();
  verify();
  return any;
}

void Harness::begin_step() {
  controller->poll();
  controller->dispatch();
  verify();
}

bool Harness::complete_next() {
  for (inference::SimulatedBackend* each : {&device, second_device ? &*second_device : nullptr}) {
    if (each == nullptr || each->inflight_count() == 0) continue;
    each->complete_next();
    return true;
  }
  return false;
}

void Harness::verify() const {
  if (second_device && device.inflight_count() + second_device->inflight_count() > 1) {
    std::cerr << "two models have the device at once\n";
    std::abort();
  }
  if (!verifies) return;
  const test::Verifying verifying;
  controller->verify();
}

InstanceId Harness::start(TenantId tenant, const InstanceLimits& limits) {
  const InstanceId id{++next_instance};
  controller->start_instance(id, tenant, limits);
  return id;
}

ObjectId Harness::queue(InstanceId instance, Priority priority) {
  const ObjectId id = new_object();
  send(instance, CreateQueue{.queue = id, .model = ModelIndex{0}, .priority = priority}, false);
  return id;
}

ObjectId Harness::context(InstanceId instance, ObjectId in_queue) {
  const ObjectId id = new_object();
  send(instance, ContextCreate{.context = id, .queue = in_queue}, false);
  return id;
}

std::vector<ObjectId> Harness::embeds(InstanceId instance, ObjectId in_queue, std::size_t count) {
  std::vector<ObjectId> ids = new_objects(count);
  send(instance, AllocEmbeds{.queue = in_queue, .embeds = ids}, false);
  return ids;
}

std::vector<ObjectId> Harness::pages(InstanceId instance, ObjectId in_queue, std::size_t count) {
  std::vector<ObjectId> ids = new_objects(count);
  send(instance, AllocPages{.queue = in_queue, .pages = ids}, false);
  return ids;
}

bool Harness::has(InstanceId instance, FutureId future) const {
  return answers.contains(std::pair(instance, future));
}

const Result<AnswerBody>& Harness::at(InstanceId instance, FutureId future) const {
  return answers.at(std::pair(instance, future));
}

const AnswerBody& Harness::body_at(InstanceId instance, FutureId future) const {
  const Result<AnswerBody>& body = at(instance, future);
  if (!body.ok()) {
    std::cerr << "answer: " << error_code_name(body.error().code()) << ": "
              << body.error().message() << "\n";
    std::abort();
  }
  return body.value();
}

std::optional<ErrorCode> Harness::error(InstanceId instance, FutureId future) const {
  const Result<AnswerBody>& body = at(instance, future);
  if (body.ok()) return std::nullopt;
  return body.error().code();
}

std::string Harness::message(InstanceId instance, FutureId future) const {
  return std::string(at(instance, future).error().message());
}

std::uint32_t Harness::free_page_count() const {
  return controller->statistics().page_count_free;
}

std::vector<std::uint64_t> test_seeds(std::size_t count) {
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

std::vector<std::uint32_t> count_tokens(std::size_t count, std::uint32_t first) {
  std::vector<std::uint32_t> tokens;
  for (std::size_t index = 0; index < count; ++index) {
    tokens.push_back(static_cast<std::uint32_t>((first + index * 7) % 512));
  }
  return tokens;
}

}  // namespace quire::control
