#include "main/commands/run_remote.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/guest_name.h"
#include "base/json.h"
#include "cli/terminal.h"
#include "client/server_client.h"
#include "main/commands/input_lines.h"
#include "main/commands/interrupt.h"
#include "main/commands/output.h"
#include "main/commands/program_files.h"
#include "main/commands/remote_times.h"
#include "main/commands/run_arguments.h"
#include "main/commands/run_client.h"
#include "main/commands/sent_files.h"
#include "wire/frame_codec.h"

namespace quire {
namespace {

using SteadyTime = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kCompileTimeMax{600'000};
// How long a full server is asked again while none of our programs runs.
constexpr std::chrono::milliseconds kFullTimeMax{30'000};
constexpr std::size_t kLaunchCountMax = 64;  // Whose replies have not come.

Error error_of(const wire::Failure& failure) {
  return Error(failure.code, failure.message);
}

// ---- The program, brought to the server.

Result<wire::ProgramState> program_state(const Result<wire::ReplyBody>& reply) {
  if (!reply.ok()) return reply.error().copy();
  if (const auto* failure = std::get_if<wire::Failure>(&reply.value())) return error_of(*failure);
  const auto* program = std::get_if<wire::ProgramReply>(&reply.value());
  if (program == nullptr)
    return Error(ErrorCode::Unavailable, "the server's reply is of no program");
  return program->state;
}

Result<void> upload(client::ServerClient& client, const Digest& digest, const std::string& bytes) {
  const auto known = TRY(program_state(client.ask(wire::FindProgram{{digest, {}}}, kReplyTimeMax)));
  if (known == wire::ProgramState::Ready || known == wire::ProgramState::Compiling) return {};
  for (std::size_t at = 0; at < bytes.size(); at += wire::kPayloadBytesMax) {
    TRY(program_state(
        client.ask(wire::Upload{digest, bytes.size(), at, bytes.substr(at, wire::kPayloadBytesMax)},
                   kCompileTimeMax)));
  }
  return {};
}

// A file here, or else a name that the server knows.
Result<wire::ProgramName> bring_program(client::ServerClient& client, const std::string& program) {
  Result<std::string> bytes = read_file(program, kProgramBytesMax);
  if (bytes.ok()) {
    TRY(check_module_file(program));
    const Digest digest = sha256(std::as_bytes(std::span(bytes.value())));
    Result<void> uploaded = upload(client, digest, bytes.value());
    if (!uploaded.ok()) return std::move(uploaded).take_error().while_(program);
    return wire::ProgramName{digest, {}};
  }
  const bool may_be_name = bytes.error().code() == ErrorCode::NotFound &&
                           !program.ends_with(".wasm") && check_guest_name(program, "name").ok();
  if (!may_be_name) return std::move(bytes).take_error();
  return wire::ProgramName{std::nullopt, program};
}

// ---- The instances.

class RemoteRun {
 public:
  RemoteRun(client::ServerClient& client, RunClient& printer, const cli::RunOptions& options,
            wire::ProgramName program, std::vector<Arguments> all,
            const std::vector<FileToSend>& files)
      : client_(client),
        printer_(printer),
        options_(options),
        program_(std::move(program)),
        all_(std::move(all)),
        files_(files) {
    for (std::size_t number = 0; number < all_.size(); ++number) to_launch_.push_back(number);
  }

  // Until every program has ended. Cancelled after Ctrl-C.
  Result<void> run(Interrupt& interrupt);

 private:
  struct Line {  // That goes to every instance that runs.
    std::set<std::uint64_t> unsent;
    std::map<std::uint64_t, std::uint64_t> asked;  // Request to instance.
  };

  wire::Launch request_of(std::size_t number) const;
  Result<void> check_launches() const;
  void launch();
  Result<void> take(wire::ServerFrame frame);
  Result<void> take_reply(const wire::Reply& reply);
  Result<void> launched(std::size_t number, const wire::ReplyBody& reply);
  void line_taken(std::uint64_t instance, const wire::ReplyBody& reply);
  void ended(const wire::EndedEvent& event);
  void pump_input();
  bool begin_line();
  void end_input(std::uint64_t instance);
  Result<void> pump_files();
  Result<void> part_taken(std::uint64_t instance, const wire::ReplyBody& reply);
  void abort_all();

  client::ServerClient& client_;
  RunClient& printer_;
  const cli::RunOptions& options_;
  const wire::ProgramName program_;
  const std::vector<Arguments> all_;
  const std::vector<FileToSend>& files_;
  std::deque<std::size_t> to_launch_;
  std::map<std::uint64_t, std::size_t> launching_;  // Request to number.
  SteadyTime::time_point launch_after_{};
  std::optional<SteadyTime::time_point> full_since_;
  std::set<std::uint64_t> running_;
  InputLines input_;
  std::optional<Line> line_;
  SteadyTime::time_point input_after_{};
  std::map<std::uint64_t, FileSender> senders_;                // Of instances that lack files.
  std::map<std::uint64_t, std::uint64_t> parts_;               // Request to instance.
  std::map<std::uint64_t, SteadyTime::time_point> due_parts_;  // Instance, and when to send.
  bool is_input_over_ = false;
  bool is_interrupted_ = false;
};

wire::Launch RemoteRun::request_of(std::size_t number) const {
  wire::Launch request{program_, all_[number], {}, false, options_.tenant, {}};
  if (options_.deadline_seconds > 0) {
    request.deadline_ms =
        static_cast<std::uint64_t>(std::max(options_.deadline_seconds * 1e3, 1.0));
  }
  const cli::InstanceOptions& limits = options_.instance;
  if (limits.has_memory) request.limits.memory_bytes_max = limits.memory_bytes_max;
  if (limits.page_count_max > 0) request.limits.page_count_max = limits.page_count_max;
  if (limits.has_output) request.limits.output_bytes_max = limits.output_bytes_max;
  if (limits.has_cpu_seconds) {
    request.limits.cpu_ns_max = static_cast<std::uint64_t>(limits.cpu_seconds_max * 1e9);
  }
  return request;
}

// A server closes the connection of a larger frame, which would end the programs that run already.
Result<void> RemoteRun::check_launches() const {
  for (std::size_t number = 0; number < all_.size(); ++number) {
    const wire::Message message = wire::encode(wire::Request{UINT64_MAX, request_of(number)});
    if (message.bytes.size() <= wire::kTextFrameBytesMax) continue;
    return Error(ErrorCode::TooLarge,
                 "the arguments of instance " + std::to_string(number) + " make a launch of " +
                     std::to_string(message.bytes.size()) + " bytes; a server takes at most " +
                     std::to_string(wire::kTextFrameBytesMax));
  }
  return {};
}

void RemoteRun::launch() {
  if (SteadyTime::now() < launch_after_) return;
  while (!to_launch_.empty() && launching_.size() < kLaunchCountMax) {
    const std::size_t number = to_launch_.front();
    to_launch_.pop_front();
    launching_.emplace(client_.send(request_of(number)), number);
  }
}

Result<void> RemoteRun::launched(std::size_t number, const wire::ReplyBody& reply) {
  if (const auto* instance = std::get_if<wire::InstanceReply>(&reply)) {
    full_since_.reset();
    printer_.add(InstanceId{instance->instance}, number);
    running_.insert(instance->instance);
    if (is_interrupted_) client_.send(wire::Abort{instance->instance});
    if (!files_.empty()) {
      senders_.emplace(instance->instance, FileSender(files_));
      due_parts_[instance->instance] = {};
    }
    if (is_input_over_) end_input(instance->instance);
    return {};
  }
  const auto* failure = std::get_if<wire::Failure>(&reply);
  if (failure == nullptr) return Error(ErrorCode::Unavailable, "a launch got another's reply");
  const SteadyTime::time_point now = SteadyTime::now();
  if (running_.empty() && !full_since_) full_since_ = now;
  const bool may_wait =
      failure->retry_after_ms && (!running_.empty() || now - *full_since_ < kFullTimeMax);
  if (!may_wait) return error_of(*failure);
  to_launch_.push_back(number);
  launch_after_ = now + std::chrono::milliseconds(*failure->retry_after_ms);
  return {};
}

void RemoteRun::line_taken(std::uint64_t instance, const wire::ReplyBody& reply) {
  const auto* failure = std::get_if<wire::Failure>(&reply);
  // An instance that has ended needs no line; one whose inbox is full is asked again.
  if (failure != nullptr && failure->code == ErrorCode::QuotaExceeded &&
      running_.contains(instance)) {
    line_->unsent.insert(instance);
    input_after_ =
        SteadyTime::now() + std::chrono::milliseconds(failure->retry_after_ms.value_or(20));
  }
}

// The end of the input comes behind the files.
void RemoteRun::end_input(std::uint64_t instance) {
  if (!senders_.contains(instance)) client_.send(wire::CloseInput{instance});
}

Result<void> RemoteRun::pump_files() {
  const SteadyTime::time_point now = SteadyTime::now();
  for (auto at = due_parts_.begin(); at != due_parts_.end();) {
    const auto [instance, due] = *at;
    if (due > now) {
      ++at;
      continue;
    }
    at = due_parts_.erase(at);
    wire::SendFile request{instance, TRY(senders_.at(instance).part())};
    parts_.emplace(client_.send(std::move(request)), instance);
  }
  return {};
}

Result<void> RemoteRun::part_taken(std::uint64_t instance, const wire::ReplyBody& reply) {
  const auto sender = senders_.find(instance);
  if (sender == senders_.end()) return {};  // It has ended.
  if (const auto* failure = std::get_if<wire::Failure>(&reply)) {
    if (failure->retry_after_ms) {
      due_parts_[instance] =
          SteadyTime::now() + std::chrono::milliseconds(*failure->retry_after_ms);
      return {};
    }
    if (failure->code == ErrorCode::NotFound) return {};  // Its end is on its way.
    if (failure->code != ErrorCode::Cancelled) {
      return error_of(*failure).while_(sender->second.path());
    }
    printer_.file_skipped(InstanceId{instance}, sender->second.path());
    sender->second.skip();
  } else {
    sender->second.taken();
  }
  if (!sender->second.is_done()) {
    due_parts_[instance] = {};
    return {};
  }
  senders_.erase(sender);
  if (is_input_over_) end_input(instance);
  return {};
}

Result<void> RemoteRun::take_reply(const wire::Reply& reply) {
  if (const auto launch = launching_.extract(reply.id); !launch.empty()) {
    return launched(launch.mapped(), reply.body);
  }
  if (const auto part = parts_.extract(reply.id); !part.empty()) {
    return part_taken(part.mapped(), reply.body);
  }
  if (line_) {
    if (const auto sent = line_->asked.extract(reply.id); !sent.empty()) {
      line_taken(sent.mapped(), reply.body);
    }
  }
  return {};  // Of aborts and ends of input, which an instance's own end may overtake.
}

void RemoteRun::ended(const wire::EndedEvent& event) {
  running_.erase(event.instance);
  senders_.erase(event.instance);
  due_parts_.erase(event.instance);
  if (line_) line_->unsent.erase(event.instance);
  printer_.heard(InstanceId{event.instance}, service::Ended{event.end});
}

Result<void> RemoteRun::take(wire::ServerFrame frame) {
  if (const auto* reply = std::get_if<wire::Reply>(&frame)) return take_reply(*reply);
  if (const auto* message = std::get_if<wire::MessageEvent>(&frame)) {
    printer_.heard(InstanceId{message->instance}, service::Message{message->bytes});
  } else if (const auto* log = std::get_if<wire::LogEvent>(&frame)) {
    printer_.heard(InstanceId{log->instance}, service::LogLine{log->source, log->level, log->line});
  } else if (const auto* file = std::get_if<wire::FileEvent>(&frame)) {
    const service::FilePart& part = file->part;
    printer_.heard(InstanceId{file->instance},
                   service::SentPart{file->file, part.name, part.media_type, part.file_bytes,
                                     part.offset, part.bytes});
  } else if (const auto* dropped = std::get_if<wire::FileDroppedEvent>(&frame)) {
    printer_.heard(InstanceId{dropped->instance}, service::DroppedFile{dropped->file});
  } else if (const auto* end = std::get_if<wire::EndedEvent>(&frame)) {
    ended(*end);
  } else if (const auto* shutdown = std::get_if<wire::ShutdownEvent>(&frame)) {
    const cli::Terminal terminal = cli::Terminal::standard_error();
    const std::string line = "the server is shutting down; what still runs is stopped in " +
                             std::to_string(shutdown->grace_ms) + " ms";
    std::fprintf(stderr, "%s\n", terminal.paint(line, cli::Colour::Yellow).c_str());
  } else if (const auto* error = std::get_if<wire::ErrorEvent>(&frame)) {
    return Error(error->code, "the server says: " + error->message);
  }
  return {};
}

// Each line goes to all that run, and the next one when all have it.
void RemoteRun::pump_input() {
  if (is_input_over_ || running_.empty() || !launching_.empty()) return;
  if (SteadyTime::now() < input_after_) return;
  while (true) {
    if (line_ && line_->asked.empty() && line_->unsent.empty()) {
      input_.pop();
      line_.reset();
    }
    if (!line_ && !begin_line()) return;
    for (const std::uint64_t each : std::exchange(line_->unsent, {})) {
      line_->asked.emplace(client_.send(wire::Send{each, *input_.front()}), each);
    }
    if (!line_->asked.empty()) return;  // A reply completes the line.
  }
}

// False where no line is there now.
bool RemoteRun::begin_line() {
  if (input_.front() == nullptr) input_.read();
  if (input_.front() != nullptr) {
    line_ = Line{running_, {}};
    return true;
  }
  input_after_ = SteadyTime::now() + kInputPeriod;  // Nothing else says when there is more.
  if (input_.ended()) {
    is_input_over_ = true;
    for (const std::uint64_t each : running_) end_input(each);
  }
  return false;
}

void RemoteRun::abort_all() {
  is_interrupted_ = true;
  printer_.interrupted();
  to_launch_.clear();
  for (const std::uint64_t each : running_) client_.send(wire::Abort{each});
}

Result<void> RemoteRun::run(Interrupt& interrupt) {
  TRY(check_launches());
  while (!to_launch_.empty() || !launching_.empty() || !running_.empty()) {
    launch();
    std::optional<wire::ServerFrame> frame = TRY(client_.receive(kInputPeriod));
    if (frame) {
      TRY(take(*std::move(frame)));
    } else {
      printer_.settle();
    }
    pump_input();
    TRY(pump_files());
    if (!interrupt.take()) continue;
    if (is_interrupted_) break;  // A second one does not wait for the server.
    abort_all();
  }
  if (is_interrupted_) return Error(ErrorCode::Cancelled, "interrupted");
  return {};
}

}  // namespace

Result<int> run_remote(const cli::RunOptions& options) {
  const wire::Endpoint endpoint = TRY(server_endpoint(options.server));
  std::vector<Arguments> all = TRY(run_arguments(options));
  const std::vector<FileToSend> files = TRY(open_files_to_send(options.sent_files));
  std::optional<ReceivedFiles> received = TRY(received_files(options));
  const std::unique_ptr<client::ServerClient> client =
      TRY(client::ServerClient::connect(endpoint, kConnectTimeMax));
  Result<wire::ProgramName> program = bring_program(*client, options.program);
  if (!program.ok()) {
    const bool is_no_module = program.error().code() == ErrorCode::InvalidArgument;
    return is_no_module ? fail_program(program.error()) : fail(program.error());
  }
  Interrupt interrupt = TRY(Interrupt::create());
  RunClient printer(options.output, !options.each_file.empty(), std::move(received));
  const SteadyTime::time_point begin = SteadyTime::now();
  RemoteRun run(*client, printer, options, std::move(program).take(), std::move(all), files);
  if (const Result<void> ran = run.run(interrupt); !ran.ok()) {
    if (ran.error().code() != ErrorCode::Cancelled) return ran.error().copy();
    printer.end_output_line();
    std::fputs("interrupted\n", stderr);
    return cli::number(cli::ExitCode::Interrupted);
  }
  const double duration_s = std::chrono::duration<double>(SteadyTime::now() - begin).count();
  const std::string line = options.output == cli::OutputStyle::Json
                               ? dump_json(totals_json(printer.totals(), duration_s))
                               : "[" + totals_text(printer.totals(), duration_s) + "]";
  const cli::Terminal terminal = cli::Terminal::standard_error();
  std::fprintf(stderr, "%s\n", terminal.paint(line, cli::Colour::Grey).c_str());
  return printer.exit_code();
}

}  // namespace quire
