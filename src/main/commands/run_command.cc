#include "main/commands/run_command.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "cli/terminal.h"
#include "main/commands/input_lines.h"
#include "main/commands/instance_limits.h"
#include "main/commands/kv_text.h"
#include "main/commands/output.h"
#include "main/commands/page_report.h"
#include "main/commands/program_files.h"
#include "main/commands/reported_programs.h"
#include "main/commands/run_arguments.h"
#include "main/commands/run_client.h"
#include "main/commands/run_remote.h"
#include "main/commands/sent_files.h"
#include "main/commands/store_notice.h"
#include "main/machine/application.h"
#include "main/machine/machine.h"

namespace quire {
namespace {

// Files for every instance's `receive_file`.
class LocalFiles {
 public:
  LocalFiles(const std::vector<FileToSend>& files, const std::vector<lifecycle::InstanceId>& to) {
    for (const lifecycle::InstanceId each : to) {
      if (!files.empty()) senders_.emplace(each, FileSender(files));
    }
  }
  // Hands on as much as each takes now. What an instance refuses for good is an error.
  Result<void> pump(lifecycle::InstanceManager& manager, RunClient& client);
  bool is_done() const { return senders_.empty(); }

 private:
  std::map<lifecycle::InstanceId, FileSender> senders_;  // Of those that lack some.
};

Result<void> LocalFiles::pump(lifecycle::InstanceManager& manager, RunClient& client) {
  for (auto at = senders_.begin(); at != senders_.end();) {
    auto& [instance, sender] = *at;
    while (!sender.is_done() && manager.has_file_room(instance)) {
      const Result<void> sent = manager.send_file_to(instance, TRY(sender.part()));
      if (sent.ok()) {
        sender.taken();
        continue;
      }
      if (sent.error().code() == ErrorCode::QuotaExceeded) break;  // It reads some first.
      if (sent.error().code() == ErrorCode::Cancelled) {
        client.file_skipped(instance, sender.path());
        sender.skip();
        continue;
      }
      if (!manager.has_ended(instance)) return sent.error().copy().while_(sender.path());
      break;
    }
    at = sender.is_done() || manager.has_ended(instance) ? senders_.erase(at) : std::next(at);
  }
  return {};
}

// Lines of standard input for every instance's `receive`.
class LocalInput {
 public:
  // Hands on what has arrived. A guest whose inbox is full misses nothing: the line is tried again.
  // The end of the input is theirs too, once nothing else comes.
  void pump(lifecycle::InstanceManager& manager, const std::vector<lifecycle::InstanceId>& to,
            bool may_end);

 private:
  bool deliver(lifecycle::InstanceManager& manager, const std::vector<lifecycle::InstanceId>& to,
               const std::string& line);

  InputLines lines_;
  std::size_t delivered_ = 0;  // Instances that have the first line.
  bool is_closed_ = false;
};

bool LocalInput::deliver(lifecycle::InstanceManager& manager,
                         const std::vector<lifecycle::InstanceId>& to, const std::string& line) {
  for (; delivered_ < to.size(); ++delivered_) {
    const Result<void> sent = manager.send_to(to[delivered_], line);
    if (!sent.ok() && sent.error().code() == ErrorCode::QuotaExceeded) return false;
  }
  delivered_ = 0;
  return true;
}

void LocalInput::pump(lifecycle::InstanceManager& manager,
                      const std::vector<lifecycle::InstanceId>& to, bool may_end) {
  if (is_closed_) return;
  lines_.read();
  while (const std::string* line = lines_.front()) {
    if (!deliver(manager, to, *line)) return;
    lines_.pop();
  }
  if (!may_end || !lines_.ended()) return;
  is_closed_ = true;
  for (const lifecycle::InstanceId instance : to) {
    // An instance that has ended needs no end of input.
    (void)manager.close_input(instance).ok();
  }
}

// Notes what each program had done when it ended, for the report of pages.
class NotedEnds final : public service::Listener {
 public:
  NotedEnds(const lifecycle::InstanceManager& manager, service::Listener& next)
      : manager_(manager), next_(next) {}

