#pragma once
// The limits of a server that its tenants or its clients share, and who shares each. Plain values, from the one table in
// server_limits.inc.
#include <cstddef>
#include <cstdint>

#include "base/instance_limits.h"

namespace quire {

// LimitSharing says whether each tenant or each address has a share of a limit, so that one of them
// cannot take all of it.
struct LimitSharing {
  enum class Among : std::uint8_t { Tenants, Addresses, Nobody };
  Among among = Among::Nobody;
  const char* why = "";  // Without shares: why one may take all; else empty.
};

// The words of the column of the table.
namespace limit_sharing {
inline constexpr LimitSharing Tenant{LimitSharing::Among::Tenants};
inline constexpr LimitSharing Address{LimitSharing::Among::Addresses};
constexpr LimitSharing None(const char* why) {
  return {LimitSharing::Among::Nobody, why};
}
}  // namespace limit_sharing

struct ServerLimitRow {
  const char* name;
  LimitUnit unit;
  std::uint64_t value;  // By default; 0: it depends on the machine or on the model.
  LimitSharing sharing;
  const char* option;  // Of `quire serve`, that sets it; empty: it is fixed.
  const char* word;    // Of `--tenant`, that sets a tenant's share; empty: none does.
  const char* of;      // What it counts, and what happens beyond it, for docs/reference/limits.md.
  const char* beyond;
};

enum class ServerLimit : std::uint8_t {
#define QUIRE_SERVER_LIMIT(id, name, unit, value, shared, option, word, of, beyond) id,
#include "base/server_limits.inc"
#undef QUIRE_SERVER_LIMIT
};

inline constexpr ServerLimitRow kServerLimits[] = {
#define QUIRE_SERVER_LIMIT(id, name, unit, value, shared, option, word, of, beyond) \
  {name, LimitUnit::unit, value, limit_sharing::shared, option, word, of, beyond},
#include "base/server_limits.inc"
#undef QUIRE_SERVER_LIMIT
};

// A limit that the operator set by `--limit`.
struct ServerLimitValue {
  ServerLimit limit{};
  std::uint64_t value = 0;
  bool operator==(const ServerLimitValue&) const = default;
};

constexpr const ServerLimitRow& row_of(ServerLimit limit) {
  return kServerLimits[static_cast<std::size_t>(limit)];
}
// The value without an option. A limit that depends on the machine or the model has no default, and
// asking for it does not compile.
template <ServerLimit limit>
constexpr std::uint64_t default_of() {
  static_assert(row_of(limit).value > 0, "it depends on the machine");
  return row_of(limit).value;
}

constexpr bool says_who_shares_each_limit() {
  for (const ServerLimitRow& each : kServerLimits) {
    const bool has_reason = each.sharing.why[0] != '\0';
    if (has_reason != (each.sharing.among == LimitSharing::Among::Nobody)) return false;
  }
  return true;
}
static_assert(says_who_shares_each_limit(), "a limit that is not shared out has a reason");

}  // namespace quire
