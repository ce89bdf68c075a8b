// The verb that shows what a server would be configured with.
#include <memory>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "cli/verb.h"

namespace quire::cli {

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
  auto output = std::make_shared<std::string>("text");
  show->add_option("--output", *output, "text, or json for programs")
      ->type_name("text|json")
      ->capture_default_str();
  show->footer(R"(It takes the flags of quire serve, and starts nothing.

Examples:
  quire config show
  quire config show --config quire.toml --kv-pages 4096
  quire config show --output json)");
  verbs.push_back({show, [serve, output]() -> Result<Request> {
                     const Request served = TRY(serve.finish());
                     ConfigOptions options;
                     options.output = std::get<ServeOptions>(served).output;
                     if (*output == "json") {
                       options.output = OutputStyle::Json;
                     } else if (*output != "text") {
                       return Error(ErrorCode::InvalidArgument, "--output " + in_quotes(*output) +
                                                                    ": text or json was expected");
                     }
                     return Request(std::move(options));
                   }});
}

}  // namespace quire::cli
