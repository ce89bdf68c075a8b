// The verbs of clients, one function each.
#include <algorithm>
#include <array>
#include <utility>

#include "application/server/gateway_parts.h"
#include "base/check.h"
#include "base/clock.h"

namespace quire::server {
namespace {

constexpr std::size_t kToldNameCountMax = 16;  // Of programs, to who asks for one that is not here.
constexpr std::size_t kNameBytes = 16;         // Random ones of an instance's name; 32 hex digits.
// When the same may succeed: a program has received some, a socket has taken some, one is compiled.
constexpr std::uint64_t kReceivedRetryMs = 20;
constexpr std::uint64_t kSocketRetryMs = 100;
constexpr std::uint64_t kCompiledRetryMs = 500;

static_assert(wire::kArgumentCountMax == hostcalls::kArgumentCountMax);

std::string instance_name(RandomSource& random) {
  std::array<std::uint8_t, kNameBytes> bytes{};
  random.fill(std::as_writable_bytes(std::span(bytes)));
  constexpr char kDigits[] = "0123456789abcdef";
  std::string name;
  for (const std::uint8_t each : bytes) {
    name += kDigits[each >> 4];
    name += kDigits[each & 15];
  }
  return name;
}

Error not_here(const Digest& program) {
  return Error(ErrorCode::NotFound,
               "the program sha256:" + hex(program) + " is not here: upload it");
}

// To a request with a long reply: who does not read gets no second one.
wire::ReplyBody unread(const SocketLimits& sockets) {
  return failure(
      Error(ErrorCode::Unavailable, "unwritten_bytes_max: this connection has not taken " +
                                        std::to_string(sockets.unwritten_bytes_max) + " bytes"),
      kSocketRetryMs);
}

wire::ReplyBody reply_of(Result<void> result) {
  if (!result.ok()) return failure(result.error());
  return wire::Done{};
}

}  // namespace

wire::InstanceReply Gateway::reply_about(const Instance& instance) const {
  return {static_cast<std::uint64_t>(instance.id), instance.name, instance.program,
          instance.is_detached};
}

Result<Digest> Gateway::digest_of(const wire::ProgramName& program) const {
  if (program.digest) return *program.digest;
  const auto found = programs_.find(program.name);
  if (found != programs_.end()) return found->second.digest;
  std::string known;
  std::size_t told_count = 0;
  for (const auto& [name, named] : programs_) {
    if (++told_count > kToldNameCountMax) {
      known += ", and " + std::to_string(programs_.size() - kToldNameCountMax) + " more";
      break;
    }
    known += (known.empty() ? "" : ", ") + name;
  }
  return Error(ErrorCode::NotFound,
               "no program is named \"" + program.name + "\" here" +
                   (known.empty() ? "; none has a name: upload it" : "; there are: " + known));
}

Gateway::Outcome Gateway::answer(Client&, std::uint64_t, wire::FindProgram& request) {
  const Result<Digest> digest = digest_of(request.program);
  if (!digest.ok()) return wire::ProgramReply{};
  wire::ProgramReply reply{digest.value(), wire::ProgramState::Unknown, 0};
  const std::optional<lifecycle::ProgramId> program = parts_.manager.find_program(digest.value());
  if (program) {
    const Result<lifecycle::ProgramState> state = parts_.manager.program_state(*program);
    reply.state = state.ok() ? state.value() : wire::ProgramState::Compiling;
  }
  return reply;
}

// Parts are put together on the io thread (upload_buffer.h).
Gateway::Outcome Gateway::answer(Client&, std::uint64_t, wire::Upload&) {
  QUIRE_CHECK(false, "the io thread hands on complete programs");
  return std::nullopt;
}

Gateway::Outcome Gateway::program_arrived(Client& client, ProgramBytes& program) {
  const Result<lifecycle::ProgramId> id =
      parts_.manager.request_program(std::move(program.wasm), program.digest);
  if (!id.ok()) {
    const bool is_for_good = id.error().code() == ErrorCode::TooLarge;
    return failure(id.error(), is_for_good ? std::nullopt : std::optional(kCompiledRetryMs));
  }
  const Result<lifecycle::ProgramState> state = parts_.manager.program_state(id.value());
  if (!state.ok()) return failure(state.error());
  // One that was forgotten has another id now.
  for (const auto& [name, named] : programs_) {
    if (named.digest == program.digest) parts_.manager.name_program(name, id.value());
  }
  if (state.value() == lifecycle::ProgramState::Compiling) {
    return park({client.connection->id, program.id, id.value(), program.digest, {}});
  }
  return wire::ProgramReply{program.digest, wire::ProgramState::Ready, 0};
}

Gateway::Outcome Gateway::answer(Client&, std::uint64_t, wire::NameProgram& request) {
  const std::optional<lifecycle::ProgramId> program = parts_.manager.find_program(request.program);
  if (!program) return failure(not_here(request.program));
  const auto found = programs_.find(request.name);
  if (found == programs_.end()) {
    if (programs_.size() >= limits_.program_name_count_max) {
      return failure(Error(ErrorCode::QuotaExceeded,
                           "program_name_count_max: " + std::to_string(programs_.size()) +
                               " programs have names here; give another program one of them"));
    }
    programs_.emplace(request.name, NamedProgram{request.program, false});
  } else if (!found->second.is_operators) {
    found->second.digest = request.program;
  } else if (found->second.digest != request.program) {
    return failure(
        Error(ErrorCode::AlreadyExists, "the operator of this server named another program \"" +
                                            request.name + "\"; choose another name"));
  }
  parts_.manager.name_program(request.name, *program);
  return wire::Done{};
}

Gateway::Outcome Gateway::park(Waiting waiting) {
  if (waiting_.size() >= limits_.waiting_request_count_max) {
    return failure(Error(ErrorCode::Unavailable,
                         "waiting_request_count_max: " + std::to_string(waiting_.size()) +
                             " requests wait for programs to be compiled"),
                   kCompiledRetryMs);
  }
  std::uint64_t bytes = waiting.argument_bytes();
  for (const Waiting& each : waiting_) bytes += each.argument_bytes();
  if (bytes > limits_.waiting_request_bytes_max) {
    return failure(Error(ErrorCode::Unavailable,
                         "waiting_request_bytes_max: the arguments of launches that wait for "
                         "programs to be compiled would have " +
                             std::to_string(bytes) + " bytes of " +
                             std::to_string(limits_.waiting_request_bytes_max)),
                   kCompiledRetryMs);
  }
  waiting_.push_back(std::move(waiting));
  return std::nullopt;
}

// Those whose program is compiled, or never will be.
bool Gateway::serve_waiting() {
  const std::uint64_t compilations = parts_.manager.compiled_count();
  if (compilations == served_compilations_) return false;
  const std::uint64_t start_ns = parts_.clock.now_ns();
  bool any = false;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (parts_.clock.now_ns() - start_ns > kTakeNsMax) return true;
    const Result<lifecycle::ProgramState> state = parts_.manager.program_state(at->program);
    if (state.ok() && state.value() == lifecycle::ProgramState::Compiling) {
      ++at;
      continue;
    }
    Waiting waiting = std::move(*at);
    at = waiting_.erase(at);
    any = true;
    Client& client = *clients_.at(waiting.connection);
    wire::ReplyBody reply = wire::ProgramReply{waiting.digest, wire::ProgramState::Ready, 0};
    if (!state.ok()) {
      reply = failure(state.error());
    } else if (waiting.launch) {
      reply = launch(client, waiting.program, waiting.digest, *waiting.launch);
    }
    push(client, wire::Reply{waiting.id, std::move(reply)});
  }
  served_compilations_ = compilations;
  return any;
}

