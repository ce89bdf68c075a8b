#include "main/commands/run_command.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "application/net/http_grant.h"
#include "base/file.h"
#include "cli/terminal.h"
#include "main/commands/kv_text.h"
#include "main/commands/output.h"
#include "main/commands/page_report.h"
#include "main/commands/run_client.h"
#include "main/machine/application.h"
#include "main/machine/machine.h"

namespace quire {
namespace {

constexpr std::uint64_t kEachFileBytesMax = std::uint64_t{256} << 20;
constexpr std::size_t kInputLineBytesMax = std::size_t{1} << 20;
// Standard input is looked at so often while nothing else happens.
constexpr std::chrono::milliseconds kInputPeriod{10};

using Arguments = std::vector<std::string>;

// One instance for each line: a JSON array of arguments, or an object with "args".
Result<std::vector<Arguments>> parse_each(const std::string& text, const std::string& name) {
  std::vector<Arguments> all;
  std::size_t line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    line_number += 1;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("args")) json = nlohmann::json(json["args"]);
    const bool strings =
        json.is_array() && std::all_of(json.begin(), json.end(), [](const auto& each) {
          return each.is_string() || each.is_number();
        });
    if (!strings) {
      return Error(ErrorCode::InvalidArgument,
                   name + ", line " + std::to_string(line_number) +
                       ": a line is a JSON array of arguments, or an object with \"args\"");
    }
    Arguments arguments;
    for (const nlohmann::json& each : json) {
      arguments.push_back(each.is_string() ? each.get<std::string>() : each.dump());
    }
    all.push_back(std::move(arguments));
  }
  if (all.empty()) return Error(ErrorCode::InvalidArgument, name + " has no line");
  return all;
}

// Lines of standard input for every instance's `receive`, without ever waiting for one.
class InputLines {
 public:
  // Hands on what has arrived. A guest whose inbox is full misses nothing: the line is tried again.
  void pump(lifecycle::InstanceManager& manager, const std::vector<lifecycle::InstanceId>& to);

 private:
  bool read_some();
  bool deliver(lifecycle::InstanceManager& manager, const std::vector<lifecycle::InstanceId>& to,
               const std::string& line);

  std::string pending_;
  std::size_t delivered_ = 0;  // Instances that have the first pending line.
  bool ended_ = false;
  bool closed_ = false;
};

bool InputLines::read_some() {
  pollfd polled{STDIN_FILENO, POLLIN, 0};
  if (ended_ || poll(&polled, 1, 0) <= 0) return false;
  char part[65536];
  const ssize_t count = read(STDIN_FILENO, part, sizeof part);
  if (count <= 0) {
    ended_ = true;
    return false;
  }
  pending_.append(part, static_cast<std::size_t>(count));
  return true;
}

bool InputLines::deliver(lifecycle::InstanceManager& manager,
                         const std::vector<lifecycle::InstanceId>& to, const std::string& line) {
  for (; delivered_ < to.size(); ++delivered_) {
    const Result<void> sent = manager.send_to(to[delivered_], line);
    if (!sent.ok() && sent.error().code() == ErrorCode::QuotaExceeded) return false;
  }
  delivered_ = 0;
  return true;
}

void InputLines::pump(lifecycle::InstanceManager& manager,
                      const std::vector<lifecycle::InstanceId>& to) {
  if (closed_) return;
  if (pending_.size() < kInputLineBytesMax) read_some();
  for (std::size_t end; (end = pending_.find('\n')) != std::string::npos;) {
    if (!deliver(manager, to, pending_.substr(0, end))) return;
    pending_.erase(0, end + 1);
  }
  if (ended_ && !pending_.empty()) {
    if (!deliver(manager, to, pending_)) return;
    pending_.clear();
  }
  if (!ended_) return;
  closed_ = true;
  for (const lifecycle::InstanceId instance : to) {
    // An instance that has ended needs no end of input.
    (void)manager.close_input(instance).ok();
  }
}

void run_until_all_ended(Application& application, Machine& machine, const Clock& clock,
                         const std::vector<lifecycle::InstanceId>& instances, PageReport* watch) {
  InputLines input;
  lifecycle::InstanceManager& manager = application.manager();
  std::uint64_t input_ns = 0;
  while (manager.live_count() > 0) {
    const std::uint64_t now = clock.now_ns();
    if (now >= input_ns) {
      input.pump(manager, instances);
      input_ns = now + std::chrono::nanoseconds(kInputPeriod).count();
    }
    if (application.loop().step()) {
      if (watch != nullptr) watch->look();
      continue;
    }
    const std::uint64_t after = clock.now_ns();
    const std::uint64_t input_in_ns = input_ns > after ? input_ns - after : 0;
    machine.wakeup().wait_for(
        std::chrono::nanoseconds(std::min(application.loop().sleep_ns(), input_in_ns)));
  }
}

