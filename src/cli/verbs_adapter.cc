// `quire adapter`: the adapters of a running server, and what is in files of adapters.
#include "cli/verb.h"

namespace quire::cli {
namespace {

struct AdapterState {
  AdapterOptions options;
  EngineFlags engine;
  CLI::Option* server = nullptr;
};
using AdapterHandle = std::shared_ptr<AdapterState>;

AdapterHandle adapter_state_of(AdapterAction action) {
  auto state = std::make_shared<AdapterState>();
  state->options.action = action;
  return state;
}

Verb adapter_verb_of(CLI::App* verb, const AdapterHandle& state, const char* examples) {
  state->server = verb->add_option("--server", state->options.server,
                                   "The server, as quire serve printed it: ws://HOST:PORT, or "
                                   "wss://HOST:PORT with TLS")
                      ->type_name("URL")
                      ->capture_default_str();
  add_key_file(*verb, state->options.key_file);
  add_json(*verb, state->options.output);
  verb->footer(std::string("Examples:\n") + examples);
  return {verb, [state]() -> Result<Request> {
            state->options.has_server = state->server->count() > 0;
            state->options.model = state->engine.model;
            return Request(state->options);
          }};
}

}  // namespace

namespace {

// The verbs that read files here, for a model.
void add_readers(CLI::App& adapter, std::vector<Verb>& verbs) {
  const AdapterHandle list = adapter_state_of(AdapterAction::List);
  CLI::App* list_verb = adapter.add_subcommand(
      "list", "The adapters that a server lets this client use, or those in a folder");
  list_verb->add_option("FOLDER", list->options.path,
                        "A folder with adapters, read here for --model; none: ask the server");
  list->engine.add_model(*list_verb);
  verbs.push_back(adapter_verb_of(list_verb, list,
                                  "  quire adapter list\n"
                                  "  quire adapter list --server ws://127.0.0.1:7847 --json\n"
                                  "  quire adapter list examples/adapters"));

  const AdapterHandle show = adapter_state_of(AdapterAction::Show);
  CLI::App* show_verb = adapter.add_subcommand(
      "show", "One adapter: digest, rank, numbers, memory; of a file also its matrices");
  show_verb
      ->add_option("ADAPTER", show->options.path,
                   "A folder that PEFT saved or a GGUF file, read here for --model; or a name that "
                   "a server has")
      ->required();
  show->engine.add_model(*show_verb);
  verbs.push_back(
      adapter_verb_of(show_verb, show,
                      "  quire adapter show examples/adapters/pirate\n"
                      "  quire adapter show pirate --server ws://127.0.0.1:7847 --json"));
}

}  // namespace

void add_adapter(CLI::App& app, std::vector<Verb>& verbs) {
  CLI::App* adapter =
      app.add_subcommand("adapter", "Adapters (LoRA): of a running server, and in files");
  adapter->require_subcommand(1);
  adapter->footer(
      R"(docs/guide/adapters.md says what adapters are, docs/adapters.md which files are read.

Examples:
  quire adapter show examples/adapters/pirate
  quire adapter add pirate examples/adapters/pirate
  quire adapter list
  quire adapter remove pirate)");

  add_readers(*adapter, verbs);
  const AdapterHandle add = adapter_state_of(AdapterAction::Add);
  CLI::App* add_verb = adapter->add_subcommand(
      "add", "Upload an adapter to a running server; a key needs the right load-adapters");
  add_verb
      ->add_option(
          "NAME", add->options.name,
          "What to call it, or MODEL:NAME for another than the server's first model. It is "
          "the key's tenant's; if the key may operate, all tenants use it")
      ->required();
  add_verb->add_option("PATH", add->options.path, "A folder that PEFT saved, or a GGUF file")
      ->required();
  add_verb->add_flag("--on-server", add->options.on_server,
                     "PATH lies in the folder of quire serve --adapters, and nothing is uploaded");
  verbs.push_back(adapter_verb_of(add_verb, add,
                                  "  quire adapter add pirate examples/adapters/pirate\n"
                                  "  quire adapter add pirate pirate --on-server\n"
                                  "  quire adapter add pirate pirate.gguf --key-file alice.key"));

  const AdapterHandle remove = adapter_state_of(AdapterAction::Remove);
  CLI::App* remove_verb = adapter->add_subcommand(
      "remove", "Take the name from an adapter of a running server; what uses it goes on");
  remove_verb->add_option("NAME", remove->options.name, "NAME or MODEL:NAME")->required();
  verbs.push_back(adapter_verb_of(remove_verb, remove, "  quire adapter remove pirate"));
}

}  // namespace quire::cli