namespace {

struct Bound {
  const char* name;
  const std::optional<std::uint64_t>& wanted;
  std::uint64_t allowed;
};

Result<std::uint64_t> within(const Bound& bound) {
  if (!bound.wanted) return bound.allowed;
  if (*bound.wanted <= bound.allowed) return *bound.wanted;
  return Error(ErrorCode::OutOfRange,
               std::string(bound.name) + ": " + std::to_string(*bound.wanted) +
                   " wanted, this server allows " + std::to_string(bound.allowed));
}

}  // namespace

Result<lifecycle::InstanceLimits> Gateway::limits_of(control::TenantId tenant,
                                                     const wire::LaunchLimits& wanted) const {
  const auto own = limits_.tenant_instances.find(tenant);
  lifecycle::InstanceLimits limits =
      own == limits_.tenant_instances.end() ? limits_.instance : own->second;
  limits.memory_bytes_max =
      TRY(within({"memory_bytes_max", wanted.memory_bytes_max, limits.memory_bytes_max}));
  limits.cpu_ns_max = TRY(within({"cpu_ns_max", wanted.cpu_ns_max, limits.cpu_ns_max}));
  limits.cpu_ns_between_waits_max =
      TRY(within({"cpu_ns_between_waits_max", wanted.cpu_ns_between_waits_max,
                  limits.cpu_ns_between_waits_max}));
  limits.guest.output_bytes_max =
      TRY(within({"output_bytes_max", wanted.output_bytes_max, limits.guest.output_bytes_max}));
  limits.control.page_count_max = static_cast<std::uint32_t>(
      TRY(within({"page_count_max", wanted.page_count_max, limits.control.page_count_max})));
  return limits;
}

