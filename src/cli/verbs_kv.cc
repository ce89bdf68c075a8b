// `quire kv`: the saved contexts, and what a run did with its pages; without a model.
#include "cli/verb.h"

namespace quire::cli {
namespace {

using KvState = std::shared_ptr<KvOptions>;

// What all of them understand.
Verb verb_of(CLI::App& app, KvState options, const char* examples) {
  app.add_option("--store", options->store_folder,
                 "Where contexts are saved; without it a folder of the user's data")
      ->envname("QUIRE_STORE")
      ->type_name("FOLDER");
  app.add_option("--tenant", options->tenant, "Whose; programs that are run here are tenant 0")
      ->type_name("N")
      ->transform(whole_within(0, UINT32_MAX))
      ->capture_default_str();
  add_json(app, options->output);
  app.footer(std::string("Examples:\n") + examples);
  return {&app, [options]() -> Result<Request> { return Request(*options); }};
}

KvState state_of(KvAction action) {
  auto options = std::make_shared<KvOptions>();
  options->action = action;
  return options;
}

// Those that read what a run or a bench wrote, and need no store.
Verb report_verb_of(CLI::App& app, KvState options, const char* examples) {
  app.add_option("FILE", options->file,
                 "What --kv-report FILE of `quire run` or `quire-bench` wrote")
      ->required();
  add_json(app, options->output);
  app.footer(std::string("Examples:\n") + examples);
  return {&app, [options]() -> Result<Request> { return Request(*options); }};
}

void add_name(CLI::App& app, const KvState& options) {
  app.add_option("NAME", options->name, "The snapshot (quire kv list)")->required();
}

}  // namespace

void add_kv(CLI::App& app, std::vector<Verb>& verbs) {
  CLI::App* kv = app.add_subcommand("kv", "The saved contexts, and the pages of a run");
  kv->require_subcommand(1);
  kv->footer(R"(Examples:
  quire kv list
  quire kv export manual manual.quirekv
  quire run program.wasm --kv-report report.json && quire kv why report.json)");

  const KvState list = state_of(KvAction::List);
  CLI::App* list_verb = kv->add_subcommand("list", "Name, tokens, pages, size, times of each");
  verbs.push_back(verb_of(*list_verb, list, "  quire kv list\n  quire kv list --json"));

  const KvState show = state_of(KvAction::Show);
  CLI::App* show_verb = kv->add_subcommand("show", "What one holds, and which engine can open it");
  add_name(*show_verb, show);
  verbs.push_back(verb_of(*show_verb, show, "  quire kv show manual"));

  const KvState exported = state_of(KvAction::Export);
  CLI::App* export_verb =
      kv->add_subcommand("export", "One with all its pages as a file; replaces FILE");
  add_name(*export_verb, exported);
  export_verb->add_option("FILE", exported->file, "Where to write it")->required();
  verbs.push_back(verb_of(*export_verb, exported, "  quire kv export manual manual.quirekv"));

  const KvState imported = state_of(KvAction::Import);
  CLI::App* import_verb = kv->add_subcommand(
      "import", "A file that was exported, here or elsewhere; import only what you trust");
  import_verb->add_option("FILE", imported->file, "What `quire kv export` wrote")->required();
  import_verb->add_option("--as", imported->name, "Its name here; without it that of the file")
      ->type_name("NAME");
  import_verb->add_flag("--overwrite", imported->overwrites, "Replace a snapshot of that name");
  verbs.push_back(verb_of(*import_verb, imported, "  quire kv import manual.quirekv --as manual2"));

  const KvState deleted = state_of(KvAction::Delete);
  CLI::App* delete_verb =
      kv->add_subcommand("delete", "Forget one; `quire kv gc` gives its space back");
  add_name(*delete_verb, deleted);
  verbs.push_back(verb_of(*delete_verb, deleted, "  quire kv delete manual"));

  const KvState verify = state_of(KvAction::Verify);
  CLI::App* verify_verb =
      kv->add_subcommand("verify", "Read every page of all tenants; exit code 1 for damage");
  verbs.push_back(verb_of(*verify_verb, verify, "  quire kv verify"));

  const KvState gc = state_of(KvAction::Gc);
  CLI::App* gc_verb = kv->add_subcommand(
      "gc", "Forget what expired and what nothing reaches, and give its space back");
  verbs.push_back(verb_of(*gc_verb, gc, "  quire kv gc"));

  const KvState tree = state_of(KvAction::Tree);
  CLI::App* tree_verb =
      kv->add_subcommand("tree", "The page graph of a run: what was shared, found, kept");
  tree_verb->add_flag("--dot", tree->draws_dot, "For Graphviz");
  verbs.push_back(report_verb_of(*tree_verb, tree,
                                 "  quire kv tree report.json\n"
                                 "  quire kv tree report.json --dot | dot -Tsvg > pages.svg"));

  const KvState why = state_of(KvAction::Why);
  CLI::App* why_verb =
      kv->add_subcommand("why", "Tokens that a run saved, and why it computed the others");
  why_verb->add_option("--instance", why->instance, "Only of this one; from 0, in order of launch")
      ->type_name("N")
      ->transform(whole_within(0, UINT32_MAX));
  verbs.push_back(report_verb_of(*why_verb, why,
                                 "  quire kv why report.json\n"
                                 "  quire kv why report.json --instance 3"));
}

}  // namespace quire::cli
