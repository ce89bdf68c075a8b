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

// Adds what all of these verbs understand.
Verb keys_verb_of(Rows& rows, KeysState options, const char* examples) {
  rows.add({
      Flag{"--keys", "FILE", &options->file, "The file of keys, as quire serve --keys takes it"}
          .from("QUIRE_KEYS")
          .required(),
      json(options->output),
  });
  return rows.verb(std::string("Examples:\n") + examples,
                   [options]() -> Result<Request> { return Request(*options); });
}

// "" of a text that is a day.
std::string check_day(const std::string& text) {
  const bool is_day = text.size() == 10 && text[4] == '-' && text[7] == '-' &&
                      text.find_first_not_of("0123456789-") == std::string::npos;
  return is_day ? "" : in_quotes(text) + " is not a day, as 2026-11-25";
}

}  // namespace

void add_keys(CLI::App& app, std::vector<Verb>& verbs) {
  CLI::App* keys = app.add_subcommand("keys", "The keys of a server: add, list, revoke");
  keys->require_subcommand(1);
  keys->footer(
      R"(A server reads the file at its start and on SIGHUP.
docs/operate/access.md shows how keys are used.

Examples:
  quire keys add alice --keys keys.txt --tenant 1
  quire keys list --keys keys.txt
  quire keys revoke alice --keys keys.txt)");

  const KeysState add = keys_state_of(KeysAction::Add);
  Rows add_rows(*keys, "add", "Make a key and print it, once: the file has only its SHA-256");
  add_rows.add({
      Flag{"NAME", "", &add->name,
           "What the key is called in lists and reports: letters, digits, . - _"}
          .required(),
      {"--tenant", "N", &add->tenant,
       "The tenant for which clients with this key act; its limits are those of quire serve "
       "--tenant",
       whole_within(0, UINT32_MAX)},
      {"--rights", "RIGHT,...", &add->rights,
       "What the key may do: launch (programs, and requests to endpoints), upload, name-programs, "
       "see-tenant (what the own tenant holds), operate (everything, for each tenant)"},
  });
  verbs.push_back(keys_verb_of(add_rows, add,
                               "  quire keys add alice --keys keys.txt --tenant 1\n"
                               "  quire keys add web --keys keys.txt --tenant 2 --rights launch\n"
                               "  quire keys add admin --keys keys.txt --rights operate"));

  const KeysState list = keys_state_of(KeysAction::List);
  Rows list_rows(*keys, "list", "Name, tenant, rights and time of each; no key can be shown");
  verbs.push_back(keys_verb_of(list_rows, list,
                               "  quire keys list --keys keys.txt\n"
                               "  quire keys list --keys keys.txt --json"));

  const KeysState revoke = keys_state_of(KeysAction::Revoke);
  Rows revoke_rows(*keys, "revoke", "Forget a key; a server refuses it after SIGHUP");
  revoke_rows.add(
      {Flag{"NAME", "", &revoke->name, "The name of the key (quire keys list)"}.required()});
  verbs.push_back(keys_verb_of(revoke_rows, revoke, "  quire keys revoke alice --keys keys.txt"));
}

Verb add_usage(CLI::App& app) {
  auto options = std::make_shared<UsageOptions>();
  Rows rows(app, "usage", "What each tenant and key used of a server, by day");
  rows.add({
      Flag{"--data", "FILE", &options->data, "The file of quire serve --usage"}
          .from("QUIRE_USAGE")
          .required(),
      {"--since", "DAY", &options->since, "From this day on (UTC), as 2026-11-25",
       CLI::Validator(check_day, "")},
      {"--tenant", "N", &options->tenant, "Of this tenant only", whole_within(0, UINT32_MAX)},
      json(options->output),
  });
  return rows.verb(
      R"(A server writes every few seconds what instances used that have ended. docs/operate/access.md says what the columns count.

Examples:
  quire usage --data usage.sqlite
  quire usage --data usage.sqlite --since 2026-11-01 --tenant 1 --json)",
      [options]() -> Result<Request> { return Request(*options); });
}

}  // namespace quire::cli
