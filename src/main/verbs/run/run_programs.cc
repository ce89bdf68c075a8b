#include "main/verbs/run/run_programs.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/file.h"
#include "base/guest_name.h"
#include "main/verbs/make/program_files.h"
#include "main/verbs/run/awaited_reply.h"
#include "main/verbs/shared/remote_times.h"

namespace quire {
namespace {

using SteadyTime = std::chrono::steady_clock;

constexpr std::size_t kLaunchCountMax = 64;     // Without a reply so far.
constexpr std::uint64_t kReceivedRetryMs = 20;  // If the service does not say.

Result<void> upload(service::Service& service, const Digest& digest, std::string bytes) {
  const auto known = TRY(wait_for<service::ProgramState>(service, kReplyTimeMax, [&](auto then) {
    service.find_program({digest, {}}, std::move(then));
  }));
  if (known == service::ProgramState::Ready || known == service::ProgramState::Compiling) return {};
  TRY(wait_for<service::Done>(service, kCompileTimeMax, [&](auto then) {
    service.upload(digest, std::move(bytes), std::move(then));
  }));
  return {};
}

}  // namespace

Result<service::ProgramName> bring_program(service::Service& service, const std::string& program) {
  Result<std::string> bytes = read_file(program, kProgramBytesMax);
  if (bytes.ok()) {
    TRY(check_module_file(program));
    const Digest digest = sha256(std::as_bytes(std::span(bytes.value())));
    Result<void> uploaded = upload(service, digest, std::move(bytes).take());
    if (!uploaded.ok()) return std::move(uploaded).take_error().while_(program);
    return service::ProgramName{digest, {}};
  }
  const bool may_be_name = bytes.error().code() == ErrorCode::NotFound &&
                           !program.ends_with(".wasm") && check_guest_name(program, "name").ok();
  if (!may_be_name) return std::move(bytes).take_error();
  return service::ProgramName{std::nullopt, program};
}

Result<bool> has_program(service::Service& service, const std::string& name) {
  const auto state = TRY(wait_for<service::ProgramState>(service, kReplyTimeMax, [&](auto then) {
    service.find_program({std::nullopt, name}, std::move(then));
  }));
  return state != service::ProgramState::Unknown;
}

std::vector<service::Launch> launches_of(const cli::LaunchOptions& options,
                                         const service::ProgramName& program,
                                         std::vector<std::vector<std::string>> arguments) {
  service::Launch launch;
  launch.program = program;
  launch.tenant = options.tenant;
  if (options.deadline_seconds > 0) {
    launch.deadline_ms = static_cast<std::uint64_t>(std::max(options.deadline_seconds * 1e3, 1.0));
  }
  launch.seed = options.seed;
  std::vector<service::Launch> launches;
  for (std::vector<std::string>& each : arguments) {
    launches.push_back(launch);
    launches.back().arguments = std::move(each);
  }
  return launches;
}

ProgramsRun::ProgramsRun(service::Service& service, service::Listener& listener, RunClient& printer,
                         std::vector<service::Launch> launches,
                         const std::vector<FileToSend>& files)
    : service_(service),
      ends_(*this, listener),
      printer_(printer),
      launches_(std::move(launches)),
      files_(files) {
  for (std::size_t number = 0; number < launches_.size(); ++number) to_launch_.push_back(number);
}

bool ProgramsRun::Ends::heard(InstanceId instance, const service::Said& said) {
  if (!next_.heard(instance, said)) return false;
  if (std::holds_alternative<service::Ended>(said)) run_.ended(instance);
  return true;
}

void ProgramsRun::fail(Error error) {
  if (!error_) error_.emplace(std::move(error));
}

void ProgramsRun::follow(InstanceId instance, bool ends_input) {
  running_.insert(instance);
  follows_ = true;
  ends_input_ = ends_input;
}

// ---- Launches and ends.

void ProgramsRun::launch() {
  // A refusal puts its launch back, and says when to try again.
  while (!to_launch_.empty() && launching_count_ < kLaunchCountMax &&
         SteadyTime::now() >= launch_after_ && !error_) {
    const std::size_t number = to_launch_.front();
    to_launch_.pop_front();
    ++launching_count_;
    service_.launch(launches_[number], ends_, [this, number](const auto& reply) {
      --launching_count_;
      launched(number, reply);
    });
  }
}

void ProgramsRun::launched(std::size_t number, const service::Reply<InstanceId>& reply) {
  if (const auto* instance = std::get_if<InstanceId>(&reply)) {
    full_since_.reset();
    printer_.add(*instance, number);
    running_.insert(*instance);
    if (is_interrupted_) kill(*instance);
    if (!files_.empty()) {
      senders_.emplace(*instance, FileSender(files_));
      due_parts_[*instance] = {};
    }
    if (is_input_over_) end_input(*instance);
    return;
  }
  const auto& failure = std::get<service::Failure>(reply);
  const Time now = SteadyTime::now();
  if (running_.empty() && !full_since_) full_since_ = now;
  const bool may_wait =
      failure.retry_after_ms && (!running_.empty() || now - *full_since_ < kFullTimeMax);
  if (!may_wait) return fail(error_of(failure));
  to_launch_.push_back(number);
  launch_after_ = now + std::chrono::milliseconds(*failure.retry_after_ms);
}

void ProgramsRun::ended(InstanceId instance) {
  running_.erase(instance);
  senders_.erase(instance);
  due_parts_.erase(instance);
  if (line_) line_->unsent.erase(instance);
}

// An instance that has ended meanwhile needs no kill.
void ProgramsRun::kill(InstanceId instance) {
  service_.kill(instance, [](const auto&) {});
}

void ProgramsRun::kill_all() {
  is_interrupted_ = true;
  printer_.interrupted();
  to_launch_.clear();
  for (const InstanceId each : running_) kill(each);
}

// ---- Lines of standard input.

// Each line goes to all that run, and the next one when all have it.
void ProgramsRun::pump_input() {
  if (is_input_over_ || running_.empty() || launching_count_ > 0) return;
  if (SteadyTime::now() < input_after_) return;
  while (true) {
    if (line_ && line_->asked_count == 0 && line_->unsent.empty()) {
      input_.pop();
      line_.reset();
    }
    if (!line_ && !begin_line()) return;
    for (const InstanceId each : std::exchange(line_->unsent, {})) {
      ++line_->asked_count;
      service_.send(each, *input_.front(), [this, each](const auto& reply) {
        --line_->asked_count;
        line_taken(each, reply);
      });
    }
    // A reply, or time, completes the line.
    if (line_->asked_count > 0 || !line_->unsent.empty()) return;
  }
}

// False if no line is there now.
bool ProgramsRun::begin_line() {
  if (input_.front() == nullptr) input_.read();
  if (input_.front() != nullptr) {
    line_ = Line{running_, 0};
    return true;
  }
  input_after_ = SteadyTime::now() + kInputPeriod;  // Nothing else says when there is more.
  if (input_.ended()) {
    is_input_over_ = true;
    if (!ends_input_) return false;
    for (const InstanceId each : running_) end_input(each);
  }
  return false;
}

void ProgramsRun::line_taken(InstanceId instance, const service::Reply<service::Done>& reply) {
  const auto* failure = std::get_if<service::Failure>(&reply);
  // An instance that has ended needs no line; one whose inbox is full is asked again.
  if (failure == nullptr || failure->code != ErrorCode::QuotaExceeded ||
      !running_.contains(instance)) {
    return;
  }
  line_->unsent.insert(instance);
  input_after_ = SteadyTime::now() +
                 std::chrono::milliseconds(failure->retry_after_ms.value_or(kReceivedRetryMs));
}

// The end of the input comes after the files. An instance that has ended needs none.
void ProgramsRun::end_input(InstanceId instance) {
  if (!senders_.contains(instance)) service_.close_input(instance, [](const auto&) {});
}

// ---- Files.

Result<void> ProgramsRun::pump_files() {
  const Time now = SteadyTime::now();
  std::vector<InstanceId> due;
  for (const auto& [instance, at] : due_parts_) {
    if (at <= now) due.push_back(instance);
  }
  for (const InstanceId each : due) {
    due_parts_.erase(each);
    service_.send_file(each, TRY(senders_.at(each).part()),
                       [this, each](const auto& reply) { part_taken(each, reply); });
  }
  return {};
}

void ProgramsRun::part_taken(InstanceId instance, const service::Reply<service::Done>& reply) {
  const auto sender = senders_.find(instance);
  if (sender == senders_.end()) return;  // It has ended.
  if (const auto* failure = std::get_if<service::Failure>(&reply)) {
    if (failure->retry_after_ms) {
      due_parts_[instance] =
          SteadyTime::now() + std::chrono::milliseconds(*failure->retry_after_ms);
      return;
    }
    if (failure->code == ErrorCode::NotFound) return;  // Its end is on its way.
    if (failure->code != ErrorCode::Cancelled) {
      return fail(error_of(*failure).while_(sender->second.path()));
    }
    printer_.file_skipped(instance, sender->second.path());
    sender->second.skip();
  } else {
    sender->second.taken();
  }
  if (!sender->second.is_done()) {
    due_parts_[instance] = {};
    return;
  }
  senders_.erase(sender);
  if (is_input_over_) end_input(instance);
}

Result<void> ProgramsRun::run(Interrupt* interrupt) {
  while (!to_launch_.empty() || launching_count_ > 0 || !running_.empty()) {
    launch();
    if (!error_ && !TRY(service_.turn(kInputPeriod))) printer_.settle();
    if (error_) return std::move(*error_);
    pump_input();
    TRY(pump_files());
    if (interrupt == nullptr || !interrupt->take()) continue;
    if (is_interrupted_) break;  // A second one does not wait for the service.
    if (follows_) return Error(ErrorCode::Cancelled, "interrupted");
    kill_all();
  }
  if (is_interrupted_) return Error(ErrorCode::Cancelled, "interrupted");
  return {};
}

}  // namespace quire
