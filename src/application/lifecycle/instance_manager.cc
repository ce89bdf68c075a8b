#include "application/lifecycle/instance_manager.h"

#include <utility>

#include "application/lifecycle/manager_implementation.h"
#include "base/check.h"

namespace quire::lifecycle {
namespace {

Error no_instance(const InstanceNumbers& numbers, InstanceId id) {
  return Error(ErrorCode::NotFound,
               "instance " + std::to_string(numbers.of(id)) + " has ended or never was");
}

// A child that draws on its parent's memory is charged for more as it grows.
std::uint64_t reserved_memory_bytes(const LaunchRequest& request) {
  return request.drawn_memory_bytes.value_or(request.limits.memory_bytes_max);
}

}  // namespace

InstanceRecord* InstanceManager::Implementation::find(InstanceId id) {
  const auto found = records.find(id);
  return found == records.end() ? nullptr : found->second.get();
}

InstanceManager::InstanceManager(const ManagerParts& parts)
    : implementation_(std::make_unique<Implementation>(parts)) {
  QUIRE_CHECK(parts.control.models().size() <= UINT8_MAX, "a handle keeps its model in 8 bits");
}

InstanceManager::~InstanceManager() = default;

Result<InstanceId> InstanceManager::launch(LaunchRequest request, Listener& client) {
  return implementation_->launch(std::move(request), client, Admission::Wait::May);
}

Result<InstanceId> InstanceManager::Implementation::launch(LaunchRequest request, Listener& client,
                                                           Admission::Wait wait) {
  report(parts.walk, WalkStop::Lifecycle);
  if (programs.find(request.program) == nullptr) {
    return Error(ErrorCode::NotFound, forgotten(request.program));
  }
  programs.use(request.program);
  TRY(check_launch(request, wait));
  const std::uint64_t reserved_bytes = reserved_memory_bytes(request);
  hostcalls::TenantGauge& gauge = tenants.enter(request.tenant, reserved_bytes);
  auto record = std::make_unique<InstanceRecord>();
  record->id = InstanceId{next_id++};
  record->program = request.program;
  record->tenant = request.tenant;
  record->client = &client;
  record->history = request.history;
  record->caller = request.caller;
  account(*record, {.request_count = request.request ? 1u : 0u, .launch_count = 1});
  record->launched_ns = parts.clock.now_ns();
  if (request.deadline_in_ns > 0) {
    request.limits.control.deadline_ns =
        record->launched_ns +
        std::min(request.deadline_in_ns, control::kNoDeadline - record->launched_ns);
  }
  record->limits = request.limits;
  record->family.memory_bytes_reserved = reserved_bytes;
  record->family.is_drawing = request.drawn_memory_bytes.has_value();
  record->family.first_memory_bytes = request.drawn_memory_bytes.value_or(0);
  hostcalls::GuestIdentity identity{record->id,
                                    record->tenant,
                                    std::move(request.arguments),
                                    request.limits.guest,
                                    request.limits.control,
                                    &gauge,
                                    std::move(request.request)};
  identity.environment = std::move(request.environment);
  if (request.seed) identity.seeded = std::make_unique<SeededRandom>(*request.seed);
  record->state = std::make_unique<hostcalls::GuestState>(host, std::move(identity));
  const InstanceId id = record->id;
  if (record->limits.wall_ns_max > 0) {
    wall_ends.emplace(record->launched_ns + record->limits.wall_ns_max, id);
  }
  records.emplace(id, std::move(record));
  queued.push(request.tenant, id);
  if (queued.size() == 1) start_queued();  // Else the next step looks at all of them.
  return id;
}

Result<void> InstanceManager::Implementation::check_launch(const LaunchRequest& request,
                                                           Admission::Wait wait) {
  std::uint64_t argument_bytes = 0;
  for (const std::string& argument : request.arguments) argument_bytes += argument.size() + 1;
  if (argument_bytes > request.limits.guest.argument_bytes_max) {
    return Error(ErrorCode::TooLarge, "the arguments have " + std::to_string(argument_bytes) +
                                          " bytes, argument_bytes_max is " +
                                          std::to_string(request.limits.guest.argument_bytes_max));
  }
  const std::uint64_t now_ns = parts.clock.now_ns();
  Result<void> may = tenants.check(request.tenant, reserved_memory_bytes(request));
  share_among_tenants();  // The tenant may be new.
  if (!may.ok()) {
    return Error(may.error().code(), std::string(may.error().message()) + "; try again in " +
                                         std::to_string(admission.retry_after_ms(now_ns)) + " ms");
  }
  Admission::Launch launch{.tenant = request.tenant, .wait = wait};
  if (!has_memory_for(request.tenant, request.program)) {
    launch.why_no_memory = memory.why_full(request.tenant, first_memory_of(request.program));
  }
  return admission.admit(launch, now_ns);
}

Result<void> InstanceManager::send_to(InstanceId id, std::string message) {
  report(implementation_->parts.walk, WalkStop::Lifecycle);
  InstanceRecord* record = implementation_->find(id);
  if (record == nullptr || record->stage == Stage::Ended) return no_instance(numbers(), id);
  TRY(record->state->push_message(std::move(message)));
  implementation_->charge_memory(*record);
  implementation_->wake_if_over(*record);
  return {};
}

Result<void> InstanceManager::send_file_to(InstanceId id, service::FilePart part) {
  InstanceRecord* record = implementation_->find(id);
  if (record == nullptr || record->stage == Stage::Ended) return no_instance(numbers(), id);
  TRY(record->state->files.push(std::move(part)));
  implementation_->charge_memory(*record);
  implementation_->wake_if_over(*record);
  return {};
}

bool InstanceManager::has_file_room(InstanceId id) const {
  const InstanceRecord* record = implementation_->find(id);
  return record == nullptr || record->stage == Stage::Ended || record->state->files.has_room();
}

void InstanceManager::push_request_body(InstanceId id, std::string part, bool is_last) {
  InstanceRecord* record = implementation_->find(id);
  if (record == nullptr || record->stage == Stage::Ended) return;
  record->state->served.push(std::move(part), is_last);
  implementation_->charge_memory(*record);
  implementation_->wake_if_over(*record);
}

bool InstanceManager::wants_request_body(InstanceId id) const {
  const InstanceRecord* record = implementation_->find(id);
  return record != nullptr && record->stage != Stage::Ended && record->state->served.wants_part();
}

bool InstanceManager::request_client_gone(InstanceId id) {
  InstanceRecord* record = implementation_->find(id);
  if (record == nullptr || record->stage == Stage::Ended) return false;
  hostcalls::ServedRequest& served = record->state->served;
  const bool goes_on = served.outlives_client();
  served.client_gone();
  if (goes_on) {
    implementation_->wake_if_over(*record);
  } else {
    implementation_->kill(*record, "the client of its request is gone");
  }
  return goes_on;
}

Result<void> InstanceManager::close_input(InstanceId id) {
  InstanceRecord* record = implementation_->find(id);
  if (record == nullptr || record->stage == Stage::Ended) return no_instance(numbers(), id);
  record->state->close_input();
  implementation_->wake_if_over(*record);
  return {};
}

Result<void> InstanceManager::client_left(InstanceId id, std::string why) {
  InstanceRecord* record = implementation_->find(id);
  if (record == nullptr || record->stage == Stage::Ended) return no_instance(numbers(), id);
  record->state->client_left(std::move(why));
  implementation_->wake_if_over(*record);
  return {};
}

Result<void> InstanceManager::client_back(InstanceId id) {
  InstanceRecord* record = implementation_->find(id);
  if (record == nullptr || record->stage == Stage::Ended) return no_instance(numbers(), id);
  record->state->client_back();
  return {};
}

void InstanceManager::client_ready(InstanceId id) {
  InstanceRecord* record = implementation_->find(id);
  if (record != nullptr) implementation_->mark_undelivered(*record);
}

Result<void> InstanceManager::kill(InstanceId id, std::string reason) {
  Implementation& self = *implementation_;
  InstanceRecord* record = self.find(id);
  if (record == nullptr || record->stage == Stage::Ended) return no_instance(numbers(), id);
  self.kill(*record, std::move(reason));
  return {};
}

bool InstanceManager::has_tenant_room(control::TenantId tenant,
                                      std::uint64_t memory_bytes_max) const {
  return implementation_->tenants.has_room(tenant, memory_bytes_max);
}

void InstanceManager::set_several_tenants(bool are_several) {
  if (implementation_->knows_several == are_several) return;  // As in nearly every turn.
  implementation_->knows_several = are_several;
  implementation_->share_among_tenants();
}

bool InstanceManager::knows_several_tenants() const {
  return implementation_->knows_several || implementation_->tenants.tenants().size() > 1;
}

void InstanceManager::Implementation::share_among_tenants() {
  const bool are_several = knows_several || tenants.tenants().size() > 1;
  admission.set_several(are_several);
  memory.set_several(are_several);
  programs.set_several_tenants(are_several);
  parts.control.set_several_tenants(are_several);
  if (parts.http != nullptr) parts.http->slots().set_several(are_several);
}

std::uint64_t InstanceManager::retry_after_ms() const {
  return implementation_->admission.retry_after_ms(implementation_->parts.clock.now_ns());
}

const AdmissionLimits& InstanceManager::admission_limits() const {
  return implementation_->admission.limits();
}

std::uint64_t InstanceManager::waiting_count() const {
  return implementation_->admission.waiting_count();
}

const InstanceNumbers& InstanceManager::numbers() const {
  return implementation_->parts.numbers;
}

std::size_t InstanceManager::live_count() const {
  return implementation_->records.size();
}

void InstanceManager::verify() const {
  const Implementation& self = *implementation_;
  std::map<InstanceId, int> queue_counts;
  for (const InstanceId id : self.queued.ids()) ++queue_counts[id];
  for (const FeedbackQueue* queue : {&self.ready, &self.background}) {
    for (const InstanceId id : queue->ids()) ++queue_counts[id];
  }
  std::size_t timer_count = 0;
  std::uint32_t slot_count = 0;
  std::vector<const InstanceRecord*> instances;
  for (const auto& [id, record] : self.records) {
    instances.push_back(record.get());
    const bool in_queue = record->stage == Stage::Ready || record->stage == Stage::Background ||
                          record->stage == Stage::Queued;
    QUIRE_CHECK(queue_counts[id] == (in_queue ? 1 : 0), "M1");
    QUIRE_CHECK(record->state->futures.waiting() || record->stage != Stage::Waiting, "M1");
    if (record->timer_ns) {
      ++timer_count;
      QUIRE_CHECK(self.timers.contains({*record->timer_ns, id}), "M2");
      QUIRE_CHECK(record->stage == Stage::Waiting, "M2");
    }
    slot_count += record->instance != nullptr ? 1 : 0;
    record->state->verify();
  }
  self.verify_tenants();
  self.queued.verify();
  self.children.verify(instances);
  self.broker.verify();
  QUIRE_CHECK(timer_count == self.timers.size(), "M2");
  QUIRE_CHECK(slot_count == self.slot_count, "M3");
  QUIRE_CHECK(slot_count <= self.parts.runtime.instance_count_max(), "M3");
  self.admission.verify();
  QUIRE_CHECK(self.admission.waiting_count() == self.queued.size(), "M4");
  QUIRE_CHECK(self.admission.instance_count() == self.records.size() - self.queued.size(), "M4");
}

}  // namespace quire::lifecycle
