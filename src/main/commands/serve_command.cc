#include "main/commands/serve_command.h"

#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "application/server/server.h"
#include "base/random.h"
#include "base/utf8.h"
#include "cli/terminal.h"
#include "main/commands/instance_limits.h"
#include "main/commands/interrupt.h"
#include "main/commands/kv_text.h"
#include "main/commands/open_files.h"
#include "main/commands/output.h"
#include "main/commands/program_files.h"
#include "main/commands/signal_watch.h"
#include "main/commands/store_notice.h"
#include "main/machine/application.h"
#include "main/machine/machine.h"

namespace quire {
namespace {

// Files that are open besides connections: one for each program's code (512 at most), and others.
constexpr std::uint64_t kOtherFileCount = 768;

// Blocks of this size have pages of their own, which go when they do. The allocator raises its own
// threshold to the size of the largest upload, and what uploads of that size took stays with it.
constexpr int kOwnPagesBytes = 4 << 20;

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
}

void tell(const std::string& line) {
  const cli::Terminal terminal = cli::Terminal::standard_error();
  std::fprintf(stderr, "%s\n", terminal.paint(line, cli::Colour::Grey).c_str());
}

// ---- The server.

// As many connections as the process may have files.
std::uint32_t connection_count(std::uint32_t wanted) {
  const std::uint64_t files = allow_open_files(wanted + kOtherFileCount);
  if (files >= wanted + kOtherFileCount) return wanted;
  const std::uint64_t room = files > kOtherFileCount ? files - kOtherFileCount : 1;
  tell("this process may open " + std::to_string(files) + " files: " + std::to_string(room) +
       " connections instead of " + std::to_string(wanted) + " (ulimit -n)");
  return static_cast<std::uint32_t>(room);
}

void name_tenants(const std::vector<cli::TenantOptions>& tenants,
                  lifecycle::InstanceManager& manager) {
  for (const cli::TenantOptions& each : tenants) {
    manager.name_tenant(
        control::TenantId{each.tenant}, each.weight,
        {.instance_count_max = each.instance_count_max.value_or(lifecycle::kNoLimit),
         .memory_bytes_max = each.memory_bytes_max.value_or(lifecycle::kNoLimit),
         .page_count_max = each.page_count_max.value_or(lifecycle::kNoLimit),
         .http_exchange_count_max = each.http_exchange_count_max.value_or(lifecycle::kNoLimit)});
  }
}

// What programs of tenants may have that have limits of their own.
server::TenantInstances tenant_instances(const std::vector<cli::TenantOptions>& tenants,
                                         const lifecycle::InstanceLimits& others) {
  server::TenantInstances own;
  for (const cli::TenantOptions& each : tenants) {
    if (each.limits.empty()) continue;
    lifecycle::InstanceLimits limits = others;
    set_limits(limits, each.limits);
    own.emplace(control::TenantId{each.tenant}, std::move(limits));
  }
  return own;
}

// The runtime keeps so much address space for each of them.
std::uint64_t memory_bytes_max(const lifecycle::InstanceLimits& others,
                               const server::TenantInstances& tenants) {
  std::uint64_t most = others.memory_bytes_max;
  for (const auto& [tenant, limits] : tenants) most = std::max(most, limits.memory_bytes_max);
  return most;
}

// The endpoints, each with the name of its program. A module that an endpoint brings is named by its
// file, and added to `brought`.
Result<server::EndpointTable> find_endpoints(const cli::ServeOptions& options,
                                             const ProgramFiles& named, ProgramFiles& brought) {
  std::vector<server::EndpointRule> rules;
  for (const std::string& each : options.endpoints) {
    server::EndpointRule rule = TRY(server::parse_endpoint_rule(each));
    if (!named.contains(rule.program)) {
      Result<ProgramFiles> file = find_programs({rule.program});
      if (!file.ok()) {
        std::string known;
        for (const auto& [name, path] : named) known += (known.empty() ? "" : ", ") + name;
        return Error(file.error().code(),
                     "--endpoint " + in_quotes(each) + ": " + std::string(file.error().message()) +
                         "; programs that are given here: " + (known.empty() ? "none" : known));
      }
      if (file.value().size() != 1) {
        return Error(ErrorCode::InvalidArgument, "--endpoint " + in_quotes(each) + ": " +
                                                     rule.program +
                                                     " is a folder; an endpoint has one program");
      }
      const auto& [name, path] = *file.value().begin();
      const auto [at, is_new] = brought.emplace(name, path);
      const auto same = named.find(name);
      if ((!is_new && at->second != path) || (same != named.end() && same->second != path)) {
        return Error(ErrorCode::AlreadyExists,
                     "two programs are named \"" + name + "\": " + path + " and " +
                         (same != named.end() ? same->second : at->second));
      }
      rule.program = name;
    }
    rules.push_back(std::move(rule));
  }
  return server::EndpointTable::create(std::move(rules));
}

// PROGRAMs keep their names; a client may give the name of an endpoint's module to another.
Result<void> bring_programs(const ProgramFiles& named, const ProgramFiles& brought,
                            lifecycle::InstanceManager& manager, server::Gateway& gateway) {
  for (const NamedProgram& each : TRY(load_programs(named, manager))) {
    TRY(gateway.name_program(each.name, each.id, each.digest));
  }
  for (const NamedProgram& each : TRY(load_programs(brought, manager))) {
    TRY(gateway.name_endpoint_program(each.name, each.id, each.digest));
  }
  return {};
}

server::ServerOptions server_options(const cli::ServeOptions& options, wire::Endpoint listen,
                                     lifecycle::InstanceLimits limits) {
  server::ServerOptions server;
  server.listen = std::move(listen);
  server.sockets.connection_count_max = connection_count(options.connection_count_max);
  server.service.grace = milliseconds(options.grace_seconds);
  server.service.keep = milliseconds(options.keep_seconds);
  server.service.tenant_instances = tenant_instances(options.tenants, limits);
  server.service.instance = std::move(limits);
  return server;
}

sandbox::CompileLimits compile_limits(const cli::ServeOptions& options) {
  constexpr std::uint32_t kWallShare = 4;  // The rest of the time is for who wants the cores too.
  sandbox::CompileLimits limits;
  limits.memory_bytes_max = options.compile_memory_bytes_max;
  limits.cpu_seconds_max = options.compile_seconds_max;
  limits.wall_max = std::chrono::seconds(std::uint64_t{options.compile_seconds_max} * kWallShare);
  return limits;
}

void print_ready(const cli::ServeOptions& options, const std::string& url,
                 const std::vector<control::ModelDescription>& models, const ProgramFiles& files) {
  std::string names;
  for (const auto& [name, path] : files) names += (names.empty() ? "" : ", ") + name;
  if (options.output == cli::OutputStyle::Text) {
    std::string model;
    for (const control::ModelDescription& each : models) {
      model += (model.empty() ? "" : ", ") + each.name;
    }
    print("quire " QUIRE_VERSION " serves " + model + " at " + url +
          (names.empty() ? "" : " (programs: " + names + ")") + "\n");
    return;
  }
  nlohmann::json json = {{"url", url},
                         {"model", models.front().name},
                         {"models", nlohmann::json::array()},
                         {"programs", nlohmann::json::array()}};
  for (const control::ModelDescription& each : models) json["models"].push_back(each.name);
  for (const auto& [name, path] : files) json["programs"].push_back(name);
  print(json_line(json));
}

Result<int> serve(const cli::ServeOptions& options) {
  // What can be wrong in the user's words and files is told before a model is loaded.
  Result<wire::Endpoint> listen = wire::parse_endpoint(options.listen);
  if (!listen.ok()) return std::move(listen).take_error().while_("--listen");
  Result<void> is_own = server::check_loopback(listen.value());
  if (!is_own.ok()) return std::move(is_own).take_error().while_("--listen");
  lifecycle::InstanceLimits limits = TRY(instance_limits(options.instance));
  const Result<ProgramFiles> found = find_programs(options.programs);
  if (!found.ok()) return fail_program(found.error());
  const ProgramFiles& files = found.value();
  ProgramFiles brought;
  server::EndpointTable endpoints = TRY(find_endpoints(options, files, brought));
  for (const std::string& each : options.allowed_origins) {
    Result<void> is_origin = server::check_origin(each);
    if (!is_origin.ok()) return std::move(is_origin).take_error().while_("--allow-origin");
  }

  Interrupt interrupt = TRY(Interrupt::create({SIGINT, SIGTERM}));
  const SteadyClock clock;
  SystemRandom random;
  const std::unique_ptr<Machine> machine = TRY(Machine::build(options.engine, clock));
  tell_store_error(*machine);
  const std::unique_ptr<Application> application = TRY(Application::build(
      *machine, clock,
      {.instance_count_max = options.instance_count_max,
       .waiting_launch_count_max = options.waiting_launch_count_max,
       .memory_bytes_max = memory_bytes_max(limits, tenant_instances(options.tenants, limits)),
       .compile = compile_limits(options),
       .has_quick_compiler = !options.has_cranelift_only}));
  name_tenants(options.tenants, application->manager());
  if (options.instance.page_count_max == 0 &&
      !names_limit(options.instance.limits, "page_count_max")) {
    limits.control.page_count_max = shared_page_count_max(machine->control().models());
  }
  server::ServerOptions how = server_options(options, std::move(listen).take(), std::move(limits));
  how.endpoints = std::move(endpoints);
  how.allowed_origins = options.allowed_origins;
  const std::unique_ptr<server::Server> server =
      TRY(server::Server::open({.manager = application->manager(),
                                .loop = application->loop(),
                                .control = machine->control(),
                                .engine_wakeup = machine->wakeup(),
                                .clock = clock,
                                .random = random,
                                .tell = tell},
                               how));
  const Result<void> named =
      bring_programs(files, brought, application->manager(), server->gateway());
  if (!named.ok()) return fail_program(named.error());
  const SignalWatch watch =
      TRY(SignalWatch::create(interrupt, [&] { server->gateway().request_shutdown(); }));
  print_ready(options, wire::server_url(server->endpoint()), machine->control().models(), files);
  application->loop().run();
  return cli::number(cli::ExitCode::Ok);
}

}  // namespace

int serve_command(const cli::ServeOptions& options) {
  mallopt(M_MMAP_THRESHOLD, kOwnPagesBytes);
  mallopt(M_TRIM_THRESHOLD, kOwnPagesBytes);
  Result<int> code = serve(options);
  return code.ok() ? code.value() : fail(code.error());
}

}  // namespace quire
