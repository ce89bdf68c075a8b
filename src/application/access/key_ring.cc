#include "application/access/key_ring.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "base/utc_time.h"
#include "base/utf8.h"

namespace quire::access {
namespace {

using service::Principal;
using service::PrincipalHandle;

constexpr std::string_view kFirstLine = "# quire keys 1";
constexpr std::string_view kKeyPrefix = "qk_";
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kSecretCharacters = 43;
constexpr char kBase64Url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t kToldKeyNameCountMax = 16;

bool is_one_of(char each, std::string_view all) {
  return all.find(each) != std::string_view::npos;
}

// Looks at every byte, whatever it finds.
bool equals_in_constant_time(const Digest& left, const Digest& right) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    difference |= static_cast<unsigned>(left[i] ^ right[i]);
  }
  return difference == 0;
}

// Five words with one blank between them, or six. The sixth is empty if it is not there.
std::optional<std::array<std::string_view, 6>> words_of_line(std::string_view line) {
  std::array<std::string_view, 6> words;
  constexpr std::size_t kLeastCount = 5;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t blank = line.find(' ');
    words[i] = line.substr(0, blank);
    if (words[i].empty()) return std::nullopt;
    if (blank == std::string_view::npos)
      return i + 1 >= kLeastCount ? std::optional(words) : std::nullopt;
    line.remove_prefix(blank + 1);
  }
  return std::nullopt;
}

Error not_a_time(std::string_view text) {
  return Error(ErrorCode::InvalidArgument,
               in_quotes(text) + " is not a time, as 2026-11-25T19:10:00Z");
}

Result<KeyEntry> parse_line(std::string_view line) {
  const auto words = words_of_line(line);
  if (!words) {
    return Error(ErrorCode::InvalidArgument,
                 "a name, a tenant, rights, a SHA-256, a time and perhaps an end were expected");
  }
  const auto& [name, tenant_text, rights_text, digest_text, created, end_text] = *words;
  TRY(check_key_name(name));
  std::uint32_t tenant = 0;
  const char* tenant_end = tenant_text.data() + tenant_text.size();
  const auto parsed = std::from_chars(tenant_text.data(), tenant_end, tenant);
  if (parsed.ec != std::errc() || parsed.ptr != tenant_end) {
    return Error(ErrorCode::InvalidArgument, in_quotes(tenant_text) + " is not a tenant's number");
  }
  const service::Rights rights = TRY(parse_rights(rights_text));
  const std::optional<Digest> digest = parse_digest(digest_text);
  if (!digest) {
    return Error(ErrorCode::InvalidArgument,
                 "the SHA-256 of the key is not 64 hex digits in lower case");
  }
  if (!parse_utc(created)) return not_a_time(created);
  const std::optional<std::uint64_t> end = parse_utc(end_text);
  if (!end_text.empty() && !end) return not_a_time(end_text);
  return KeyEntry{std::make_shared<const Principal>(
                      Principal{TenantId{tenant}, std::string(name), rights, *digest, end}),
                  std::string(created)};
}

}  // namespace

std::string make_key(RandomSource& random) {
  std::array<std::uint8_t, kSecretBytes + 1> bytes{};  // The last one stays 0: padding.
  random.fill(std::as_writable_bytes(std::span(bytes)).first(kSecretBytes));
  std::string key(kKeyPrefix);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const unsigned group = bytes[at] << 16 | bytes[at + 1] << 8 | bytes[at + 2];
    for (int shift = 18; shift >= 0; shift -= 6) key += kBase64Url[group >> shift & 63];
  }
  key.resize(kKeyPrefix.size() + kSecretCharacters);
  return key;
}

bool is_key(std::string_view text) {
  return text.size() == kKeyPrefix.size() + kSecretCharacters && text.starts_with(kKeyPrefix) &&
         std::all_of(text.begin(), text.end(),
                     [](char each) { return is_one_of(each, kBase64Url); });
}

Digest digest_of_key(std::string_view key) {
  return sha256(std::as_bytes(std::span(key)));
}

std::optional<Digest> parse_digest(std::string_view text) {
  Digest digest{};
  if (text.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const char* begin = text.data() + 2 * i;
    if (!is_one_of(begin[0], "0123456789abcdef") || !is_one_of(begin[1], "0123456789abcdef")) {
      return std::nullopt;
    }
    (void)std::from_chars(begin, begin + 2, digest[i], 16);  // Two digits were looked at.
  }
  return digest;
}

