#include "main/verbs/run/run_command.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/terminal.h"
#include "main/machine/application.h"
#include "main/machine/local_service.h"
#include "main/machine/machine.h"
#include "main/verbs/make/cargo_project.h"
#include "main/verbs/make/program_files.h"
#include "main/verbs/make/source_modules.h"
#include "main/verbs/make/source_program.h"
#include "main/verbs/pages/page_report.h"
#include "main/verbs/pages/reported_programs.h"
#include "main/verbs/run/input_lines.h"
#include "main/verbs/run/program_options.h"
#include "main/verbs/run/run_arguments.h"
#include "main/verbs/run/run_client.h"
#include "main/verbs/run/run_programs.h"
#include "main/verbs/run/run_remote.h"
#include "main/verbs/run/run_watch.h"
#include "main/verbs/run/sent_files.h"
#include "main/verbs/run/shipped_program.h"
#include "main/verbs/shared/environment.h"
#include "main/verbs/shared/instance_limits.h"
#include "main/verbs/shared/kv_text.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/scratch_folder.h"
#include "main/verbs/shared/shipped_endpoints.h"
#include "main/verbs/shared/store_notice.h"

namespace quire {
namespace {

// Notes what each program had done when it ended, for the report of pages.
class NotedEnds final : public service::Listener {
 public:
  NotedEnds(const lifecycle::InstanceManager& manager, RunClient& client)
      : manager_(manager), client_(client) {}

  bool heard(InstanceId instance, const service::Said& said) override {
    if (std::holds_alternative<service::Ended>(said)) {
      programs.add(instance, client_.number_of(instance));
      programs.note(instance, manager_.figures_at_end(instance).statistics);
    }
    return client_.heard(instance, said);
  }

  ReportedPrograms programs;

