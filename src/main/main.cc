// The command line, each verb to its command. The machine itself is put together in
// machine/machine.cc, and what runs programs on it in machine/application.cc.
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "application/sandbox/compile_worker.h"
#include "base/check.h"
#include "bench/machine/bench_command.h"
#include "bench/machine/bench_launch_command.h"
#include "cli/parse.h"
#include "cli/terminal.h"
#include "main/verbs/instances/instance_commands.h"
#include "main/verbs/instances/ps_command.h"
#include "main/verbs/make/build_command.h"
#include "main/verbs/make/completion_command.h"
#include "main/verbs/make/installed_files.h"
#include "main/verbs/make/new_command.h"
#include "main/verbs/models/adapter_command.h"
#include "main/verbs/models/doctor_command.h"
#include "main/verbs/models/model_command.h"
#include "main/verbs/pages/kv_command.h"
#include "main/verbs/run/run_command.h"
#include "main/verbs/serve/config_command.h"
#include "main/verbs/serve/keys_command.h"
#include "main/verbs/serve/serve_command.h"
#include "main/verbs/serve/status_command.h"
#include "main/verbs/serve/usage_command.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/parsed_answer.h"
#include "main/verbs/text/chat_command.h"
#include "main/verbs/text/eval_command.h"
#include "main/verbs/text/generate_command.h"
#include "main/verbs/text/text_commands.h"

namespace quire {
namespace {

// One function for each kind of request; each returns the exit code.
struct Commands {
  int operator()(const cli::RunOptions& options) const { return run_command(options); }
  int operator()(const cli::ServeOptions& options) const { return serve_command(options); }
  int operator()(const cli::StatusOptions& options) const { return status_command(options); }
  int operator()(const cli::PsOptions& options) const { return ps_command(options); }
  int operator()(const cli::AttachOptions& options) const { return attach_command(options); }
  int operator()(const cli::SendOptions& options) const { return send_command(options); }
  int operator()(const cli::AbortOptions& options) const { return abort_command(options); }
  int operator()(const cli::GenerateOptions& options) const { return generate_command(options); }
  int operator()(const cli::ChatOptions& options) const { return chat_command(options); }
  int operator()(const cli::EvalOptions& options) const { return eval_command(options); }
  int operator()(const cli::ModelOptions& options) const { return model_command(options); }
  int operator()(const cli::AdapterOptions& options) const { return adapter_command(options); }
  int operator()(const cli::TokenizeOptions& options) const { return tokenize_command(options); }
  int operator()(const cli::DetokenizeOptions& options) const {
    return detokenize_command(options);
  }
  int operator()(const cli::TemplateOptions& options) const { return template_command(options); }
  int operator()(const cli::BuildOptions& options) const { return build_command(options); }
  int operator()(const cli::NewOptions& options) const { return new_command(options); }
  int operator()(const cli::DoctorOptions& options) const { return doctor_command(options); }
  int operator()(const cli::ConfigOptions& options) const { return config_command(options); }
  int operator()(const cli::UsageOptions& options) const { return usage_command(options); }
  int operator()(const cli::CompletionOptions& options) const {
    return completion_command(options);
  }
  int operator()(const cli::KeysOptions& options) const { return keys_command(options); }
  int operator()(const cli::KvOptions& options) const { return kv_command(options); }
  int operator()(const cli::BenchOptions& options) const { return bench_command(options); }
  int operator()(const cli::BenchPagesOptions&) const {
    QUIRE_CHECK(false, "a measurement of quire-bench alone");
  }
  int operator()(const cli::BenchLaunchOptions& options) const {
    return bench_launch_command(options);
  }
};

int run(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == kCompleteVerb) {
    return complete_words_command(std::vector<std::string>(argv + 2, argv + argc));
  }
  if (argc == 3 && std::string_view(argv[1]) == kInstalledFilesVerb) {
    return write_installed_files_command(argv[2]);
  }
  const cli::Parsed parsed = cli::parse(std::vector<std::string>(argv + 1, argv + argc),
                                        cli::CommandLine::Quire, cli::help_columns());
  for (const std::string& each : parsed.warnings) warn(each);
  if (parsed.request) return std::visit(Commands{}, *parsed.request);
  return print_answer(parsed, argc == 1);
}

}  // namespace
}  // namespace quire

int main(int argc, char** argv) {
  // Not for people: what this program starts to compile a client's module.
  if (argc == 2 && std::string_view(argv[1]) == quire::sandbox::kCompileVerb) {
    return quire::sandbox::compile_worker_main();
  }
  quire::open_standard_files();
  return quire::exit_code_after_output(quire::run(argc, argv));
}
