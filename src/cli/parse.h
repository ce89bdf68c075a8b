#pragma once
// The command line: arguments in, one plain options struct out, or a text to print and why.
//
// Thread   any. CLI11 is seen only inside this folder's .cc files; what it throws ends there.
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/options_adapter.h"
#include "cli/options_build.h"
#include "cli/options_completion.h"
#include "cli/options_config.h"
#include "cli/options_instances.h"
#include "cli/options_keys.h"
#include "cli/options_kv.h"
#include "cli/options_launch.h"
#include "cli/options_new.h"
#include "cli/options_serve.h"
#include "cli/options_status.h"
#include "cli/options_usage.h"

namespace quire::cli {

using Request =
    std::variant<RunOptions, ServeOptions, GenerateOptions, ChatOptions, EvalOptions, ModelOptions,
                 TokenizeOptions, DetokenizeOptions, TemplateOptions, BuildOptions, NewOptions,
                 DoctorOptions, KvOptions, BenchOptions, BenchPagesOptions, BenchLaunchOptions,
                 StatusOptions, ConfigOptions, KeysOptions, UsageOptions, CompletionOptions,
                 AdapterOptions, PsOptions, AttachOptions, SendOptions, AbortOptions>;

struct Parsed {
  std::optional<Request> request;
  // Without a request: help or a version for standard output (Ok), or what is wrong (Usage).
  std::string text;
  ExitCode exit_code = ExitCode::Ok;
  std::vector<std::string> warnings;  // What may be a mistake and stops nothing; a line each.
};

// The two programs that read a command line: quire, and quire-bench with measurements of bench/.
enum class CommandLine : std::uint8_t { Quire, QuireBench };

// `arguments` without the program's own name. Every flag of the engine may also be an environment
// variable QUIRE_NAME, and of a server a key of the configuration file, which is read here
// (config_layer.h). Lines of help have at most `columns`.
Parsed parse(const std::vector<std::string>& arguments, CommandLine program = CommandLine::Quire,
             std::uint32_t columns = 80);

}  // namespace quire::cli
