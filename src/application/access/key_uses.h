#pragma once
// KeyUses knows when keys were last used, to the minute, and what of it no file has yet. The file
// is KEYS.used beside the file of keys, a key a line:
//
//   # quire key uses 1
//   SHA256-OF-THE-KEY MINUTE
//
// Several servers may have the same file of keys: each adds what it knows, under a lock, and the
// latest time stays.
//
// Thread   any.
// Errors   of the file: Unavailable while another process changes it; InvalidArgument with the
//          line, for a text that is not of this form; Io.
// Bound    kKeyCountMax keys: the one that was used longest ago goes first.
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/result.h"
#include "base/sha256.h"

namespace quire::access {

// By the SHA-256 of the key: the beginning of the minute of its last use, in seconds since 1970.
using KeyUseTimes = std::map<Digest, std::uint64_t>;

class KeyUses {
 public:
  void note(const Digest& key, std::uint64_t now_unix_s);
  // The keys whose minute has changed since the last call.
  KeyUseTimes take_changes();

 private:
  std::mutex mutex_;     // Of all below.
  KeyUseTimes noted_;    // Of this server.
  KeyUseTimes changes_;  // Of these, what was not taken.
};

std::string key_uses_path(const std::string& keys_path);
// The uses that the file has; without a file there are none.
Result<KeyUseTimes> read_key_uses(const std::string& keys_path);
// The file has these uses, too. It is durable once this returns.
Result<void> add_key_uses(const std::string& keys_path, const KeyUseTimes& uses);

}  // namespace quire::access