 private:
  const lifecycle::InstanceManager& manager_;
  RunClient& client_;
};

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

// Prints what the user asked to know about the pages, now that all programs have ended.
Result<void> tell_pages(const cli::RunOptions& options, const PageReport& report,
                        const ReportedPrograms& programs) {
  const bool is_json = options.output == cli::OutputStyle::Json;
  if (options.kv_tree != cli::KvTreeStyle::None) {
    const std::string tree = report.drawn(options.kv_tree);
    print(is_json ? json_line({{"event", "kv_tree"}, {"kv_tree", tree}}) : tree);
  }
  if (options.kv_why) {
    const WhyReport why = report.why(programs);
    print(is_json ? json_line({{"event", "kv_why"}, {"kv_why", why_json(why)}}) : why_text(why));
  }
  if (options.kv_report_file.empty()) return {};
  return report.write(options.kv_report_file, programs);
}

// Prints the closing line, after everything that the programs wrote.
void tell_end(const cli::RunOptions& options, RunClient& client, Machine& machine,
              double duration_s) {
  const control::ControlStatistics statistics = machine.control().statistics();
  client.set_pool_page_count_max(statistics.page_count_held_max);
  const control::TierStatistics tiers = machine.tiers();
  if (options.output == cli::OutputStyle::Json) {
    const std::string json = dump_json(closing_json(client, statistics, tiers, duration_s));
    std::fprintf(stderr, "%s\n", json.c_str());
  } else {
    print_note(closing_line(client, statistics, tiers, duration_s));
  }
}

Result<void> check_program(const cli::RunOptions& options) {
  TRY(check_module_file(options.program));
  return check_program_options(options);
}

Result<int> run(const cli::RunOptions& options) {
  const SteadyClock clock;
  // Mistakes in the user's files are reported before a model is loaded.
  const std::vector<Arguments> all = TRY(run_arguments(options));
  const lifecycle::InstanceLimits limits = TRY(instance_limits(options.instance));
  const hostcalls::EnvironmentHandle environment = TRY(read_environment(options.instance.env));
  if (const Result<void> checked = check_program(options); !checked.ok()) {
    return fail_program(checked.error());
  }
  std::optional<ScratchFolder> scratch;
  if (SourceModules::has_source(options.further_programs)) scratch.emplace();
  SourceModules sources(scratch ? scratch->path() : std::filesystem::path());
  const Result<std::vector<std::string>> modules = sources.build(options.further_programs);
  if (sources.exit_code() != 0) return sources.exit_code();  // The compiler has said why.
  if (!modules.ok()) return fail_program(modules.error());
  const Result<ProgramFiles> further = find_programs(modules.value());
  if (!further.ok()) return fail_program(further.error());
  const std::vector<FileToSend> files = TRY(open_files_to_send(options.sent_files));
  std::optional<ReceivedFiles> received = TRY(received_files(options.save_folder));
  if (!options.kv_report_file.empty()) TRY(check_report_file(options.kv_report_file));
  const std::unique_ptr<Machine> machine = TRY(Machine::build(options.engine, clock));
  const std::unique_ptr<Application> application = TRY(Application::build(
      *machine, clock, {.memory_bytes_max = limits.memory_bytes_max, .traps_tell_lines = true}));
  LocalService service(*application, *machine, limits, environment);
  const Result<service::ProgramName> program = bring_program(service, options.program);
  if (!program.ok()) return fail_program(program.error());
  const auto named = load_programs(further.value(), application->manager());
  if (!named.ok()) return fail_program(named.error());
  scratch.reset();  // Not after the run, which Ctrl-C ends with the process.
  for (const NamedProgram& each : named.value()) {
    application->manager().name_program(each.name, each.id);
  }
  application->manager().look_for_programs(find_shipped_program);

  const bool several = !options.each_file.empty();
  RunClient client(options.output, several, std::move(received), options.instance.log_level);
  NotedEnds ends(application->manager(), client);
  PageReport report(*machine, clock);
  const bool is_drawn =
      options.kv_tree != cli::KvTreeStyle::None || !options.kv_report_file.empty();
  StoreNotice store(*machine);
  std::uint64_t store_ns = 0;
  service.watch([&] {
    if (is_drawn) report.look();
    const std::uint64_t now_ns = clock.now_ns();
    if (now_ns < store_ns) return;
    store.look();
    store_ns = now_ns + static_cast<std::uint64_t>(std::chrono::nanoseconds(kInputPeriod).count());
  });
  const std::uint64_t begin_ns = clock.now_ns();
  ProgramsRun programs(service, ends, client, launches_of(options.launch, program.value(), all),
                       files);
  TRY(programs.run(nullptr));
  service.run_until_idle();
  store.look();
  const double duration_s = static_cast<double>(clock.now_ns() - begin_ns) * 1e-9;
  TRY(tell_pages(options, report, ends.programs));
  tell_end(options, client, *machine, duration_s);
  return client.exit_code();
}

int run_module(const cli::RunOptions& options) {
  if (options.shows_options || asks_for_program_help(options)) {
    return show_program_options(options);
  }
  Result<int> code = options.server.empty() ? run(options) : run_remote(options);
  return code.ok() ? code.value() : fail(code.error());
}

// `quire run NAME`: the program of that name that comes with quire, if no file here has the name. A
// server may have another program of that name, so run_remote.cc asks it first.
cli::RunOptions with_shipped_program(cli::RunOptions options) {
  if (!options.server.empty()) return options;
  const std::optional<std::string> module = shipped_program_named(options.program);
  if (!module) return options;
  options.source = options.program;
  options.program = *module;
  return options;
}

// PROGRAM, a source, as the module in the folder that build_for_run() makes of it.
cli::RunOptions with_built_program(const cli::RunOptions& options, const ScratchFolder& scratch) {
  cli::RunOptions built = options;
  built.source = options.program;
  built.program = (scratch.path() / program_name_of(options.program)).string() + ".wasm";
  return built;
}

int build_and_run(const cli::RunOptions& options) {
  const ScratchFolder scratch;
  if (scratch.path().empty()) return fail(no_scratch_folder());
  const cli::RunOptions built = with_built_program(options, scratch);
  const int code = build_for_run(built.source, built.program, built.bin);
  return code == cli::number(cli::ExitCode::Ok) ? run_module(built) : code;
}

int watch_and_run(const cli::RunOptions& options) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(options.program, ignored) &&
      !is_program_source(options.program)) {
    return fail(cli::ExitCode::Missing,
                "no file " + options.program + ", whose changes --watch could wait for");
  }
  const ScratchFolder scratch;
  if (scratch.path().empty()) return fail(no_scratch_folder());
  WatchedRun watched{.name = options.program,
                     .prepare = [] { return cli::number(cli::ExitCode::Ok); },
                     .run = [options] { return run_module(options); },
                     .files = [options] { return std::vector{options.program}; }};
  if (is_program_source(options.program)) {
    const cli::RunOptions built = with_built_program(options, scratch);
    watched.prepare = [built] { return build_for_run(built.source, built.program, built.bin); };
    watched.run = [built] { return run_module(built); };
    watched.files = [built] { return files_of_program(built.source); };
  }
  const Result<int> code = run_and_watch(watched);
  return code.ok() ? code.value() : fail(code.error());
}

}  // namespace

int run_command(const cli::RunOptions& options) {
  if (!options.bin.empty() && !is_cargo_project(options.program)) {
    return fail(cli::ExitCode::Usage, no_cargo_project_text(options.program));
  }
  if (options.watches && !options.shows_options) return watch_and_run(options);
  if (is_program_source(options.program)) return build_and_run(options);
  return run_module(with_shipped_program(options));
}

}  // namespace quire
