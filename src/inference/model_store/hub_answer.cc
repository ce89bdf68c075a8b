#include "inference/model_store/hub_answer.h"

#include <charconv>

#include "base/utf8.h"

namespace quire::inference {
namespace {

constexpr std::size_t kMessageBytesMax = 300;
constexpr std::size_t kWaitBytesMax = 40;

// The hub's own message, in parentheses.
std::string message_of(const HttpHead& head) {
  // A character that the limit cuts in two becomes printable, too.
  const std::string message = printable(head.field("x-error-message").substr(0, kMessageBytesMax));
  return message.empty() ? std::string() : " (\"" + message + "\")";
}

// How long to wait: Retry-After in seconds or as a date, or the `t` of a RateLimit field.
std::string wait_of(const HttpHead& head) {
  std::string wait = printable(head.field("retry-after").substr(0, kWaitBytesMax));
  if (wait.empty()) {
    const std::string limit = head.field("ratelimit");
    const std::size_t at = limit.find(";t=");
    if (at != std::string::npos)
      wait = limit.substr(at + 3, limit.find_first_not_of("0123456789", at + 3) - at - 3);
  }
  if (wait.empty()) return "; try again later";
  const bool is_number = wait.find_first_not_of("0123456789") == std::string::npos;
  return "; try again " + (is_number ? "after " + wait + " s" : "at " + wait);
}

Error denied(const HttpHead& head, const std::string& what, bool has_token,
             const std::string& answer) {
  std::string text = what + ": " + answer + message_of(head);
  if (head.field("x-error-code") == "GatedRepo") {
    text +=
        ": the repository is gated; accept its terms on its page, then set HF_TOKEN to a token of "
        "the account that did";
  } else if (has_token) {
    text += ": it does not take HF_TOKEN for this, or there is no such repository";
  } else {
    text +=
        ": there is no such repository, or it is private or gated, which the hub does not tell "
        "apart; check the name, or set HF_TOKEN to a token that may read it";
  }
  return Error(ErrorCode::PermissionDenied, text);
}

Error not_found(const HttpHead& head, const std::string& what, const std::string& answer) {
  const std::string code = head.field("x-error-code");
  const char* missing = code == "RevisionNotFound" ? "there is no such revision"
                        : code == "EntryNotFound"  ? "there is no such file in the repository"
                        : code == "RepoNotFound" ? "there is no such repository"
                                                 : "there is no such repository, revision or file";
  return Error(ErrorCode::NotFound, what + ": " + answer + message_of(head) + ": " + missing);
}

}  // namespace

Error refusal_of(const HttpHead& head, const std::string& what, bool has_token) {
  const std::string answer = "the hub answered " + std::to_string(head.status);
  if (head.status == 401 || head.status == 403) return denied(head, what, has_token, answer);
  if (head.status == 404) return not_found(head, what, answer);
  if (head.status == 429) {
    return Error(ErrorCode::QuotaExceeded,
                 what + ": " + answer + ", too many requests" + message_of(head) + wait_of(head));
  }
  const bool is_passing = head.status >= 500 && head.status <= 599;
  return Error(is_passing ? ErrorCode::Unavailable : ErrorCode::Io,
               what + ": " + answer + message_of(head));
}

std::optional<std::uint64_t> parse_byte_count(std::string_view field) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(field.data(), field.data() + field.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != field.data() + field.size()) return std::nullopt;
  return number;
}

std::optional<ContentRange> parse_content_range(std::string_view field) {
  if (!field.starts_with("bytes ")) return std::nullopt;
  field.remove_prefix(6);
  const std::size_t dash = field.find('-');
  const std::size_t slash = field.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) {
    return std::nullopt;
  }
  const auto first = parse_byte_count(field.substr(0, dash));
  const auto last = parse_byte_count(field.substr(dash + 1, slash - dash - 1));
  const auto bytes = parse_byte_count(field.substr(slash + 1));
  if (!first || !last || !bytes || *first > *last || *last >= *bytes) return std::nullopt;
  return ContentRange{*first, *last, *bytes};
}

}  // namespace quire::inference