Gateway::Outcome Gateway::answer(Client& client, std::uint64_t id, wire::Launch& request) {
  Result<Digest> digest = digest_of(request.program);
  if (!digest.ok()) return failure(digest.error());
  const std::optional<lifecycle::ProgramId> program = parts_.manager.find_program(digest.value());
  if (!program) return failure(not_here(digest.value()));
  const Result<lifecycle::ProgramState> state = parts_.manager.program_state(*program);
  if (state.ok() && state.value() == lifecycle::ProgramState::Compiling) {
    return park({client.connection->id, id, *program, digest.value(), std::move(request)});
  }
  return launch(client, *program, digest.value(), request);
}

wire::ReplyBody Gateway::launch(Client& client, lifecycle::ProgramId program, const Digest& digest,
                                wire::Launch& request) {
  const auto refuse = [&](const Error& error, std::optional<std::uint64_t> retry = std::nullopt) {
    ++refused_count_;
    return failure(error, retry);
  };
  if (stage_ != Stage::Serving) {
    return refuse(Error(ErrorCode::Unavailable, "the server is shutting down"));
  }
  const Result<lifecycle::InstanceLimits> limits =
      limits_of(control::TenantId{request.tenant}, request.limits);
  if (!limits.ok()) return refuse(limits.error());
  // Whoever reaches a server without keys is its operator, and may say for whom it launches.
  const control::TenantId tenant{request.tenant};
  if (request.tenant != 0 && !parts_.manager.is_named(tenant)) {
    return refuse(Error(ErrorCode::NotFound,
                        "tenant " + std::to_string(request.tenant) +
                            " is not one of this server's: its operator names them with --tenant"));
  }
  lifecycle::LaunchRequest launch_request;
  launch_request.program = program;
  launch_request.tenant = tenant;
  if (request.deadline_ms) {
    launch_request.deadline_in_ns =
        std::min(*request.deadline_ms, UINT64_MAX / kMillisecond) * kMillisecond;
  }
  launch_request.arguments = std::move(request.arguments);
  launch_request.limits = limits.value();
  const Result<lifecycle::InstanceId> id = parts_.manager.launch(std::move(launch_request), *this);
  if (!id.ok()) {
    const bool is_full = id.error().code() == ErrorCode::Unavailable;
    return refuse(id.error(),
                  is_full ? std::optional(parts_.manager.retry_after_ms()) : std::nullopt);
  }
  ++launched_count_;
  auto instance = std::make_unique<Instance>();
  instance->id = id.value();
  instance->name = instance_name(parts_.random);
  instance->program = digest;
  instance->client = &client;
  instance->is_detached = request.detached;
  client.instances.insert(id.value());
  names_.emplace(instance->name, id.value());
  wire::InstanceReply reply = reply_about(*instance);
  instances_.emplace(id.value(), std::move(instance));
  return reply;
}

