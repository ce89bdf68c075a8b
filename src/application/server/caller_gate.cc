#include "application/server/caller_gate.h"

#include <algorithm>
#include <optional>

#include "application/server/error_forms.h"
#include "application/server/http_router.h"

namespace quire::server {
namespace {

// The key after "Bearer", whose case does not matter.
std::optional<std::string_view> bearer_of(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return std::nullopt;
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    const char each = authorization[i];
    const char lower = static_cast<char>(each >= 'A' && each <= 'Z' ? each - 'A' + 'a' : each);
    if (lower != kScheme[i]) return std::nullopt;
  }
  authorization.remove_prefix(kScheme.size());
  authorization.remove_prefix(std::min(authorization.find_first_not_of(' '), authorization.size()));
  return authorization;
}

// The first of these places that has a key is the one that counts. Two headers of one name are none: a
// proxy may have looked at the other one.
std::optional<std::string_view> key_of(const HttpHead& head) {
  const Credentials& given = head.credentials;
  if (given.authorizations.size() > 1 || given.api_keys.size() > 1) return std::nullopt;
  if (!given.authorizations.empty()) {
    if (const auto key = bearer_of(given.authorizations.front())) return key;
  }
  if (!given.api_keys.empty()) return given.api_keys.front();
  if (!head.is_upgrade) return std::nullopt;
  for (const std::string_view each : head.subprotocols) {
    if (each.starts_with(kKeySubprotocol)) return each.substr(kKeySubprotocol.size());
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> denied_to(const service::Principal& caller, service::Right right) {
  if (service::may(caller, right)) return std::nullopt;
  return Error(ErrorCode::PermissionDenied, "the key " + caller.key_name + " has not the right \"" +
                                                service::right_name(right) +
                                                "\" (it has: " + caller.rights.text() + ")");
}

std::variant<service::PrincipalHandle, HttpAnswer> CallerGate::caller_of(
    const HttpHead& head) const {
  if (keys_ == nullptr) return everyone_;
  const std::optional<std::string_view> key = key_of(head);
  if (key && access::is_key(*key)) {
    if (service::PrincipalHandle found = keys_->ring()->find(*key)) return found;
  }
  HttpAnswer answer =
      refusal_for({head.target, head.request_id}, 401, ErrorCode::PermissionDenied,
                  "this server wants a key that it knows, as Authorization: Bearer KEY or "
                  "x-api-key: KEY; its operator makes one with quire keys add");
  answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

}  // namespace quire::server
