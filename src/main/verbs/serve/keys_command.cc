#include "main/verbs/serve/keys_command.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "application/access/key_end.h"
#include "application/access/key_file.h"
#include "application/access/key_uses.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/random.h"
#include "base/utc_time.h"
#include "main/verbs/shared/kv_text.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

std::uint64_t now_unix_s() {
  return SystemWallClock().now_unix_ms() / 1000;
}

nlohmann::json json_of(const access::KeyEntry& entry) {
  const service::Principal& principal = *entry.principal;
  nlohmann::json json = {{"name", principal.key_name},
                         {"tenant", static_cast<std::uint32_t>(principal.tenant)},
                         {"rights", principal.rights.text()},
                         {"created", entry.created},
                         {"expires", nullptr},
                         {"has_expired", service::has_expired(principal, now_unix_s())}};
  if (principal.end_unix_s) json["expires"] = utc_text(*principal.end_unix_s);
  return json;
}

std::string end_text(const service::Principal& principal) {
  if (!principal.end_unix_s) return "never";
  return utc_text(*principal.end_unix_s) +
         (service::has_expired(principal, now_unix_s()) ? " (expired)" : "");
}

// None: no server has noted a use of the key.
std::optional<std::string> last_use(const access::KeyUseTimes& uses,
                                    const access::KeyEntry& entry) {
  const auto found = uses.find(entry.principal->key);
  if (found == uses.end()) return std::nullopt;
  return utc_text(found->second);
}

// As --expires has it; none: the key has no end.
Result<std::optional<std::uint64_t>> parse_end(const std::string& expires) {
  if (expires.empty()) return std::optional<std::uint64_t>();
  Result<std::uint64_t> end = access::parse_key_end(expires, now_unix_s());
  if (!end.ok()) return std::move(end).take_error().while_("--expires");
  return std::optional(end.value());
}

Result<int> add(const cli::KeysOptions& options) {
  Result<void> is_name = access::check_key_name(options.name);
  if (!is_name.ok()) return fail(cli::ExitCode::Usage, is_name.error().message());
  Result<service::Rights> rights = access::parse_rights(options.rights);
  if (!rights.ok()) return std::move(rights).take_error().while_("--rights");
  const std::optional<std::uint64_t> end = TRY(parse_end(options.expires));
  SystemRandom random;
  const std::string key = access::make_key(random);
  const access::KeyEntry entry{
      std::make_shared<const service::Principal>(service::Principal{
          TenantId{options.tenant}, options.name, rights.value(), access::digest_of_key(key), end}),
      utc_text(now_unix_s())};
  std::string shown = key + "\n";
  if (options.output == cli::OutputStyle::Json) {
    nlohmann::json json = json_of(entry);
    json["key"] = key;
    shown = json_line(json);
  }
  // The key is shown once and kept nowhere, so one that could not be shown is not added.
  const auto add_entry = [&](const access::KeyRing& ring) -> Result<access::KeyRing> {
    access::KeyRing added = TRY(ring.with(entry));
    Result<void> printed = try_print(shown);
    if (!printed.ok()) return std::move(printed).take_error().while_("no key was added");
    return added;
  };
  Result<void> changed =
      access::change_key_file(options.file, access::MissingFile::IsEmpty, add_entry);
  if (!changed.ok()) return std::move(changed).take_error();
  return cli::number(cli::ExitCode::Ok);
}

Result<int> list(const cli::KeysOptions& options) {
  const access::KeyRing ring = TRY(access::read_key_file(options.file));
  const Result<access::KeyUseTimes> uses = access::read_key_uses(options.file);
  if (!uses.ok())
    warn("the last uses of keys are not known: " + std::string(uses.error().message()));
  std::vector<std::vector<std::string>> rows = {
      {"NAME", "TENANT", "RIGHTS", "CREATED", "EXPIRES", "LAST USED"}};
  nlohmann::json json = nlohmann::json::array();
  for (const access::KeyEntry& each : ring.entries()) {
    const service::Principal& principal = *each.principal;
    const auto used = uses.ok() ? last_use(uses.value(), each) : std::nullopt;
    rows.push_back({principal.key_name,
                    std::to_string(static_cast<std::uint32_t>(principal.tenant)),
                    principal.rights.text(), each.created, end_text(principal),
                    used.value_or(uses.ok() ? "never" : "unknown")});
    json.push_back(json_of(each));
    json.back()["last_used"] = used ? nlohmann::json(*used) : nlohmann::json();
  }
  print(options.output == cli::OutputStyle::Json
            ? json_line(json)
            : table_text(rows, {false, true, false, false, false, false}));
  return cli::number(cli::ExitCode::Ok);
}

Result<int> revoke(const cli::KeysOptions& options) {
  TRY(access::change_key_file(
      options.file, access::MissingFile::IsError,
      [&](const access::KeyRing& ring) { return ring.without(options.name); }));
  if (options.output == cli::OutputStyle::Json) print(json_line({{"revoked", options.name}}));
  return cli::number(cli::ExitCode::Ok);
}

Result<int> keys(const cli::KeysOptions& options) {
  switch (options.action) {
    case cli::KeysAction::Add:
      return add(options);
    case cli::KeysAction::List:
      return list(options);
    case cli::KeysAction::Revoke:
      return revoke(options);
  }
  return cli::number(cli::ExitCode::Usage);
}

}  // namespace

int keys_command(const cli::KeysOptions& options) {
  const Result<int> code = keys(options);
  return code.ok() ? code.value() : fail(code.error());
}

}  // namespace quire