Gateway::Outcome Gateway::answer(Client& client, std::uint64_t, wire::Send& request) {
  const Result<Instance*> instance = find(client, request.instance);
  if (!instance.ok()) return failure(instance.error());
  Result<void> sent = parts_.manager.send_to(instance.value()->id, std::move(request.bytes));
  if (!sent.ok() && sent.error().code() == ErrorCode::QuotaExceeded) {
    return failure(sent.error(), kReceivedRetryMs);
  }
  return reply_of(std::move(sent));
}

Gateway::Outcome Gateway::answer(Client& client, std::uint64_t, wire::CloseInput& request) {
  const Result<Instance*> instance = find(client, request.instance);
  if (!instance.ok()) return failure(instance.error());
  return reply_of(parts_.manager.close_input(instance.value()->id));
}

// The reply comes once there is room for another part.
Gateway::Outcome Gateway::answer(Client& client, std::uint64_t id, wire::SendFile& request) {
  const Result<Instance*> instance = find(client, request.instance);
  if (!instance.ok()) return failure(instance.error());
  const lifecycle::InstanceId number = instance.value()->id;
  Result<void> sent = parts_.manager.send_file_to(number, std::move(request.part));
  if (!sent.ok() && sent.error().code() == ErrorCode::QuotaExceeded) {
    return failure(sent.error(), kReceivedRetryMs);
  }
  if (!sent.ok()) return failure(sent.error());
  reply_to_file(number, wire::Done{});  // There was room, or this part would not have been taken.
  if (parts_.manager.has_file_room(number)) return wire::Done{};
  file_replies_.emplace(number, id);
  return std::nullopt;
}

void Gateway::reply_to_file(lifecycle::InstanceId instance, wire::ReplyBody reply) {
  const auto waiting = file_replies_.extract(instance);
  if (waiting.empty()) return;
  push(*instance_of(instance).client, wire::Reply{waiting.mapped(), std::move(reply)});
}

bool Gateway::serve_file_replies() {
  std::vector<lifecycle::InstanceId> ready;
  for (const auto& [instance, request] : file_replies_) {
    if (parts_.manager.has_file_room(instance)) ready.push_back(instance);
  }
  for (const lifecycle::InstanceId each : ready) {
    reply_to_file(each, parts_.manager.has_ended(each) ? has_ended() : wire::Done{});
  }
  return !ready.empty();
}

Gateway::Outcome Gateway::answer(Client& client, std::uint64_t, wire::Attach& request) {
  const auto found = names_.find(request.name);
  if (found == names_.end() || instance_of(found->second).is_discarded) {
    return failure(Error(ErrorCode::NotFound,
                         "no instance has this name: it has ended, or was "
                         "stopped for want of a client, or never was"));
  }
  Instance& instance = instance_of(found->second);
  if (instance.client != nullptr) {
    return failure(
        Error(ErrorCode::AlreadyExists, instance.client == &client
                                            ? "this connection is attached to the instance already"
                                            : "another client is attached to the instance"));
  }
  instance.client = &client;
  client.instances.insert(instance.id);
  set_deadline(instance, std::nullopt);
  // One that has ended hears nothing any more, but its words are still to be had.
  (void)parts_.manager.client_back(instance.id).ok();
  parts_.manager.client_ready(instance.id);
  return reply_about(instance);
}

Gateway::Outcome Gateway::answer(Client& client, std::uint64_t, wire::Detach& request) {
  const Result<Instance*> instance = find(client, request.instance);
  if (!instance.ok()) return failure(instance.error());
  reply_to_file(instance.value()->id, wire::Done{});
  client.instances.erase(instance.value()->id);
  part(*instance.value(), true);
  return wire::Done{};
}

Gateway::Outcome Gateway::answer(Client& client, std::uint64_t, wire::Abort& request) {
  const Result<Instance*> instance = find(client, request.instance);
  if (!instance.ok()) return failure(instance.error());
  return reply_of(parts_.manager.kill(instance.value()->id, "aborted by its client"));
}

Gateway::Outcome Gateway::answer(Client& client, std::uint64_t, wire::List&) {
  if (!has_room(client)) return unread(sockets_);
  wire::InstanceList list;
  for (const lifecycle::InstanceId id : client.instances) {
    if (list.instances.size() == wire::kListedInstanceCountMax) break;
    list.instances.push_back(reply_about(instance_of(id)));
  }
  list.left_out_count = client.instances.size() - list.instances.size();
  return list;
}

