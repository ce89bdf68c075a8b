#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cli/terminal.h"
#include "main/verbs/instances/instance_commands.h"
#include "main/verbs/run/awaited_reply.h"
#include "main/verbs/run/remote_run.h"
#include "main/verbs/shared/interrupt.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/remote_times.h"

namespace quire {
namespace {

// The listener of the attach is there before the number of the instance is known.
class Attached final : public service::Listener {
 public:
  explicit Attached(RunClient& printer) : printer_(printer) {}

  void follow(ProgramsRun& run) { run_ = &run; }
  // Before that, what the instance says is offered again.
  bool heard(InstanceId instance, const service::Said& said) override {
    if (run_ == nullptr || !printer_.heard(instance, said)) return false;
    if (std::holds_alternative<service::Ended>(said)) run_->lost(instance);
    return true;
  }

 private:
  RunClient& printer_;
  ProgramsRun* run_ = nullptr;
};

Result<wire::InstanceReply> attach(client::RemoteService& service,
                                   const cli::AttachOptions& options, Attached& listener) {
  const wire::Attach request{options.name, options.instance, options.takes};
  service::Reply<wire::InstanceReply> reply =
      TRY(await_reply<wire::InstanceReply>(service, kReplyTimeMax, [&](auto then) {
        service.attach(request, listener, std::move(then));
      }));
  auto* failure = std::get_if<service::Failure>(&reply);
  if (failure == nullptr) return std::get<wire::InstanceReply>(std::move(reply));
  if (failure->code != ErrorCode::AlreadyExists) return error_of(*failure);
  return Error(failure->code, "another client is attached to the instance; --take detaches it");
}

// Ctrl-C leaves the program as it is.
Result<int> leave(client::RemoteService& service, InstanceId instance) {
  TRY(wait_for<service::Done>(service, kReplyTimeMax,
                              [&](auto then) { service.detach(instance, std::move(then)); }));
  const std::string id = std::to_string(static_cast<std::uint64_t>(instance));
  std::fprintf(stderr,
               "detached; instance %s goes on: quire attach %s follows it again, quire abort %s "
               "stops it\n",
               id.c_str(), id.c_str(), id.c_str());
  return cli::number(cli::ExitCode::Interrupted);
}

Result<int> follow(const cli::AttachOptions& options) {
  std::optional<ReceivedFiles> received = TRY(received_files(options.save_folder));
  const std::unique_ptr<RemoteRun> remote =
      TRY(RemoteRun::connect(options.server.url, options.server.key_file));
  Interrupt interrupt = TRY(Interrupt::create());
  RunClient printer(options.output, false, std::move(received), options.log_level);
  Attached listener(printer);
  const wire::InstanceReply attached = TRY(attach(remote->service(), options, listener));
  const InstanceId instance{attached.instance};
  printer.add(instance, attached.instance);
  const std::vector<FileToSend> no_files;
  ProgramsRun run(remote->service(), listener, printer, {}, no_files);
  run.follow(instance, isatty(STDIN_FILENO) == 1);
  listener.follow(run);
  remote->watch(run, printer);
  if (const Result<void> ran = run.run(&interrupt); !ran.ok()) {
    if (ran.error().code() != ErrorCode::Cancelled) return ran.error().copy();
    printer.end_output_line();
    return leave(remote->service(), instance);
  }
  if (printer.totals().instance_count > 0) {
    const double duration_s = static_cast<double>(printer.totals().duration_ns_max) * 1e-9;
    print_totals(options.output, printer.totals(), duration_s);
  }
  return printer.exit_code();
}

}  // namespace

int attach_command(const cli::AttachOptions& options) {
  const Result<int> code = follow(options);
  return code.ok() ? code.value() : fail(code.error());
}

}  // namespace quire
