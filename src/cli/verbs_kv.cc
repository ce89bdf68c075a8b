// `quire kv`: the saved contexts, and what a run did with its pages; without a model.
#include "cli/verb.h"

namespace quire::cli {
namespace {

struct KvVerb {
  KvAction action;
  const char* name;
  const char* about;
  const char* examples;
};

constexpr KvVerb kVerbs[] = {
    {KvAction::List, "list", "Name, tokens, pages, size, times of each",
     "  quire kv list\n  quire kv list --json"},
    {KvAction::Show, "show", "What one holds, and which engine can open it",
     "  quire kv show manual"},
    {KvAction::Export, "export", "One with all its pages as a file; replaces FILE",
     "  quire kv export manual manual.quirekv"},
    {KvAction::Import, "import",
     "A file that was exported, here or elsewhere; import only what you trust",
     "  quire kv import manual.quirekv --as manual2"},
    {KvAction::Delete, "delete", "Forget one; `quire kv gc` gives its space back",
     "  quire kv delete manual"},
    {KvAction::Verify, "verify", "Read every page of all tenants; exit code 1 for damage",
     "  quire kv verify"},
    {KvAction::Gc, "gc", "Forget what expired and what nothing reaches, and give its space back",
     "  quire kv gc"},
    {KvAction::Tree, "tree", "The page graph of a run: what was shared, found, kept",
     "  quire kv tree report.json\n  quire kv tree report.json --dot | dot -Tsvg > pages.svg"},
    {KvAction::Why, "why", "Tokens that a run saved, and why it computed the others",
     "  quire kv why report.json\n  quire kv why report.json --instance 3"},
};

Flag file(KvOptions& options, const char* help) {
  return Flag{"FILE", "", &options.file, help}.required();
}
Flag report(KvOptions& options) {
  return file(options, "What --kv-report FILE of `quire run` or `quire-bench` wrote");
}

std::vector<Flag> own_rows(KvOptions& options) {
  Flag name = Flag{"NAME", "", &options.name, "The snapshot (quire kv list)"}.required();
  switch (options.action) {
    case KvAction::Show:
    case KvAction::Delete:
      return {std::move(name)};
    case KvAction::Export:
      return {std::move(name), file(options, "Where to write it")};
    case KvAction::Import:
      return {file(options, "What `quire kv export` wrote"),
              {"--as", "NAME", &options.name, "Its name here; without it that of the file"},
              {"--overwrite", "", &options.overwrites, "Replace a snapshot of that name"}};
    case KvAction::Tree:
      return {report(options), {"--dot", "", &options.draws_dot, "For Graphviz"}};
    case KvAction::Why:
      return {report(options),
              {"--instance", "N", &options.instance, "Only of this one; from 0, in order of launch",
               whole_within(0, UINT32_MAX)}};
    case KvAction::List:
    case KvAction::Verify:
    case KvAction::Gc:
      break;
  }
  return {};
}

std::vector<Flag> store_rows(KvOptions& options) {
  return {
      Flag{"--store", "FOLDER", &options.store_folder,
           "Where contexts are saved; without it a folder of the user's data"}
          .from("QUIRE_STORE"),
      {"--tenant", "N", &options.tenant, "Whose; programs that are run here are tenant 0",
       whole_within(0, UINT32_MAX)},
  };
}

}  // namespace

void add_kv(CLI::App& app, std::vector<Verb>& verbs) {
  CLI::App* kv = app.add_subcommand("kv", "The saved contexts, and the pages of a run");
  kv->require_subcommand(1);
  kv->footer(R"(Examples:
  quire kv list
  quire kv export manual manual.quirekv
  quire run program.wasm --kv-report report.json && quire kv why report.json)");
  for (const KvVerb& each : kVerbs) {
    auto options = std::make_shared<KvOptions>();
    options->action = each.action;
    Rows rows(*kv, each.name, each.about);
    rows.add(own_rows(*options));
    const bool reads_store = each.action != KvAction::Tree && each.action != KvAction::Why;
    if (reads_store) rows.add(store_rows(*options));
    rows.add({json(options->output)});
    verbs.push_back(rows.verb(std::string("Examples:\n") + each.examples, options));
  }
}

}  // namespace quire::cli
