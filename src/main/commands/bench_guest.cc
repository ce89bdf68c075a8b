#include "main/commands/bench_guest.h"

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

bool BenchGuests::message(lifecycle::InstanceId, std::string_view bytes) {
  ++message_count_;
  message_ = std::string(bytes);
  return true;
}

bool BenchGuests::log(lifecycle::InstanceId, lifecycle::LogSource, lifecycle::LogLevel,
                      std::string_view line) {
  note(std::string(line));
  return true;
}

bool BenchGuests::file(lifecycle::InstanceId, const hostcalls::FilePart&) {
  return true;
}

bool BenchGuests::ended(lifecycle::InstanceId, const lifecycle::EndRecord& record) {
  ++ended_count_;
  calls_.control += record.calls.control;
  calls_.device += record.calls.device;
  if (record.kind != lifecycle::EndKind::Finished || record.exit_code != 0) {
    note(std::string(end_kind_name(record.kind)) + ", exit code " +
         std::to_string(record.exit_code) + ". " + record.message);
  }
  return true;
}

}  // namespace quire
