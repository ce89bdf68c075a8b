// `quire adapter`: the adapters of a running server, and those in files.
#include "cli/verb.h"

namespace quire::cli {
namespace {

struct AdapterVerb {
  AdapterAction action;
  const char* name;
  const char* about;
  const char* examples;
};

constexpr AdapterVerb kAdapterVerbs[] = {
    {AdapterAction::List, "list",
     "The adapters that a server lets this client use, or those in a folder",
     "  quire adapter list\n"
     "  quire adapter list --server ws://127.0.0.1:7847 --json\n"
     "  quire adapter list examples/adapters"},
    {AdapterAction::Show, "show",
     "One adapter: digest, rank, numbers, memory; of a file also its matrices",
     "  quire adapter show examples/adapters/pirate\n"
     "  quire adapter show pirate --server ws://127.0.0.1:7847 --json"},
    {AdapterAction::Add, "add",
     "Upload an adapter to a running server; a key needs the right load-adapters",
     "  quire adapter add pirate examples/adapters/pirate\n"
     "  quire adapter add pirate pirate --on-server\n"
     "  quire adapter add pirate pirate.gguf --key-file alice.key"},
    {AdapterAction::Remove, "remove",
     "Take the name from an adapter of a running server; programs that use it go on",
     "  quire adapter remove pirate"},
};

std::vector<Flag> own_rows(AdapterOptions& options) {
  switch (options.action) {
    case AdapterAction::List:
      return {
          {"FOLDER", "", &options.path,
           "A folder with adapters, read here for --model; none: ask the server"},
          model_flag(options.model),
      };
    case AdapterAction::Show:
      return {
          Flag{"ADAPTER", "", &options.path,
               "A folder that PEFT saved or a GGUF file, read here for --model; or a name that a "
               "server has"}
              .required(),
          model_flag(options.model),
      };
    case AdapterAction::Add:
      return {
          Flag{"NAME", "", &options.name,
               "What to call it, or MODEL:NAME for another than the server's first model. It "
               "belongs to the key's tenant; if the key may operate, all tenants use it"}
              .required(),
          Flag{"PATH", "", &options.path, "A folder that PEFT saved, or a GGUF file"}.required(),
          {"--on-server", "", &options.on_server,
           "PATH lies in the folder of quire serve --adapters, and nothing is uploaded"},
      };
    case AdapterAction::Remove:
      break;
  }
  return {Flag{"NAME", "", &options.name, "NAME or MODEL:NAME"}.required()};
}

}  // namespace

void add_adapter(CLI::App& app, std::vector<Verb>& verbs) {
  CLI::App* adapter =
      app.add_subcommand("adapter", "Adapters (LoRA): of a running server, and in files");
  adapter->require_subcommand(1);
  adapter->footer(
      R"(docs/guide/adapters.md shows how adapters are used.
docs/reference/adapter_files.md lists the files that are read.

Examples:
  quire adapter show examples/adapters/pirate
  quire adapter add pirate examples/adapters/pirate
  quire adapter list
  quire adapter remove pirate)");

  for (const AdapterVerb& each : kAdapterVerbs) {
    auto options = std::make_shared<AdapterOptions>();
    options->action = each.action;
    auto rows = std::make_shared<Rows>(*adapter, each.name, each.about);
    rows->add(own_rows(*options));
    rows->add({
        {"--server", "URL", &options->server,
         "The server, as quire serve printed it: ws://HOST:PORT, or wss://HOST:PORT with TLS"},
        key_file(options->key_file),
        json(options->output),
    });
    verbs.push_back(rows->verb(std::string("Examples:\n") + each.examples,
                               [options, rows]() -> Result<Request> {
                                 options->has_server = rows->has("--server");
                                 return Request(*options);
                               }));
  }
}

}  // namespace quire::cli
