// `quire keys`: the keys of a server; `quire usage`: what was used with them.
#include "base/utf8.h"
#include "cli/verb.h"

namespace quire::cli {
namespace {

using KeysState = std::shared_ptr<KeysOptions>;

KeysState keys_state_of(KeysAction action) {
  auto options = std::make_shared<KeysOptions>();
  options->action = action;
  return options;
}

Verb keys_verb_of(CLI::App& app, KeysState options, const char* examples) {
  app.add_option("--keys", options->file, "The file of keys, as quire serve --keys takes it")
      ->envname("QUIRE_KEYS")
      ->type_name("FILE")
      ->required();
  add_json(app, options->output);
  app.footer(std::string("Examples:\n") + examples);
  return {&app, [options]() -> Result<Request> { return Request(*options); }};
}

}  // namespace

void add_keys(CLI::App& app, std::vector<Verb>& verbs) {
  CLI::App* keys = app.add_subcommand("keys", "The keys of a server: add, list, revoke");
  keys->require_subcommand(1);
  keys->footer(
      R"(A server reads the file at its start and on SIGHUP. docs/access.md shows how to use keys.

Examples:
  quire keys add alice --keys keys.txt --tenant 1
  quire keys list --keys keys.txt
  quire keys revoke alice --keys keys.txt)");

  const KeysState add = keys_state_of(KeysAction::Add);
  CLI::App* add_verb =
      keys->add_subcommand("add", "Make a key and print it, once: the file has only its SHA-256");
  add_verb
      ->add_option("NAME", add->name,
                   "What the key is called in lists and reports: letters, digits, . - _")
      ->required();
  add_verb
      ->add_option("--tenant", add->tenant,
                   "The tenant for which clients with this key act; its limits are those of quire "
                   "serve --tenant")
      ->type_name("N")
      ->transform(whole_within(0, UINT32_MAX))
      ->capture_default_str();
  add_verb
      ->add_option("--rights", add->rights,
                   "What the key may do: launch (programs, and requests to endpoints), upload, "
                   "name-programs, load-adapters, see-tenant (what "
                   "the own tenant holds), operate (everything, for each tenant)")
      ->type_name("RIGHT,...")
      ->capture_default_str();
  verbs.push_back(keys_verb_of(*add_verb, add,
                               "  quire keys add alice --keys keys.txt --tenant 1\n"
                               "  quire keys add web --keys keys.txt --tenant 2 --rights launch\n"
                               "  quire keys add admin --keys keys.txt --rights operate"));

  const KeysState list = keys_state_of(KeysAction::List);
  CLI::App* list_verb =
      keys->add_subcommand("list", "Name, tenant, rights and time of each; no key can be shown");
  verbs.push_back(keys_verb_of(*list_verb, list,
                               "  quire keys list --keys keys.txt\n"
                               "  quire keys list --keys keys.txt --json"));

  const KeysState revoke = keys_state_of(KeysAction::Revoke);
  CLI::App* revoke_verb =
      keys->add_subcommand("revoke", "Forget a key; a server refuses it after SIGHUP");
  revoke_verb->add_option("NAME", revoke->name, "The name of the key (quire keys list)")
      ->required();
  verbs.push_back(keys_verb_of(*revoke_verb, revoke, "  quire keys revoke alice --keys keys.txt"));
}

Verb add_usage(CLI::App& app) {
  auto options = std::make_shared<UsageOptions>();
  CLI::App* verb = app.add_subcommand("usage", "What each tenant and key used of a server, by day");
  verb->add_option("--data", options->data, "The file of quire serve --usage")
      ->envname("QUIRE_USAGE")
      ->type_name("FILE")
      ->required();
  verb->add_option("--since", options->since, "From this day on (UTC), as 2026-11-25")
      ->type_name("DAY")
      ->check([](const std::string& text) {
        const bool is_day = text.size() == 10 && text[4] == '-' && text[7] == '-' &&
                            text.find_first_not_of("0123456789-") == std::string::npos;
        return is_day ? std::string() : in_quotes(text) + " is not a day, as 2026-11-25";
      });
  verb->add_option("--tenant", options->tenant, "Of this tenant only")
      ->type_name("N")
      ->transform(whole_within(0, UINT32_MAX));
  add_json(*verb, options->output);
  verb->footer(
      R"(A server writes every few seconds what instances used that have ended. docs/access.md says what the columns count.

Examples:
  quire usage --data usage.sqlite
  quire usage --data usage.sqlite --since 2026-11-01 --tenant 1 --json)");
  return {verb, [options]() -> Result<Request> { return Request(*options); }};
}

}  // namespace quire::cli
