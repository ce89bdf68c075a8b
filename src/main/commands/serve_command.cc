#include "main/commands/serve_command.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "application/server/server.h"
#include "base/file.h"
#include "base/guest_name.h"
#include "base/random.h"
#include "cli/terminal.h"
#include "main/commands/instance_limits.h"
#include "main/commands/interrupt.h"
#include "main/commands/kv_text.h"
#include "main/commands/output.h"
#include "main/commands/signal_watch.h"
#include "main/commands/store_notice.h"
#include "main/machine/application.h"
#include "main/machine/machine.h"

namespace quire {
namespace {

constexpr std::uint64_t kProgramBytesMax = std::uint64_t{64} << 20;
constexpr rlim_t kOtherFileCount = 256;  // Files that are open besides connections.
constexpr const char* kModuleEnding = ".wasm";

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
}

void tell(const std::string& line) {
  const cli::Terminal terminal = cli::Terminal::standard_error();
  std::fprintf(stderr, "%s\n", terminal.paint(line, cli::Colour::Grey).c_str());
}

// ---- Programs that have a name.

using ProgramFiles = std::map<std::string, std::string>;  // Path by name.

Result<void> add_file(const std::filesystem::path& path, ProgramFiles& files) {
  const std::string name =
      path.extension() == kModuleEnding ? path.stem().string() : path.filename().string();
  TRY(check_guest_name(name, "program name"));
  const auto [at, is_new] = files.emplace(name, path.string());
  if (is_new || at->second == path.string()) return {};
  return Error(ErrorCode::AlreadyExists,
               "two programs are named \"" + name + "\": " + at->second + " and " + path.string());
}

Result<ProgramFiles> find_programs(const std::vector<std::string>& paths) {
  ProgramFiles files;
  for (const std::string& each : paths) {
    std::error_code failed;
    if (!std::filesystem::is_directory(each, failed)) {
      TRY(File::open(each));
      TRY(add_file(each, files));
      continue;
    }
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(each, failed)) {
      if (entry.path().extension() != kModuleEnding) continue;
      TRY(add_file(entry.path(), files));
      ++found;
    }
    if (failed) return Error(ErrorCode::Io, each + ": " + failed.message());
    if (found == 0) {
      return Error(ErrorCode::NotFound, each + " holds no file that ends with " + kModuleEnding);
    }
  }
  return files;
}

Result<void> load_programs(const ProgramFiles& files, lifecycle::InstanceManager& manager,
                           server::Gateway& gateway) {
  for (const auto& [name, path] : files) {
    const std::string bytes = TRY(read_file(path, kProgramBytesMax));
    const auto wasm = std::as_bytes(std::span(bytes));
    Result<lifecycle::ProgramId> loaded = manager.load_program(wasm);
    if (!loaded.ok()) return std::move(loaded).take_error().while_(path);
    TRY(gateway.name_program(name, loaded.value(), sha256(wasm)));
  }
  return {};
}

// ---- The server.

// As many connections as the process may have files.
std::uint32_t connection_count(std::uint32_t wanted) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return wanted;
  const rlim_t needed = wanted + kOtherFileCount;
  if (files.rlim_cur < needed) {
    files.rlim_cur = std::min(needed, files.rlim_max);
    setrlimit(RLIMIT_NOFILE, &files);  // What it gave is asked for next.
    getrlimit(RLIMIT_NOFILE, &files);
  }
  if (files.rlim_cur >= needed) return wanted;
  const rlim_t room = files.rlim_cur > kOtherFileCount ? files.rlim_cur - kOtherFileCount : 1;
  tell("this process may open " + std::to_string(files.rlim_cur) + " files: " +
       std::to_string(room) + " connections instead of " + std::to_string(wanted) + " (ulimit -n)");
  return static_cast<std::uint32_t>(room);
}

server::ServerOptions server_options(const cli::ServeOptions& options, server::Endpoint listen,
                                     lifecycle::InstanceLimits limits) {
  server::ServerOptions server;
  server.listen = std::move(listen);
  server.sockets.connection_count_max = connection_count(options.connection_count_max);
  server.service.grace = milliseconds(options.grace_seconds);
  server.service.keep = milliseconds(options.keep_seconds);
  server.service.instance = std::move(limits);
  return server;
}

void print_ready(const cli::ServeOptions& options, const std::string& url, const std::string& model,
                 const ProgramFiles& files) {
  std::string names;
  for (const auto& [name, path] : files) names += (names.empty() ? "" : ", ") + name;
  if (options.output == cli::OutputStyle::Text) {
    print("quire " QUIRE_VERSION " serves " + model + " at " + url +
          (names.empty() ? "" : " (programs: " + names + ")") + "\n");
    return;
  }
  nlohmann::json json = {{"url", url}, {"model", model}, {"programs", nlohmann::json::array()}};
  for (const auto& [name, path] : files) json["programs"].push_back(name);
  print(json_line(json));
}

Result<int> serve(const cli::ServeOptions& options) {
  // What can be wrong in the user's words and files is told before a model is loaded.
  Result<server::Endpoint> listen = server::parse_endpoint(options.listen);
  if (!listen.ok()) return std::move(listen).take_error().while_("--listen");
  Result<void> is_own = server::check_loopback(listen.value());
  if (!is_own.ok()) return std::move(is_own).take_error().while_("--listen");
  Result<lifecycle::InstanceLimits> limits = instance_limits(options.instance);
  if (!limits.ok()) {
    fail(limits.error());
    return cli::number(cli::ExitCode::Usage);
  }
  const ProgramFiles files = TRY(find_programs(options.programs));

  Interrupt interrupt = TRY(Interrupt::create({SIGINT, SIGTERM}));
  const SteadyClock clock;
  SystemRandom random;
  const std::unique_ptr<Machine> machine = TRY(Machine::build(options.engine, clock));
  tell_store_error(*machine);
  const std::unique_ptr<Application> application =
      TRY(Application::build(*machine, clock,
                             {.instance_count_max = options.instance_count_max,
                              .waiting_launch_count_max = options.waiting_launch_count_max,
                              .memory_bytes_max = options.instance.memory_bytes_max}));
  const std::unique_ptr<server::Server> server = TRY(server::Server::open(
      {.manager = application->manager(),
       .loop = application->loop(),
       .control = machine->control(),
       .engine_wakeup = machine->wakeup(),
       .clock = clock,
       .random = random,
       .tell = tell},
      server_options(options, std::move(listen).take(), std::move(limits).take())));
  TRY(load_programs(files, application->manager(), server->gateway()));
  const SignalWatch watch =
      TRY(SignalWatch::create(interrupt, [&] { server->gateway().request_shutdown(); }));
  print_ready(options, server::server_url(server->endpoint()), machine->model().name, files);
  application->loop().run();
  return cli::number(cli::ExitCode::Ok);
}

}  // namespace

int serve_command(const cli::ServeOptions& options) {
  Result<int> code = serve(options);
  return code.ok() ? code.value() : fail(code.error());
}

}  // namespace quire
