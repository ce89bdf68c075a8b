#include "main/verbs/serve/serve_command.h"

#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "application/server/server.h"
#include "base/random.h"
#include "base/readable.h"
#include "cli/terminal.h"
#include "main/machine/application.h"
#include "main/machine/key_use_recorder.h"
#include "main/machine/machine.h"
#include "main/machine/machine_facts.h"
#include "main/machine/usage_recorder.h"
#include "main/verbs/serve/compiler_sandbox.h"
#include "main/verbs/serve/end_watch.h"
#include "main/verbs/serve/log_writer.h"
#include "main/verbs/serve/operator_log.h"
#include "main/verbs/serve/served_programs.h"
#include "main/verbs/serve/server_access.h"
#include "main/verbs/serve/server_settings.h"
#include "main/verbs/serve/service_notice.h"
#include "main/verbs/serve/signal_watch.h"
#include "main/verbs/serve/source_watch.h"
#include "main/verbs/shared/instance_limits.h"
#include "main/verbs/shared/kv_text.h"
#include "main/verbs/shared/open_files.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/store_notice.h"

namespace quire {
namespace {

// The count of open files that are not connections: one for each program's code (512 at most), and
// further ones.
constexpr std::uint64_t kOtherFileCount = 768;

// Blocks of this size have pages of their own, which go when they do. The allocator raises its own
// threshold to the size of the largest upload, and what uploads of that size took stays with it.
constexpr int kOwnPagesBytes = 4 << 20;

using server::Severity;

// ---- The server.

// As many connections as the process may have files.
std::uint32_t connection_count(std::uint32_t wanted, const server::TellOperator& tell) {
  const std::uint64_t files = allow_open_files(wanted + kOtherFileCount);
  if (files >= wanted + kOtherFileCount) return wanted;
  const std::uint64_t room = files > kOtherFileCount ? files - kOtherFileCount : 1;
  tell({"connections_lowered",
        Severity::Warning,
        "this process may open " + std::to_string(files) + " files: " + std::to_string(room) +
            " connections instead of " + std::to_string(wanted) + " (ulimit -n)",
        {{"connections", room}}});
  return static_cast<std::uint32_t>(room);
}

std::string joined(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& each : all) text += (text.empty() ? "" : ", ") + each;
  return text;
}

// "http://127.0.0.1:7847" of "ws://127.0.0.1:7847".
std::string http_url(const std::string& server_url) {
  return "http" + server_url.substr(server_url.find(':'));
}

// A server serves on although nothing reads where it is.
void print_line(const std::string& text, const server::TellOperator& tell) {
  const Result<void> printed = try_print(text);
  if (printed.ok()) return;
  std::clearerr(stdout);
  tell({"address_not_printed", Severity::Warning, std::string(printed.error().message())});
}

void print_ready(const cli::ServeOptions& options, const std::string& url,
                 const std::vector<control::ModelDescription>& models, const ProgramFiles& files,
                 const std::vector<server::EndpointRule>& endpoints,
                 const server::TellOperator& tell) {
  std::vector<std::string> model_names;
  for (const control::ModelDescription& each : models) model_names.push_back(each.name);
  std::vector<std::string> program_names;
  for (const auto& [name, path] : files) program_names.push_back(name);
  if (options.output == cli::OutputStyle::Text) {
    std::string text =
        "quire " QUIRE_VERSION " serves " + joined(model_names) + " at " + url + "\n";
    if (const std::size_t count = program_names.size(); count > 0) {
      text += "  " + std::to_string(count) + (count == 1 ? " program" : " programs") +
              " (quire status lists " + (count == 1 ? "it)\n" : "them)\n");
    }
    for (const server::EndpointRule& each : endpoints) {
      text +=
          "  " + each.method + " " + http_url(url) + each.path + (each.is_prefix ? "*\n" : "\n");
    }
    print_line(text, tell);
    return;
  }
  nlohmann::json json = {{"url", url},
                         {"model", models.front().name},
                         {"models", model_names},
                         {"programs", program_names},
                         {"endpoints", nlohmann::json::array()}};
  for (const server::EndpointRule& each : endpoints) {
    json["endpoints"].push_back({{"method", each.method},
                                 {"url", http_url(url) + each.path + (each.is_prefix ? "*" : "")},
                                 {"program", each.program}});
  }
  print_line(json_line(json), tell);
}

// "wss://..." of "ws://..." with TLS.
std::string ready_url(const cli::ServeOptions& options, wire::Endpoint endpoint) {
  endpoint.has_tls = tls_files(options).has_value();
  return wire::server_url(endpoint);
}

// None: each caller is the operator. A mistake in the files of TLS, or in the folder of adapters,
// is reported here, too.
Result<std::optional<access::KeyRing>> read_keys(const cli::ServeOptions& options,
                                                 const wire::Endpoint& listen,
                                                 const server::TellOperator& tell) {
  std::optional<access::KeyRing> keys = TRY(read_server_keys(options.keys_file));
  TRY(check_adapters_folder(options));
  const std::optional<server::TlsFiles> tls = tls_files(options);
  if (tls) TRY(server::TlsContext::open(*tls));
  if (keys && !tls && !server::is_loopback(listen)) {
    tell({"no_tls", Severity::Warning,
          "keys and answers travel readable to " + options.listen +
              ": give --tls-certificate and --tls-key, or put a proxy with TLS in front"});
  }
  return keys;
}

// Null: no accounts are kept.
Result<std::unique_ptr<UsageRecorder>> open_usage(const cli::ServeOptions& options,
                                                  const WallClock& clock,
                                                  const server::TellOperator& tell) {
  if (options.usage_file.empty()) return std::unique_ptr<UsageRecorder>();
  Result<std::unique_ptr<UsageRecorder>> opened = UsageRecorder::open(
      options.usage_file, clock,
      [tell](const std::string& text) { tell({"usage_not_kept", server::Severity::Error, text}); });
  if (!opened.ok()) return std::move(opened).take_error().while_("--usage");
  return opened;
}

// The server's records of its callers.
struct Records {
  std::unique_ptr<UsageRecorder> usage;
  std::unique_ptr<KeyUseRecorder> key_uses;  // Null without keys.