namespace {

constexpr const char* kStages[] = {"queued", "ready", "background", "parked", "ended"};
static_assert(static_cast<int>(lifecycle::Stage::Ended) + 1 == std::size(kStages));

// On the wire a count is below 2^53; above there is no limit that anybody could reach.
constexpr std::uint64_t kCountMax = (std::uint64_t{1} << 53) - 1;

wire::Figures figures_of(const std::vector<hostcalls::LimitUse>& uses) {
  wire::Figures figures;
  for (const hostcalls::LimitUse& each : uses) {
    wire::Figure& figure = figures[each.name];
    figure.used = std::min(each.used.value(), kCountMax);
    if (each.maximum <= kCountMax) figure.maximum = each.maximum;
  }
  return figures;
}

wire::StatusDetail detail_of(const lifecycle::Usage& usage,
                             const control::ControlStatistics& control) {
  wire::StatusDetail detail;
  detail.figures = {{"queued_count", {usage.queued_count, {}}},
                    {"ready_count", {usage.ready_count, {}}},
                    {"background_count", {usage.background_count, {}}},
                    {"parked_count", {usage.parked_count, {}}},
                    {"ended_count", {usage.ended_count, {}}},
                    {"batch_count", {control.batch_count, {}}},
                    {"pass_count", {control.pass_count, {}}},
                    {"row_count", {control.row_count, {}}},
                    {"device_ns", {control.device_ns, {}}},
                    {"scheduler_ns", {control.scheduler_ns, {}}},
                    {"cold_page_count", {control.page_count_cold, {}}},
                    {"suspension_count", {control.suspension_count, {}}},
                    {"lost_token_count", {control.lost_token_count, {}}}};
  for (const lifecycle::TenantUsage& each : usage.tenants) {
    if (detail.tenants.size() == wire::kToldTenantCountMax) break;
    detail.tenants.push_back(
        {static_cast<std::uint32_t>(each.tenant), each.weight, figures_of(each.figures)});
  }
  for (const lifecycle::InstanceUsage& each : usage.instances) {
    detail.instances.push_back(
        {static_cast<std::uint64_t>(each.id), static_cast<std::uint32_t>(each.tenant),
         static_cast<std::uint64_t>(each.parent), each.program,
         kStages[static_cast<std::size_t>(each.stage)], figures_of(each.figures)});
  }
  detail.left_out_count = usage.left_out_count;
  return detail;
}

}  // namespace

// What all tenants hold is the operator's to know, and on a server without keys that is whoever
// reaches it.
Gateway::Outcome Gateway::answer(Client& client, std::uint64_t, wire::Status& request) {
  if (request.detail && !has_room(client)) return unread(sockets_);
  const control::ControlStatistics control = parts_.control.statistics();
  wire::StatusReply status;
  status.version = QUIRE_VERSION;
  for (const control::ModelDescription& each : parts_.control.models()) {
    status.models.push_back(each.name);
  }
  status.uptime_ms = (parts_.clock.now_ns() - begun_ns_) / 1'000'000;
  status.connection_count = parts_.link.connection_count.load();
  status.instance_count = parts_.manager.live_count();
  status.instance_count_max = parts_.manager.admission_limits().instance_count_max;
  status.waiting_count = parts_.manager.waiting_count();
  status.unattached_count = static_cast<std::uint64_t>(
      std::count_if(instances_.begin(), instances_.end(),
                    [](const auto& each) { return each.second->client == nullptr; }));
  status.program_count = parts_.manager.program_count();
  status.launched_count = launched_count_;
  status.refused_count = refused_count_;
  status.page_count = control.page_count;
  status.page_count_free = control.page_count_free;
  status.computed_token_count = control.row_count;
  status.found_token_count = control.found_token_count;
  status.batch_count = control.batch_count;
  if (request.detail) {
    status.detail = detail_of(parts_.manager.usage(wire::kToldInstanceCountMax), control);
  }
  return status;
}

}  // namespace quire::server
