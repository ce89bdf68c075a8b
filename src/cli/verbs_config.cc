// The verb that shows what a server would be configured with.
#include <memory>

#include "cli/verb.h"

namespace quire::cli {
namespace {

constexpr Choice<OutputStyle> kOutputs[] = {{"text", OutputStyle::Text},
                                            {"json", OutputStyle::Json}};

}  // namespace

void add_config(CLI::App& app, std::vector<Verb>& verbs) {
  CLI::App* config = app.add_subcommand("config", "What configures a server, and where it is said");
  config->require_subcommand(1);
  config->footer(R"(Example:
  quire config show --config quire.toml)");

  CLI::App* show = config->add_subcommand(
      "show", "Each value that quire serve would have: from a flag, a variable, the file or none");
  const Verb serve = add_serve_flags(show);
  for (CLI::Option* each : show->get_options()) {
    if (each->get_name() != "--config" && each->get_name() != "--help") each->group("");
  }
  auto options = std::make_shared<ConfigOptions>();
  Rows rows(show);
  rows.add({{"--output", "", one_of(options->output, "output", kOutputs),
             "text, or json for programs"}});
  verbs.push_back(rows.verb(R"(It takes the flags of quire serve, and starts nothing.

Examples:
  quire config show
  quire config show --config quire.toml --kv-pages 4096
  quire config show --output json)",
                            [serve, options]() -> Result<Request> {
                              const Request served = TRY(serve.finish());
                              if (std::get<ServeOptions>(served).output == OutputStyle::Json) {
                                options->output = OutputStyle::Json;
                              }
                              return Request(*options);
                            }));
}

}  // namespace quire::cli
