// `quire kv`: the saved contexts, and what a run did with its pages; without a model.
#include "cli/verb.h"

namespace quire::cli {
namespace {

using KvState = std::shared_ptr<KvOptions>;

KvState state_of(KvAction action) {
  auto options = std::make_shared<KvOptions>();
  options->action = action;
  return options;
}

Verb finished(Rows& rows, KvState options, const char* examples) {
  rows.add({json(options->output)});
  return rows.verb(std::string("Examples:\n") + examples,
                   [options]() -> Result<Request> { return Request(*options); });
}

// Of a verb that reads the store.
Verb store_verb(Rows& rows, KvState options, const char* examples) {
  rows.add({
      Flag{"--store", "FOLDER", &options->store_folder,
           "Where contexts are saved; without it a folder of the user's data"}
          .from("QUIRE_STORE"),
      {"--tenant", "N", &options->tenant, "Whose; programs that are run here are tenant 0",
       whole_within(0, UINT32_MAX)},
  });
  return finished(rows, options, examples);
}

// Of a verb that reads what a run or a bench wrote, and needs no store.
Verb report_verb(Rows& rows, KvState options, const char* examples) {
  rows.add({Flag{"FILE", "", &options->file,
                 "What --kv-report FILE of `quire run` or `quire-bench` wrote"}
                .required()});
  return finished(rows, options, examples);
}

Flag snapshot(const KvState& options) {
  return Flag{"NAME", "", &options->name, "The snapshot (quire kv list)"}.required();
}

void add_store_verbs(CLI::App& kv, std::vector<Verb>& verbs) {
  const KvState list = state_of(KvAction::List);
  Rows list_rows(kv, "list", "Name, tokens, pages, size, times of each");
  verbs.push_back(store_verb(list_rows, list, "  quire kv list\n  quire kv list --json"));

  const KvState show = state_of(KvAction::Show);
  Rows show_rows(kv, "show", "What one holds, and which engine can open it");
  show_rows.add({snapshot(show)});
  verbs.push_back(store_verb(show_rows, show, "  quire kv show manual"));

  const KvState exported = state_of(KvAction::Export);
  Rows export_rows(kv, "export", "One with all its pages as a file; replaces FILE");
  export_rows.add(
      {snapshot(exported), Flag{"FILE", "", &exported->file, "Where to write it"}.required()});
  verbs.push_back(store_verb(export_rows, exported, "  quire kv export manual manual.quirekv"));

  const KvState imported = state_of(KvAction::Import);
  Rows import_rows(kv, "import",
                   "A file that was exported, here or elsewhere; import only what you trust");
  import_rows.add({
      Flag{"FILE", "", &imported->file, "What `quire kv export` wrote"}.required(),
      {"--as", "NAME", &imported->name, "Its name here; without it that of the file"},
      {"--overwrite", "", &imported->overwrites, "Replace a snapshot of that name"},
  });
  verbs.push_back(
      store_verb(import_rows, imported, "  quire kv import manual.quirekv --as manual2"));

  const KvState deleted = state_of(KvAction::Delete);
  Rows delete_rows(kv, "delete", "Forget one; `quire kv gc` gives its space back");
  delete_rows.add({snapshot(deleted)});
  verbs.push_back(store_verb(delete_rows, deleted, "  quire kv delete manual"));

  Rows verify_rows(kv, "verify", "Read every page of all tenants; exit code 1 for damage");
  verbs.push_back(store_verb(verify_rows, state_of(KvAction::Verify), "  quire kv verify"));

  Rows gc_rows(kv, "gc", "Forget what expired and what nothing reaches, and give its space back");
  verbs.push_back(store_verb(gc_rows, state_of(KvAction::Gc), "  quire kv gc"));
}

void add_report_verbs(CLI::App& kv, std::vector<Verb>& verbs) {
  const KvState tree = state_of(KvAction::Tree);
  Rows tree_rows(kv, "tree", "The page graph of a run: what was shared, found, kept");
  tree_rows.add({{"--dot", "", &tree->draws_dot, "For Graphviz"}});
  verbs.push_back(report_verb(tree_rows, tree,
                              "  quire kv tree report.json\n"
                              "  quire kv tree report.json --dot | dot -Tsvg > pages.svg"));

  const KvState why = state_of(KvAction::Why);
  Rows why_rows(kv, "why", "Tokens that a run saved, and why it computed the others");
  why_rows.add({{"--instance", "N", &why->instance, "Only of this one; from 0, in order of launch",
                 whole_within(0, UINT32_MAX)}});
  verbs.push_back(report_verb(why_rows, why,
                              "  quire kv why report.json\n"
                              "  quire kv why report.json --instance 3"));
}

}  // namespace

void add_kv(CLI::App& app, std::vector<Verb>& verbs) {
  CLI::App* kv = app.add_subcommand("kv", "The saved contexts, and the pages of a run");
  kv->require_subcommand(1);
  kv->footer(R"(Examples:
  quire kv list
  quire kv export manual manual.quirekv
  quire run program.wasm --kv-report report.json && quire kv why report.json)");
  add_store_verbs(*kv, verbs);
  add_report_verbs(*kv, verbs);
}

}  // namespace quire::cli
