// `quire keys`: the keys of a server; `quire usage`: what was used with them.
#include "base/utf8.h"
#include "cli/verb.h"

namespace quire::cli {
namespace {

struct KeysVerb {
  KeysAction action;
  const char* name;
  const char* about;
  const char* examples;
};

constexpr KeysVerb kKeysVerbs[] = {
    {KeysAction::Add, "add", "Make a key and print it, once: the file has only its SHA-256",
     "  quire keys add alice --keys keys.txt --tenant 1\n"
     "  quire keys add web --keys keys.txt --tenant 2 --rights launch --expires 90d\n"
     "  quire keys add admin --keys keys.txt --rights operate"},
    {KeysAction::List, "list",
     "Name, tenant, rights, times and last use of each; no key can be shown",
     "  quire keys list --keys keys.txt\n  quire keys list --keys keys.txt --json"},
    {KeysAction::Revoke, "revoke", "Forget a key; a server refuses it after SIGHUP",
     "  quire keys revoke alice --keys keys.txt"},
};

std::vector<Flag> own_rows(KeysOptions& options) {
  switch (options.action) {
    case KeysAction::Add:
      return {
          Flag{"NAME", "", &options.name,
               "What the key is called in lists and reports: letters, digits, . - _"}
              .required(),
          {"--tenant", "N", &options.tenant,
           "The tenant for which clients with this key act; its limits are those of quire serve "
           "--tenant",
           whole_within(0, UINT32_MAX)},
          {"--rights", "RIGHT,...", &options.rights,
           "What the key may do: launch (programs, and requests to endpoints), upload, "
           "name-programs, load-adapters, see-tenant (what the own tenant holds), operate "
           "(everything, for each tenant)"},
          {"--expires", "DURATION|TIME", &options.expires,
           "When the key ends: after a duration (90d, 12h, 30min, 60s), or at a time in UTC "
           "(2026-12-31, 2026-12-31T12:00:00Z). Without it the key has no end"},
      };
    case KeysAction::Revoke:
      return {Flag{"NAME", "", &options.name, "The name of the key (quire keys list)"}.required()};
    case KeysAction::List:
      break;
  }
  return {};
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

  for (const KeysVerb& each : kKeysVerbs) {
    auto options = std::make_shared<KeysOptions>();
    options->action = each.action;
    Rows rows(*keys, each.name, each.about);
    rows.add(own_rows(*options));
    rows.add({
        Flag{"--keys", "FILE", &options->file, "The file of keys, as quire serve --keys takes it"}
            .from("QUIRE_KEYS")
            .required(),
        json(options->output),
    });
    verbs.push_back(rows.verb(std::string("Examples:\n") + each.examples, options));
  }
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
      options);
}

}  // namespace quire::cli