  bool heard(InstanceId instance, const service::Said& said) override {
    if (std::holds_alternative<service::Ended>(said)) {
      programs.note(instance, manager_.figures_at_end(instance).statistics);
    }
    return next_.heard(instance, said);
  }

  ReportedPrograms programs;

 private:
  const lifecycle::InstanceManager& manager_;
  service::Listener& next_;
};

Result<void> run_until_all_ended(Application& application, Machine& machine, const Clock& clock,
                                 const std::vector<lifecycle::InstanceId>& instances,
                                 const std::vector<FileToSend>& to_send, RunClient& client,
                                 PageReport* watch) {
  LocalInput input;
  LocalFiles files(to_send, instances);
  StoreNotice store(machine);
  lifecycle::InstanceManager& manager = application.manager();
  std::uint64_t input_ns = 0;
  while (manager.live_count() > 0) {
    const std::uint64_t now = clock.now_ns();
    if (now >= input_ns) {
      TRY(files.pump(manager, client));
      input.pump(manager, instances, files.is_done());
      store.look();
      input_ns = now + std::chrono::nanoseconds(kInputPeriod).count();
    }
    if (application.loop().step()) {
      if (watch != nullptr) watch->look();
      continue;
    }
    client.settle();
    const std::uint64_t after = clock.now_ns();
    const std::uint64_t input_in_ns = input_ns > after ? input_ns - after : 0;
    machine.wakeup().wait_for(
        std::chrono::nanoseconds(std::min(application.loop().sleep_ns(), input_in_ns)));
  }
  store.look();
  return {};
}

std::string closing_line(const RunClient& client, const control::ControlStatistics& statistics,
                         const control::TierStatistics& tiers, double duration_s) {
  std::string line = totals_text(client.totals(), duration_s);
  if (client.totals().instance_count > 1) {
    const double batch = statistics.batch_count == 0
                             ? 0.0
                             : static_cast<double>(statistics.pass_count) /
                                   static_cast<double>(statistics.batch_count);
    line += ", mean batch " + decimal(batch, 1);
  }
  if (tiers.kept_page_count > 0) {
    line += "; " + std::to_string(tiers.kept_page_count) + " pages kept outside of the pool, " +
            std::to_string(tiers.restored_page_count) + " brought back";
  }
  return "[" + line + "]";
}

nlohmann::json tiers_json(const control::TierStatistics& tiers) {
  return {{"host_pages", tiers.host_page_count},
          {"disk_pages", tiers.disk_page_count},
          {"kept_pages", tiers.kept_page_count},
          {"restored_pages", tiers.restored_page_count},
          {"lost_pages", tiers.lost_page_count},
          {"damaged_pages", tiers.damaged_page_count},
          {"swapped_contexts", tiers.swap_count},
          {"compute_us_per_token", tiers.compute_ns_per_token * 1e-3},
          {"load_us_per_page", tiers.load_ns_per_page * 1e-3},
          {"read_us", tiers.read_ns * 1e-3},
          {"read_us_per_page", tiers.read_ns_per_page * 1e-3}};
}

nlohmann::json closing_json(const RunClient& client, const control::ControlStatistics& statistics,
                            const control::TierStatistics& tiers, double duration_s) {
  nlohmann::json json = totals_json(client.totals(), duration_s);
  json.update({{"batches", statistics.batch_count},
               {"passes", statistics.pass_count},
               {"rows", statistics.row_count},
               {"device_s", static_cast<double>(statistics.device_ns) * 1e-9},
               {"scheduler_s", static_cast<double>(statistics.scheduler_ns) * 1e-9},
               {"tiers", tiers_json(tiers)}});
  return json;
}

// What the user wants to know of the pages, now that all programs have ended.
Result<void> tell_pages(const cli::RunOptions& options, const PageReport& report,
                        const ReportedPrograms& programs) {
  const bool is_json = options.output == cli::OutputStyle::Json;
  if (options.kv_tree != cli::KvTreeStyle::None) {
    const std::string tree = report.drawn(options.kv_tree);
    print(is_json ? json_line({{"kv_tree", tree}}) : tree);
  }
  if (options.kv_why) {
    const WhyReport why = report.why(programs);
    print(is_json ? json_line({{"kv_why", why_json(why)}}) : why_text(why));
  }
  if (options.kv_report_file.empty()) return {};
  return report.write(options.kv_report_file, programs);
}

Result<int> run(const cli::RunOptions& options) {
  const SteadyClock clock;
  // What can be wrong in the user's files is told before a model is loaded.
  const std::vector<Arguments> all = TRY(run_arguments(options));
  const lifecycle::InstanceLimits limits = TRY(instance_limits(options.instance));
  if (const Result<void> module = check_module_file(options.program); !module.ok()) {
    return fail_program(module.error());
  }
  const Result<ProgramFiles> further = find_programs(options.further_programs);
  if (!further.ok()) return fail_program(further.error());
  const std::vector<FileToSend> files = TRY(open_files_to_send(options.sent_files));
  std::optional<ReceivedFiles> received = TRY(received_files(options));
  if (!options.kv_report_file.empty()) TRY(check_report_file(options.kv_report_file));
  const std::unique_ptr<Machine> machine = TRY(Machine::build(options.engine, clock));
  const std::unique_ptr<Application> application = TRY(Application::build(
      *machine, clock, {.memory_bytes_max = limits.memory_bytes_max, .traps_tell_lines = true}));
  Result<lifecycle::ProgramId> program = application->manager().load_program_file(options.program);
  if (!program.ok()) return fail_program(program.error());
  const auto named = load_programs(further.value(), application->manager());
  if (!named.ok()) return fail_program(named.error());
  for (const NamedProgram& each : named.value()) {
    application->manager().name_program(each.name, each.id);
  }

  const bool several = !options.each_file.empty();
  RunClient client(options.output, several, std::move(received));
  NotedEnds ends(application->manager(), client);
  std::vector<lifecycle::InstanceId> instances;
  const std::uint64_t begin_ns = clock.now_ns();
  for (const Arguments& arguments : all) {
    const lifecycle::LaunchRequest request = {
        .program = program.value(),
        .tenant = {},
        .arguments = arguments,
        .limits = limits,
        .deadline_in_ns = static_cast<std::uint64_t>(options.deadline_seconds * 1e9)};
    instances.push_back(TRY(application->launch(request, ends)));
    client.add(instances.back(), instances.size() - 1);
    ends.programs.add(instances.back());
  }
  PageReport report(*machine, clock);
  const bool is_drawn =
      options.kv_tree != cli::KvTreeStyle::None || !options.kv_report_file.empty();
  TRY(run_until_all_ended(*application, *machine, clock, instances, files, client,
                          is_drawn ? &report : nullptr));
  const double duration_s = static_cast<double>(clock.now_ns() - begin_ns) * 1e-9;

  TRY(tell_pages(options, report, ends.programs));
  const control::ControlStatistics statistics = machine->control().statistics();
  client.set_pool_page_count_max(statistics.page_count_held_max);
  const control::TierStatistics tiers = machine->tiers();
  const cli::Terminal terminal = cli::Terminal::standard_error();
  const std::string line = options.output == cli::OutputStyle::Json
                               ? dump_json(closing_json(client, statistics, tiers, duration_s))
                               : closing_line(client, statistics, tiers, duration_s);
  std::fprintf(stderr, "%s\n", terminal.paint(line, cli::Colour::Grey).c_str());
  return client.exit_code();
}

}  // namespace

int run_command(const cli::RunOptions& options) {
  Result<int> code = options.server.empty() ? run(options) : run_remote(options);
  return code.ok() ? code.value() : fail(code.error());
}

}  // namespace quire
