#pragma once
// Principal is the caller of a service: the tenant for which it acts, and what it may do. A key of a server
// stands for one (application/access/key_ring.h). A server without keys takes each caller for its operator.
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

#include "base/instance_id.h"
#include "base/sha256.h"

namespace quire::service {

enum class Right : std::uint8_t {
  Launch,        // Run programs, and send requests to endpoints.
  Upload,        // Bring programs.
  NamePrograms,  // Give them names, which the tenant's own clients and programs find.
  LoadAdapters,  // Add adapters, and remove those of the own tenant.
  SeeTenant,     // See what the own tenant holds and has used.
  Operate,       // All of it, for each tenant; and see what all tenants hold.
};
inline constexpr Right kRights[] = {Right::Launch,       Right::Upload,    Right::NamePrograms,
                                    Right::LoadAdapters, Right::SeeTenant, Right::Operate};
// As a file of keys has it: "launch", "name-programs".
const char* right_name(Right right);

class Rights {
 public:
  constexpr Rights() = default;
  constexpr Rights(std::initializer_list<Right> rights) {
    for (const Right each : rights) add(each);
  }

  constexpr void add(Right right) { bits_ = static_cast<std::uint8_t>(bits_ | bit(right)); }
  constexpr bool has(Right right) const { return (bits_ & bit(right)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  // "launch,upload".
  std::string text() const;
  bool operator==(const Rights&) const = default;

 private:
  static constexpr std::uint8_t bit(Right right) {
    return static_cast<std::uint8_t>(1u << static_cast<unsigned>(right));
  }
  std::uint8_t bits_ = 0;
};

struct Principal {
  TenantId tenant{};
  std::string key_name;  // Empty: the server has no keys.
  Rights rights;
  Digest key{};  // SHA-256 of the key.
  // In seconds since 1970; from then on the key stands for nothing. None: it has no end.
  std::optional<std::uint64_t> end_unix_s = {};
  bool operator==(const Principal&) const = default;
};
// Immutable, so that threads share it.
using PrincipalHandle = std::shared_ptr<const Principal>;

// The right to operate is every right.
inline bool may(const Principal& principal, Right right) {
  return principal.rights.has(right) || principal.rights.has(Right::Operate);
}

inline bool has_expired(const Principal& principal, std::uint64_t now_unix_s) {
  return principal.end_unix_s && now_unix_s >= *principal.end_unix_s;
}

// Each caller of a server without keys.
PrincipalHandle operator_without_keys();

}  // namespace quire::service