Result<void> check_key_name(std::string_view name) {
  const bool is_name = !name.empty() && name.size() <= kKeyNameBytesMax && name[0] != '#' &&
                       name[0] != '-' && std::all_of(name.begin(), name.end(), [](char each) {
                         return is_one_of(each, kBase64Url) || each == '.';
                       });
  if (is_name) return {};
  return Error(ErrorCode::InvalidArgument,
               in_quotes(name) + " is not the name of a key: 1 to " +
                   std::to_string(kKeyNameBytesMax) +
                   " letters, digits, dots, dashes and underscores, without a dash in front");
}

Result<service::Rights> parse_rights(std::string_view text) {
  service::Rights rights;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    bool is_known = false;
    std::string known;
    for (const service::Right each : service::kRights) {
      known += (known.empty() ? "" : ", ") + std::string(service::right_name(each));
      if (word != service::right_name(each)) continue;
      rights.add(each);
      is_known = true;
    }
    if (!is_known) {
      return Error(ErrorCode::InvalidArgument,
                   in_quotes(word) + " is not a right: there are " + known);
    }
    if (comma == std::string_view::npos) return rights;
    text.remove_prefix(comma + 1);
  }
}

Result<KeyRing> KeyRing::parse(std::string_view text) {
  KeyRing ring;
  std::size_t number = 0;
  bool has_first_line = false;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string where = "line " + std::to_string(number);
    if (number == 1) has_first_line = line == kFirstLine;
    if (!has_first_line) break;
    if (line.empty() || line.starts_with('#')) continue;
    Result<KeyEntry> entry = parse_line(line);
    if (!entry.ok()) return std::move(entry).take_error().while_(where);
    Result<void> added = ring.add(std::move(entry).take());
    if (!added.ok()) return std::move(added).take_error().while_(where);
  }
  if (has_first_line) return ring;
  return Error(ErrorCode::InvalidArgument, "not a file of keys: it does not begin with \"" +
                                               std::string(kFirstLine) +
                                               "\"; `quire keys add` makes one");
}

PrincipalHandle KeyRing::find(std::string_view key) const {
  const Digest digest = digest_of_key(key);
  PrincipalHandle found;
  for (const KeyEntry& each : entries_) {
    if (equals_in_constant_time(each.principal->key, digest)) found = each.principal;
  }
  return found;
}

bool KeyRing::has_several_tenants() const {
  return std::ranges::any_of(entries_, [this](const KeyEntry& each) {
    return each.principal->tenant != entries_.front().principal->tenant;
  });
}

bool KeyRing::has_ends() const {
  return std::ranges::any_of(
      entries_, [](const KeyEntry& each) { return each.principal->end_unix_s.has_value(); });
}

bool KeyRing::holds(const Principal& principal) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const KeyEntry& each) { return *each.principal == principal; });
}

Result<void> KeyRing::add(KeyEntry entry) {
  if (entries_.size() >= kKeyCountMax) {
    return Error(ErrorCode::QuotaExceeded,
                 "there are " + std::to_string(entries_.size()) + " keys, as many as there may be");
  }
  for (const KeyEntry& each : entries_) {
    if (each.principal->key_name == entry.principal->key_name) {
      return Error(ErrorCode::AlreadyExists,
                   "a key is named " + each.principal->key_name +
                       " already: choose another name, or revoke that key first");
    }
    if (each.principal->key == entry.principal->key) {
      return Error(ErrorCode::AlreadyExists, each.principal->key_name + " and " +
                                                 entry.principal->key_name + " are the same key");
    }
  }
  entries_.push_back(std::move(entry));
  return {};
}

Result<KeyRing> KeyRing::with(KeyEntry entry) const {
  KeyRing more = *this;
  TRY(more.add(std::move(entry)));
  return more;
}

Result<KeyRing> KeyRing::without(std::string_view name) const {
  KeyRing less = *this;
  if (std::erase_if(less.entries_,
                    [&](const KeyEntry& each) { return each.principal->key_name == name; }) > 0) {
    return less;
  }
  std::string known;
  for (std::size_t i = 0; i < std::min(entries_.size(), kToldKeyNameCountMax); ++i) {
    known += (i == 0 ? "" : ", ") + entries_[i].principal->key_name;
  }
  if (entries_.size() > kToldKeyNameCountMax) known += ", ...";
  return Error(ErrorCode::NotFound,
               "no key is named " + in_quotes(name) +
                   (known.empty() ? ": there are none" : "; there are: " + known));
}

std::string KeyRing::text() const {
  std::string text = std::string(kFirstLine) + "\n";
  for (const KeyEntry& each : entries_) {
    const Principal& principal = *each.principal;
    text += principal.key_name + " " +
            std::to_string(static_cast<std::uint32_t>(principal.tenant)) + " " +
            principal.rights.text() + " " + hex(principal.key) + " " + each.created +
            (principal.end_unix_s ? " " + utc_text(*principal.end_unix_s) : "") + "\n";
  }
  return text;
}

}  // namespace quire::access
