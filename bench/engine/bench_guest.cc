#include "bench/engine/bench_guest.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace quire {

Result<std::string> find_bench_guest(const std::string& wanted, const std::string& name) {
  if (!wanted.empty()) return wanted;
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const std::filesystem::path beside = self.parent_path() / name;
  if (!failed && std::filesystem::exists(beside, failed)) return beside.string();
  return Error(ErrorCode::NotFound, "no " + name + " beside " + self.string() +
                                        "; `make build` makes it, --program names another");
}

Result<void> BenchGuests::launch(lifecycle::ProgramId program, std::vector<std::string> arguments) {
  instances_.push_back(TRY(application_.launch(
      {.program = program, .tenant = {}, .arguments = std::move(arguments), .limits = {}}, *this)));
  return {};
}

Result<void> BenchGuests::wait_until_ready() {
  TRY(turn_until([this] { return message_count_ == instances_.size(); }));
  message_.reset();
  return {};
}

Result<void> BenchGuests::tell(lifecycle::InstanceId instance) {
  return application_.manager().send_to(instance, "go");
}

Result<std::string> BenchGuests::wait_for_message() {
  TRY(turn_until([this] { return message_.has_value(); }));
  return *std::exchange(message_, std::nullopt);
}

Result<void> BenchGuests::wait_for_ends() {
  return turn_until([this] { return ended_count_ == instances_.size(); });
}

Result<void> BenchGuests::turn_until(const std::function<bool()>& is_done) {
  while (!failure_ && !is_done()) {
    if (ended_count_ == instances_.size()) note("all ended too early");
    after_turn_(application_.loop().step());
  }
  if (failure_) return failure_->copy();
  return {};
}

void BenchGuests::note(const std::string& what) {
  if (!failure_) failure_.emplace(ErrorCode::Internal, name_ + ": " + what);
}

bool BenchGuests::heard(InstanceId instance, const service::Said& said) {
  if (const auto* message = std::get_if<service::Message>(&said)) {
    ++message_count_;
    message_ = std::string(message->bytes);
  } else if (const auto* line = std::get_if<service::LogLine>(&said)) {
    note(std::string(line->text));
  } else if (const auto* ended = std::get_if<service::Ended>(&said)) {
    note_end(instance, ended->end);
  }
  return true;
}

void BenchGuests::note_end(InstanceId instance, const service::End& end) {
  ++ended_count_;
  const hostcalls::CallCounts& calls = application_.manager().figures_at_end(instance).calls;
  calls_.control += calls.control;
  calls_.device += calls.device;
  if (end.kind == service::EndKind::Finished && end.exit_code == 0) return;
  note(std::string(end_kind_name(end.kind)) + ", exit code " + std::to_string(end.exit_code) +
       ". " + end.message);
}

}  // namespace quire
