#include "main/machine/application.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "application/hostcalls/calls.h"
#include "application/net/curl_http_client.h"
#include "application/sandbox/compile_worker.h"
#include "application/sandbox/wasmtime_runtime.h"
#include "base/random.h"
#include "main/machine/folders.h"

namespace quire {
namespace {

// As it runs here, even where another was installed in its place meanwhile.
constexpr const char* kThisProgram = "/proc/self/exe";

std::vector<std::string> compiler_command() {
  return {kThisProgram, sandbox::kCompileVerb};
}

// Compiled programs, ours alone; empty where no folder can be had: then nothing is kept.
std::string compiled_code_folder() {
  const std::string cache = cache_folder();
  if (cache.empty()) return "";
  const std::string folder = cache + "/compiled";
  std::error_code failed;
  if (std::filesystem::create_directories(folder, failed)) {
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, failed);
  }
  return failed ? "" : folder;
}

std::int64_t wall_offset_ns(const Clock& clock) {
  const auto wall = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return wall.count() - static_cast<std::int64_t>(clock.now_ns());
}

}  // namespace

// In the order of construction: each part knows only those above it. They end in reverse.
struct Application::Parts {
  Parts(std::unique_ptr<sandbox::WasmRuntime> wasm, const ApplicationBase& base, const Clock& clock,
        const SandboxOptions& options, WalkSink* walk)
      : runtime(std::move(wasm)),
        http({.clock = clock, .wakeup = base.wakeup}),
        manager({.runtime = *runtime,
                 .control = base.control,
                 .answers = base.answers,
                 .clock = clock,
                 .cpu_clock = cpu_clock,
                 .wall_clock = wall_clock,
                 .random = random,
                 .wakeup = base.wakeup,
                 .wall_offset_ns = wall_offset_ns(clock),
                 .walk = walk,
                 .http = &http,
                 .adapters = base.adapters,
                 .admission = {.instance_count_max = options.instance_count_max,
                               .waiting_launch_count_max = options.waiting_launch_count_max},
                 .usage = options.usage,
                 .numbers = options.has_keyed_numbers ? InstanceNumbers(random) : InstanceNumbers(),
                 .program_memory_bytes_max = options.program_memory_bytes_max}),
        loop(manager, base.control, clock, base.wakeup),
        walk_sink(walk) {}

  ThreadClock cpu_clock;  // Of the engine thread, which is the one that reads it.
  SystemRandom random;
  SystemWallClock wall_clock;
  std::unique_ptr<sandbox::WasmRuntime> runtime;  // Runs guests until they wait.
  net::CurlHttpClient http;                       // Carries what they may ask the outside.
  lifecycle::InstanceManager manager;             // Programs and their instances.
  lifecycle::EngineLoop loop;                     // Answers in, guests run, batches out.
  WalkSink* walk_sink;
};

Result<workers::WallReport> compiler_wall() {
  return sandbox::CompileProcess::wall_of(compiler_command());
}

Result<std::unique_ptr<Application>> Application::build(Machine& machine, const Clock& clock,
                                                        const SandboxOptions& options,
                                                        WalkSink* walk) {
  return build({machine.control(), machine.answers(), machine.wakeup(), &machine.adapters()}, clock,
               options, walk);
}

Result<std::unique_ptr<Application>> Application::build(const ApplicationBase& base,
                                                        const Clock& clock,
                                                        const SandboxOptions& options,
                                                        WalkSink* walk) {
  sandbox::WasmtimeOptions wasm;
  wasm.instance_count_max = options.instance_count_max;
  wasm.memory_bytes_max = options.memory_bytes_max;
  wasm.cache_folder = compiled_code_folder();
  wasm.has_quick = options.has_quick_compiler;
  wasm.runtimes_folder = runtimes_folder();
  wasm.traps_tell_lines = options.traps_tell_lines;
  if (options.compile) {
    wasm.compiler_command = compiler_command();
    wasm.compile = *options.compile;
  }
  std::unique_ptr<sandbox::WasmRuntime> runtime =
      TRY(sandbox::make_wasmtime_runtime(hostcalls::host_functions(), wasm));
  return std::unique_ptr<Application>(
      new Application(std::make_unique<Parts>(std::move(runtime), base, clock, options, walk)));
}

Application::Application(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Application::~Application() = default;

Result<lifecycle::InstanceId> Application::launch(lifecycle::LaunchRequest request,
                                                  service::Listener& client) {
  report(parts_->walk_sink, WalkStop::Server);
  return parts_->manager.launch(std::move(request), client);
}

Result<void> Application::compile(std::span<const std::byte> wasm) {
  const std::shared_ptr<const sandbox::Program> program =
      TRY(parts_->runtime->compile(wasm, sandbox::Effort::Best, sandbox::Origin::Operator));
  const std::shared_ptr<const sandbox::Script> script = program->script();
  if (script == nullptr || !script->byte_code.empty()) return {};
  return Error(ErrorCode::InvalidArgument,
               "the script has an error of syntax; quire run FILE prints it");
}

lifecycle::InstanceManager& Application::manager() {
  return parts_->manager;
}
lifecycle::EngineLoop& Application::loop() {
  return parts_->loop;
}

}  // namespace quire
