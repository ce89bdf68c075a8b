#include "main/machine/local_service.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "application/lifecycle/launch_limits.h"
#include "base/clock.h"

namespace quire {
namespace {

// When a program may have received some of what fills its inbox.
constexpr std::uint64_t kReceivedRetryMs = 10;

service::Failure failure_to_send(const Error& error) {
  const bool is_full = error.code() == ErrorCode::QuotaExceeded;
  return service::failure_of(error, is_full ? std::optional(kReceivedRetryMs) : std::nullopt);
}

void answer(const service::Then<service::Done>& then, const Result<void>& done) {
  if (done.ok()) return then(service::Done{});
  then(failure_to_send(done.error()));
}

Result<lifecycle::ProgramId> find(const lifecycle::InstanceManager& manager,
                                  const service::ProgramName& program) {
  if (!program.digest) return manager.find_program(program.name, control::TenantId{0});
  const std::optional<lifecycle::ProgramId> found = manager.find_program(*program.digest);
  if (found) return *found;
  return Error(ErrorCode::NotFound, "the program " + program_text(program) + " is not here");
}

}  // namespace

void LocalService::find_program(const service::ProgramName& program,
                                service::Then<service::ProgramState> then) {
  const lifecycle::InstanceManager& manager = application_.manager();
  const Result<lifecycle::ProgramId> found = find(manager, program);
  if (!found.ok()) return then(service::ProgramState::Unknown);
  const Result<service::ProgramState> state = manager.program_state(found.value());
  then(state.ok() ? state.value() : service::ProgramState::Unknown);
}

void LocalService::upload(const Digest&, std::string wasm, service::Then<service::Done> then) {
  const Result<lifecycle::ProgramId> loaded =
      application_.manager().load_program(std::as_bytes(std::span(wasm)));
  if (!loaded.ok()) return then(service::failure_of(loaded.error()));
  then(service::Done{});
}

void LocalService::launch(service::Launch launch, service::Listener& listener,
                          service::Then<InstanceId> then) {
  lifecycle::InstanceManager& manager = application_.manager();
  const Result<lifecycle::ProgramId> program = find(manager, launch.program);
  if (!program.ok()) return then(service::failure_of(program.error()));
  Result<lifecycle::InstanceLimits> limits = lifecycle::lowered(limits_, launch.limits);
  if (!limits.ok()) return then(service::failure_of(limits.error()));
  lifecycle::LaunchRequest request;
  request.program = program.value();
  request.tenant = TenantId{launch.tenant};
  request.arguments = std::move(launch.arguments);
  request.limits = std::move(limits).take();
  if (launch.deadline_ms) {
    request.deadline_in_ns =
        std::min(*launch.deadline_ms, UINT64_MAX / kMillisecond) * kMillisecond;
  }
  request.seed = launch.seed;
  request.environment = environment_;
  const Result<InstanceId> instance = application_.launch(std::move(request), listener);
  if (instance.ok()) return then(instance.value());
  const bool is_full = instance.error().code() == ErrorCode::Unavailable;
  then(service::failure_of(instance.error(),
                           is_full ? std::optional(manager.retry_after_ms()) : std::nullopt));
}

void LocalService::send(InstanceId instance, std::string message,
                        service::Then<service::Done> then) {
  answer(then, application_.manager().send_to(instance, std::move(message)));
}

void LocalService::send_file(InstanceId instance, service::FilePart part,
                             service::Then<service::Done> then) {
  lifecycle::InstanceManager& manager = application_.manager();
  const Result<void> sent = manager.send_file_to(instance, std::move(part));
  if (!sent.ok() || manager.has_file_room(instance)) return answer(then, sent);
  files_.insert_or_assign(instance, std::move(then));
}

// Answers for those that have room for another part again.
bool LocalService::serve_files() {
  const lifecycle::InstanceManager& manager = application_.manager();
  std::vector<service::Then<service::Done>> ready;
  std::erase_if(files_, [&](auto& each) {
    if (!manager.has_file_room(each.first)) return false;
    ready.push_back(std::move(each.second));
    return true;
  });
  for (const service::Then<service::Done>& each : ready) each(service::Done{});
  return !ready.empty();
}

void LocalService::close_input(InstanceId instance, service::Then<service::Done> then) {
  answer(then, application_.manager().close_input(instance));
}

void LocalService::kill(InstanceId instance, service::Then<service::Done> then) {
  answer(then, application_.manager().kill(instance, "aborted by its client"));
}

Result<bool> LocalService::turn(std::chrono::nanoseconds time_max) {
  const bool stepped = application_.loop().step();
  if (stepped && look_) look_();
  if (serve_files() || stepped) return true;
  machine_.wakeup().wait_for(
      std::min(time_max, std::chrono::nanoseconds(application_.loop().sleep_ns())));
  return false;
}

void LocalService::run_until_idle() {
  application_.loop().run_until_idle();
}

}  // namespace quire
