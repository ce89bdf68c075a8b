#pragma once
// KeyRing holds the keys of a server, each with the principal that it stands for. It is the text of a file,
// a key a line:
//
//   # quire keys 1
//   NAME TENANT RIGHTS SHA256-OF-THE-KEY CREATED [END]
//
// Thread   any; nothing changes. A server replaces the ring whole (key_holder.h).
// Errors   InvalidArgument with the line, for a text that is not of this form.
// Bound    kKeyCountMax keys, kKeyFileBytesMax bytes.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/server_limits.h"
#include "base/sha256.h"
#include "service/principal.h"

namespace quire::access {

inline constexpr std::size_t kKeyCountMax = default_of<ServerLimit::KeyCountMax>();
inline constexpr std::uint64_t kKeyFileBytesMax = 2u << 20;
inline constexpr std::size_t kKeyNameBytesMax = 64;

// "qk_" and 43 characters of base64url: 256 random bits.
std::string make_key(RandomSource& random);
bool is_key(std::string_view text);
Digest digest_of_key(std::string_view key);
// The digest of 64 hex digits in lower case.
std::optional<Digest> parse_digest(std::string_view text);

// 1 to 64 letters, digits, dots, dashes and underscores. InvalidArgument.
Result<void> check_key_name(std::string_view name);
// "launch,upload". InvalidArgument lists the rights.
Result<service::Rights> parse_rights(std::string_view text);

struct KeyEntry {
  service::PrincipalHandle principal;
  std::string created;  // "2026-11-25T19:10:00Z".
};

class KeyRing {
 public:
  KeyRing() = default;
  static Result<KeyRing> parse(std::string_view text);

  // Null: the key is not here. One that has expired is found, too. The time does not depend on which keys are here, nor on how much of one
  // the given key has right.
  service::PrincipalHandle find(std::string_view key) const;
  // Whether a key still stands for exactly this principal.
  bool holds(const service::Principal& principal) const;

  const std::vector<KeyEntry>& entries() const { return entries_; }
  // Whether they are of more than one tenant.
  bool has_several_tenants() const;
  // Whether one of them has an end.
  bool has_ends() const;
  // AlreadyExists for a name that is taken; QuotaExceeded beyond kKeyCountMax.
  Result<KeyRing> with(KeyEntry entry) const;
  // NotFound lists the names.
  Result<KeyRing> without(std::string_view name) const;
  std::string text() const;

 private:
  Result<void> add(KeyEntry entry);

  std::vector<KeyEntry> entries_;
};

}  // namespace quire::access