  access::KeyUses* uses() const { return key_uses == nullptr ? nullptr : &key_uses->uses(); }
};
Result<Records> open_records(const cli::ServeOptions& options, const WallClock& clock,
                             const server::TellOperator& tell) {
  Records records;
  records.usage = TRY(open_usage(options, clock, tell));
  if (options.keys_file.empty()) return records;
  records.key_uses = TRY(KeyUseRecorder::start(options.keys_file, [tell](const std::string& text) {
    tell({"key_uses_not_kept", server::Severity::Warning, text});
  }));
  return records;
}

// Once the weights are there: as configured, else half of what the pools leave of the memory that
// other processes do not have, and at least what one program may grow to.
std::uint64_t program_memory_bytes(const cli::ServeOptions& options, const Machine& machine,
                                   std::uint64_t of_one) {
  const auto given = options.instance.server_limit(ServerLimit::ProgramMemoryBytesMax);
  if (given) return *given;
  const std::uint64_t resident = memory_bytes_resident();
  const std::uint64_t taken = resident + machine.growth_bytes_max();
  const std::uint64_t all = std::min(memory_bytes_allowed(), memory_bytes_available() + resident);
  return std::max(of_one, (all - std::min(all, taken)) / 2);
}

void tell_store(const Machine& machine, const server::TellOperator& tell) {
  const std::string error = store_error_text(machine);
  if (!error.empty()) tell({"store_missing", Severity::Warning, error});
}

// A pool takes memory only as its pages are used, and programs as they grow. So what is too large
// ends the process hours later.
void tell_memory(const Machine& machine, std::uint64_t programs, const server::TellOperator& tell) {
  const std::uint64_t most = memory_bytes_allowed();
  const std::uint64_t used = memory_bytes_resident();
  const std::uint64_t growth = machine.growth_bytes_max();
  if (used + growth <= most && programs <= most - used - growth) return;
  tell({"memory_short",
        Severity::Warning,
        "the pools of pages may grow to " + readable_bytes(growth) + " and programs to " +
            readable_bytes(programs) + " beyond the " + readable_bytes(used) +
            " that the process has, and " +
            (memory_group_bytes_max() ? "its control group allows " : "the machine has ") +
            readable_bytes(most) +
            ": the kernel will end it then; give a smaller --kv-memory, --kv-host or --limit "
            "program_memory_bytes_max",
        {{"pool_bytes", growth},
         {"program_bytes", programs},
         {"used_bytes", used},
         {"allowed_bytes", most}}});
}

// Warns before the server takes work.
void tell_shortages(const Machine& machine, std::uint64_t program_bytes,
                    const server::TellOperator& tell) {
  tell_store(machine, tell);
  tell_memory(machine, program_bytes, tell);
}

Result<std::unique_ptr<Application>> build_application(const cli::ServeOptions& options,
                                                       std::uint64_t memory_bytes_max,
                                                       Machine& machine, const Clock& clock,
                                                       UsageRecorder* usage,
                                                       const server::TellOperator& tell) {
  const std::uint64_t of_all = program_memory_bytes(options, machine, memory_bytes_max);
  std::unique_ptr<Application> application = TRY(Application::build(
      machine, clock,
      {.instance_count_max = options.instance_count_max,
       .waiting_launch_count_max = options.waiting_launch_count_max,
       .memory_bytes_max = memory_bytes_max,
       .program_memory_bytes_max = of_all,
       .compile = compile_limits(options),
       .has_quick_compiler = !options.compile.has_cranelift_only && options.keys_file.empty(),
       .has_keyed_numbers = true,
       .usage = usage}));
  name_tenants(options.tenants, application->manager());
  share_adapters(options.tenants, machine.adapters());
  tell_shortages(machine, of_all, tell);
  return application;
}

server::LogEvent started_event(const std::string& url, Machine& machine, std::size_t endpoint_count,
                               std::uint64_t load_ns) {
  return {"started",
          Severity::Info,
          "",
          {{"url", http_url(url)},
           {"version", QUIRE_VERSION},
           {"model", machine.control().models().front().name},
           {"pages", std::uint64_t{machine.control().statistics().page_count}},
           {"endpoints", std::uint64_t{endpoint_count}},
           {"load_ms", load_ns / kMillisecond}}};
}

void tell_missing(const ServedPrograms& programs, const server::TellOperator& tell) {
  if (programs.missing().empty()) return;
  tell({"endpoints_missing", Severity::Warning, "no endpoints of quire: " + programs.missing()});
}

server::SocketLimits socket_limits(const cli::ServeOptions& options,
                                   const server::TellOperator& tell) {
  server::SocketLimits sockets;
  sockets.connection_count_max = connection_count(options.connection_count_max, tell);
  share_bytes(options.tenants, sockets);
  return sockets;
}

Result<std::unique_ptr<Machine>> build_machine(const cli::ServeOptions& options, const Clock& clock,
                                               const server::TellOperator& tell) {
  return Machine::build(options.engine, clock, nullptr, [tell](const std::string& text) {
    tell({"store_failed", Severity::Error, text, {{"error", text}}});
  });
}

Result<std::unique_ptr<server::EarlyServer>> listen_early(const cli::ServeOptions& options,
                                                          const wire::Endpoint& listen,
                                                          const server::SocketLimits& sockets,
                                                          const server::TellOperator& tell) {
  std::unique_ptr<server::EarlyServer> early =
      TRY(server::EarlyServer::open(listen, sockets, tls_files(options), tell));
  tell({"listening",
        Severity::Info,
        "",
        {{"url", http_url(ready_url(options, early->endpoint()))}}});
  return early;
}

// Unless the operator said how many pages an instance may have.
void share_pages(const cli::ServeOptions& options, Machine& machine,
                 lifecycle::InstanceLimits& limits) {
  if (options.instance.page_count_max != 0) return;
  if (names_limit(options.instance.limits, "page_count_max")) return;
  limits.control.page_count_max = shared_page_count_max(machine.control().models());
}

// Null: no model takes adapters.
control::AdapterCatalog* adapters_of(Machine& machine) {
  for (std::size_t index = 0; index < machine.control().models().size(); ++index) {
    const control::ModelIndex model{static_cast<std::uint32_t>(index)};
    if (machine.adapters().is_open(model)) return &machine.adapters();
  }
  return nullptr;
}

// The parts that watch over a server from outside.
struct Watches {
  EndWatch& end;
  const LogWriter& writer;
};

// Null without --watch.
Result<std::unique_ptr<SourceWatch>> watch_sources(const cli::ServeOptions& options,
                                                   const ServedPrograms& programs,
                                                   Application& application, server::Server& server,
                                                   const server::TellOperator& tell) {
  if (!options.is_watched) return std::unique_ptr<SourceWatch>();
  const auto replace = [&](const std::string& name, std::string wasm) -> Result<void> {
    TRY(application.compile(std::as_bytes(std::span(wasm))));
    server.gateway().replace_program(name, std::move(wasm));
    return {};
  };
  return SourceWatch::start(programs.watched(), replace, tell);
}

// A signal came before there was a server, so no program has work here.
Result<int> stopped_early(const server::TellOperator& tell) {
  tell({"stopped", Severity::Info, ""});
  return cli::number(cli::ExitCode::Ok);
}

// Serves until a signal asks for the end. `ready` says where, once the server answers.
void serve_until_asked(const cli::ServeOptions& options, server::Server& server,
                       lifecycle::EngineLoop& loop, const Watches& watches,
                       const server::TellOperator& tell, const std::function<void()>& ready) {
  ServiceNotice notice(tell);
  const EndWatch::Serving serving = watches.end.serve(grace_ns(options), [&] {
    server.gateway().request_shutdown();
    notice.stopping();
  });
  server.set_ready();
  ready();
  notice.ready(
      [&server, pulse = server::EnginePulse()]() mutable { return server.is_live(pulse); });
  loop.run();
  tell({"stopped", Severity::Info, ""});
}

// A server with keys reads what its tenants send.
void tell_if_root(bool has_keys, const server::TellOperator& tell) {
  if (!has_keys || geteuid() != 0) return;
  tell({"runs_as_root", Severity::Warning,
        "the server runs as root: a fault in it would give a client the whole machine; run it as a "
        "user of its own (docs/operate/README.md has a unit)"});
}

// The user's words and files, and the machine. Mistakes in them are reported before a model is
// loaded.
struct Checked {
  wire::Endpoint listen;
  std::optional<access::KeyRing> keys;
  LaunchSettings launches;
  workers::WallReport compiler_wall;
};
Result<Checked> check(const cli::ServeOptions& options, const server::TellOperator& tell) {
  wire::Endpoint listen = TRY(listen_address(options));
  std::optional<access::KeyRing> keys = TRY(read_keys(options, listen, tell));
  lifecycle::InstanceLimits limits = TRY(instance_limits(options.instance));
  server::TenantInstances tenants = TRY(tenant_instances(options.tenants, limits));
  server::Environments variables = TRY(environments(options));
  tell_if_root(keys.has_value(), tell);
  const workers::WallReport wall =
      TRY(check_compiler_sandbox(compiler_wall(), options.compile.sandbox, tell));
  return Checked{std::move(listen),
                 std::move(keys),
                 {std::move(limits), std::move(tenants), std::move(variables)},
                 wall};
}

Result<int> serve(const cli::ServeOptions& options, OperatorLog& log, const Watches& watches) {
  const server::TellOperator tell = [&log](const server::LogEvent& event) { log.tell(event); };
  Checked checked = TRY(check(options, tell));
  LaunchSettings& launches = checked.launches;
  const std::unique_ptr<AccessReload> reload =
      TRY(AccessReload::create({options.keys_file, tls_files(options)}, tell));
  ServedPrograms programs(options);
  const std::optional<int> ended = TRY(programs.find(watches.end));
  if (watches.end.is_asked()) return stopped_early(tell);
  if (ended) return *ended;
  server::EndpointTable endpoints = programs.take_endpoints();
  const std::vector<server::EndpointRule> rules = endpoints.rules();
  tell_missing(programs, tell);
  const server::SocketLimits sockets = socket_limits(options, tell);
  const SteadyClock clock;
  const std::uint64_t begun_ns = clock.now_ns();
  std::unique_ptr<server::EarlyServer> early =
      TRY(listen_early(options, checked.listen, sockets, tell));
  SystemRandom random;
  const SystemWallClock wall_clock;
  const Records records = TRY(open_records(options, wall_clock, tell));
  const std::unique_ptr<Machine> machine = TRY(build_machine(options, clock, tell));
  if (watches.end.is_asked()) return stopped_early(tell);
  const std::unique_ptr<Application> application =
      TRY(build_application(options, memory_bytes_max(launches.tenants, launches.limits), *machine,
                            clock, records.usage.get(), tell));
  share_pages(options, *machine, launches.limits);
  // With their share of the pages.
  launches.tenants = TRY(tenant_instances(options.tenants, launches.limits));
  const std::unique_ptr<server::Server> server = TRY(server::Server::open(
      {.manager = application->manager(),
       .loop = application->loop(),
       .control = machine->control(),
       .engine_wakeup = machine->wakeup(),
       .clock = clock,
       .random = random,
       .wall_clock = wall_clock,
       .tell = tell,
       .tells_requests = !log.is_for_people(),
       .shows_errors = options.endpoint_behavior.shows_errors,
       .log_lines_dropped = [&watches] { return watches.writer.dropped_count(); },
       .adapters = {adapters_of(*machine), options.adapters_folder},
       .compiler_wall = checked.compiler_wall,
       .key_uses = records.uses()},
      server_options(options, std::move(checked.listen), sockets, std::move(launches),
                     std::move(endpoints), std::move(checked.keys)),
      std::move(early)));
  const Result<void> named = programs.bring(application->manager(), server->gateway());
  if (!named.ok()) return fail_program(named.error());
  if (watches.end.is_asked()) return stopped_early(tell);
  const auto sources = TRY(watch_sources(options, programs, *application, *server, tell));
  const SignalWatch reload_watch = TRY(reload->watch(*server));
  serve_until_asked(options, *server, application->loop(), watches, tell, [&] {
    const std::string url = ready_url(options, server->endpoint());
    tell(started_event(url, *machine, rules.size(), clock.now_ns() - begun_ns));
    watches.writer.flush();  // So that the log has what preceded the address.
    print_ready(options, url, machine->control().models(), programs.named(), rules, tell);
  });
  return cli::number(cli::ExitCode::Ok);
}

// A core dump would hold the keys and texts of every tenant. No program that a server starts, such
// as a compiler of --watch, needs more privileges than the server has.
void give_up_dumps_and_privileges() {
  const rlimit none = {0, 0};
  (void)setrlimit(RLIMIT_CORE, &none);
  (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

}  // namespace

int serve_command(const cli::ServeOptions& options) {
  give_up_dumps_and_privileges();
  mallopt(M_MMAP_THRESHOLD, kOwnPagesBytes);
  mallopt(M_TRIM_THRESHOLD, kOwnPagesBytes);
  // A reader of the log that goes must not end the server.
  signal(SIGPIPE, SIG_IGN);
  const Result<std::unique_ptr<EndWatch>> end = EndWatch::open();
  if (!end.ok()) return fail(end.error());
  const SystemWallClock wall_clock;
  const auto notice_of = [&](std::uint64_t count) {
    return log_line(options.log.format, dropped_lines_event(count), wall_clock.now_unix_ms());
  };
  const Result<std::unique_ptr<LogWriter>> opened = LogWriter::open(STDERR_FILENO, notice_of);
  if (!opened.ok()) return fail(opened.error());
  LogWriter& writer = *opened.value();
  OperatorLog log(options.log, wall_clock,
                  [&writer](const std::string& line) { writer.write(line); });
  const Result<int> code = serve(options, log, {*end.value(), writer});
  if (code.ok()) return code.value();
  if (log.is_for_people()) {
    writer.write(error_text(code.error().message()));
  } else {
    log.tell({"failed", Severity::Error, std::string(code.error().message())});
  }
  return cli::number(cli::exit_code_of(code.error()));
}

}  // namespace quire
