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

// The key, if all places that have a credential have the same one. A proxy in front may have looked
// at another place, and may have let the request through for what it found there. So there is no
// key if a header comes twice, or if the Authorization header has another scheme.
std::optional<std::string_view> key_of(const HttpHead& head) {
  const Credentials& given = head.credentials;
  for (const auto* each : {&given.authorizations, &given.api_keys, &given.google_keys}) {
    if (each->size() > 1) return std::nullopt;
  }
  std::vector<std::string_view> keys;
  if (!given.authorizations.empty()) {
    const auto key = bearer_of(given.authorizations.front());
    if (!key) return std::nullopt;
    keys.push_back(*key);
  }
  if (!given.api_keys.empty()) keys.push_back(given.api_keys.front());
  if (!given.google_keys.empty()) keys.push_back(given.google_keys.front());
  if (head.is_upgrade) {
    keys.insert(keys.end(), given.subprotocol_keys.begin(), given.subprotocol_keys.end());
  }
  const bool is_one =
      !keys.empty() && std::all_of(keys.begin(), keys.end(), [&](const std::string_view each) {
        return each == keys.front();
      });
  return is_one ? std::optional(keys.front()) : std::nullopt;
}

bool shows_none(const HttpHead& head) {
  const Credentials& given = head.credentials;
  return given.authorizations.empty() && given.api_keys.empty() && given.google_keys.empty() &&
         (!head.is_upgrade || given.subprotocol_keys.empty());
}

}  // namespace

std::optional<Error> denied_to(const service::Principal& caller, service::Right right) {
  if (service::may(caller, right)) return std::nullopt;
  return Error(ErrorCode::PermissionDenied, "the key " + caller.key_name + " has not the right \"" +
                                                service::right_name(right) +
                                                "\" (it has: " + caller.rights.text() + ")");
}

std::variant<service::PrincipalHandle, Stranger> CallerGate::caller_of(const HttpHead& head) const {
  if (keys_ == nullptr) return everyone_;
  if (shows_none(head)) return Stranger{};
  const std::optional<std::string_view> key = key_of(head);
  if (!key) return Stranger{RefusedKey{KeyRefusal::Unclear}};
  if (access::is_key(*key)) {
    if (service::PrincipalHandle found = keys_->ring()->find(*key)) {
      if (keys_->has_expired(*found)) {
        return Stranger{RefusedKey{KeyRefusal::Expired, found->key_name}};
      }
      keys_->note_use(*found);
      return found;
    }
  }
  return Stranger{RefusedKey{KeyRefusal::Unknown}};
}

HttpAnswer CallerGate::refusal(const HttpHead& head) {
  HttpAnswer answer = refusal_for(
      name_of(head), 401, ErrorCode::PermissionDenied,
      "this server wants a key that it knows, as Authorization: Bearer KEY, x-api-key: KEY or "
      "x-goog-api-key: KEY, and no second one that differs; its operator makes one with quire keys "
      "add");
  answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

}  // namespace quire::server