std::string closing_line(const RunClient& client, const control::ControlStatistics& statistics,
                         const control::TierStatistics& tiers, double duration_s) {
  const RunClient::Totals& totals = client.totals();
  const auto tokens = static_cast<double>(totals.computed_token_count);
  std::string line = "[" + std::to_string(totals.computed_token_count) + " tokens, " +
                     decimal(duration_s > 0 ? tokens / duration_s : 0.0, 1) +
                     " tokens/s, first after " +
                     decimal(static_cast<double>(totals.first_message_ns) * 1e-6, 0) + " ms; " +
                     std::to_string(totals.page_count_max) + " pages used, " +
                     std::to_string(totals.found_token_count) + " of " +
                     std::to_string(totals.asked_token_count) + " tokens found in cache";
  if (totals.instance_count > 1) {
    const double batch = statistics.batch_count == 0
                             ? 0.0
                             : static_cast<double>(statistics.pass_count) /
                                   static_cast<double>(statistics.batch_count);
    line += "; " + std::to_string(totals.instance_count) + " instances, mean batch " +
            decimal(batch, 1);
  }
  if (tiers.kept_page_count > 0) {
    line += "; " + std::to_string(tiers.kept_page_count) + " pages kept outside of the pool, " +
            std::to_string(tiers.restored_page_count) + " brought back";
  }
  return line + "]";
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
  const RunClient::Totals& totals = client.totals();
  return {{"instances", totals.instance_count},
          {"asked_tokens", totals.asked_token_count},
          {"computed_tokens", totals.computed_token_count},
          {"found_tokens", totals.found_token_count},
          {"page_count_max", totals.page_count_max},
          {"first_message_s", static_cast<double>(totals.first_message_ns) * 1e-9},
          {"first_message_s_max", static_cast<double>(totals.first_message_ns_max) * 1e-9},
          {"seconds", duration_s},
          {"batches", statistics.batch_count},
          {"passes", statistics.pass_count},
          {"rows", statistics.row_count},
          {"device_s", static_cast<double>(statistics.device_ns) * 1e-9},
          {"scheduler_s", static_cast<double>(statistics.scheduler_ns) * 1e-9},
          {"tiers", tiers_json(tiers)}};
}

lifecycle::LaunchRequest launch_request(lifecycle::ProgramId program,
                                        const cli::RunOptions& options,
                                        const std::vector<net::HttpGrant>& http_grants,
                                        const Arguments& arguments) {
  lifecycle::LaunchRequest request;
  request.program = program;
  request.arguments = arguments;
  request.limits.memory_bytes_max = options.memory_bytes_max;
  request.limits.guest.may_read_logits = options.may_read_logits;
  request.limits.guest.http_grants = http_grants;
  request.limits.control.may_export_publicly = options.may_export_publicly;
  const auto cpu_ns = static_cast<std::uint64_t>(options.cpu_seconds_max * 1e9);
  request.limits.cpu_ns_max = cpu_ns;
  request.limits.cpu_ns_between_waits_max =
      std::min(request.limits.cpu_ns_between_waits_max, cpu_ns);
  return request;
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

// Programs that save nothing need not care; those that do get not-supported.
void tell_store_error(const Machine& machine) {
  const std::optional<Error>& error = machine.store_error();
  if (!error) return;
  const cli::Terminal terminal = cli::Terminal::standard_error();
  const std::string line = "snapshots are off: " + std::string(error->message()) +
                           "; --no-store runs without and says nothing";
  std::fprintf(stderr, "%s\n", terminal.paint(line, cli::Colour::Yellow).c_str());
}

Result<int> run(const cli::RunOptions& options) {
  const SteadyClock clock;
  // What can be wrong in the user's files is told before a model is loaded.
  std::vector<Arguments> all = {options.arguments};
  if (!options.each_file.empty()) {
    const std::string text = TRY(read_file(options.each_file, kEachFileBytesMax));
    all = TRY(parse_each(text, options.each_file));
    for (Arguments& arguments : all) {
      arguments.insert(arguments.begin(), options.arguments.begin(), options.arguments.end());
    }
  }
  const Result<std::vector<net::HttpGrant>> http_grants =
      net::parse_http_grants(options.allow_http);
  if (!http_grants.ok()) {
    fail(http_grants.error().copy().while_("--allow-http"));
    return cli::number(cli::ExitCode::Usage);
  }
  TRY(File::open(options.program));
  if (!options.kv_report_file.empty()) TRY(check_report_file(options.kv_report_file));
  const std::unique_ptr<Machine> machine = TRY(Machine::build(options.engine, clock));
  tell_store_error(*machine);
  const std::unique_ptr<Application> application =
      TRY(Application::build(*machine, clock, {.memory_bytes_max = options.memory_bytes_max}));
  Result<lifecycle::ProgramId> program = application->manager().load_program_file(options.program);
  if (!program.ok()) {
    fail(program.error());
    return cli::number(cli::ExitCode::GuestFailed);
  }

  const bool several = !options.each_file.empty();
  RunClient client(options.output, several);
  std::vector<lifecycle::InstanceId> instances;
  const std::uint64_t begin_ns = clock.now_ns();
  for (const Arguments& arguments : all) {
    instances.push_back(TRY(application->launch(
        launch_request(program.value(), options, http_grants.value(), arguments), client)));
    client.add(instances.back());
  }
  PageReport report(*machine, clock);
  const bool is_drawn =
      options.kv_tree != cli::KvTreeStyle::None || !options.kv_report_file.empty();
  run_until_all_ended(*application, *machine, clock, instances, is_drawn ? &report : nullptr);
  const double duration_s = static_cast<double>(clock.now_ns() - begin_ns) * 1e-9;

  TRY(tell_pages(options, report, client.programs()));
  const control::ControlStatistics statistics = machine->control().statistics();
  const control::TierStatistics tiers = machine->tiers();
  const cli::Terminal terminal = cli::Terminal::standard_error();
  const std::string line = options.output == cli::OutputStyle::Json
                               ? closing_json(client, statistics, tiers, duration_s).dump()
                               : closing_line(client, statistics, tiers, duration_s);
  std::fprintf(stderr, "%s\n", terminal.paint(line, cli::Colour::Grey).c_str());
  return cli::number(client.all_ended_well() ? cli::ExitCode::Ok : cli::ExitCode::GuestFailed);
}

}  // namespace

int run_command(const cli::RunOptions& options) {
  Result<int> code = run(options);
  return code.ok() ? code.value() : fail(code.error());
}

}  // namespace quire
