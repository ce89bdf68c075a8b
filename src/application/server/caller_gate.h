#pragma once
// CallerGate says who sends a request: it finds the key in the head and looks it up in the ring. A server
// without keys takes each client that reaches it for its operator.
//
// Thread   any.
// Errors   401 for no key, for a wrong one, for one that has expired and for two that differ, in one
//          text: a refusal does not say which keys exist.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "application/access/key_holder.h"
#include "base/result.h"
#include "base/wipe.h"
#include "service/principal.h"

namespace quire::server {

struct HttpAnswer;
struct HttpHead;

// A browser cannot give a WebSocket headers: it sends its key as the subprotocol "quire.key.KEY".
inline constexpr std::string_view kKeySubprotocol = "quire.key.";

// Why the caller may not, if so.
std::optional<Error> denied_to(const service::Principal& caller, service::Right right);

// Why a key was refused: the server does not know it, it is unclear which one it is, or it has ended.
enum class KeyRefusal : std::uint8_t { Unknown, Unclear, Expired };

// A key that was refused, for the operator: never the key itself.
struct RefusedKey {
  KeyRefusal why{};
  std::string key_name = {};  // Empty: the server does not know it.
};

// A caller without a key that the server knows.
struct Stranger {
  std::optional<RefusedKey> refused = {};  // None: it has shown no key.
};

class CallerGate {
 public:
  // Null: the server has no keys. The holder outlives the gate.
  explicit CallerGate(const access::KeyHolder* keys)
      : keys_(keys), everyone_(service::operator_without_keys()) {}

  bool has_keys() const { return keys_ != nullptr; }
  std::variant<service::PrincipalHandle, Stranger> caller_of(const HttpHead& head) const;
  // The answer to any stranger: it does not say what was wrong.
  static HttpAnswer refusal(const HttpHead& head);

 private:
  const access::KeyHolder* const keys_;
  const service::PrincipalHandle everyone_;
};

// Credentials are the headers of a request that may hold a key. Their end wipes them from memory.
struct Credentials {
  std::vector<WipedString> authorizations;  // Of each Authorization header.
  std::vector<WipedString> api_keys;        // Of each X-Api-Key header.
  std::vector<WipedString> google_keys;     // Of each X-Goog-Api-Key header.
  std::vector<WipedString>
      subprotocol_keys;  // Of each subprotocol that begins with kKeySubprotocol.
  // The lines of these headers: only a server without keys gives them to programs.
  WipedString lines;
};

}  // namespace quire::server
