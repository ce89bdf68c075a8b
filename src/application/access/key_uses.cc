#include "application/access/key_uses.h"

#include <algorithm>
#include <utility>

#include "application/access/key_ring.h"
#include "base/descriptor.h"
#include "base/file.h"
#include "base/private_file.h"
#include "base/utc_time.h"

namespace quire::access {
namespace {

constexpr std::string_view kFirstUsesLine = "# quire key uses 1";
constexpr std::uint64_t kMinute = 60;

void drop_oldest(KeyUseTimes& uses) {
  while (uses.size() > kKeyCountMax) {
    uses.erase(std::ranges::min_element(uses, {}, &KeyUseTimes::value_type::second));
  }
}

std::string text_of(const KeyUseTimes& uses) {
  std::string text = std::string(kFirstUsesLine) + "\n";
  for (const auto& [key, minute] : uses) text += hex(key) + " " + utc_text(minute) + "\n";
  return text;
}

Result<KeyUseTimes> parse_uses(std::string_view text) {
  KeyUseTimes uses;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t blank = line.find(' ');
    const auto key = parse_digest(line.substr(0, blank));
    const auto minute =
        blank == std::string_view::npos ? std::nullopt : parse_utc(line.substr(blank + 1));
    const bool is_right = number == 1 ? line == kFirstUsesLine : key && minute;
    if (!is_right) {
      return Error(ErrorCode::InvalidArgument,
                   "line " + std::to_string(number) +
                       ": this is not a file of uses of keys; a server makes it anew if it is "
                       "not there");
    }
    if (number > 1) uses[*key] = *minute;
  }
  return uses;
}

}  // namespace

void KeyUses::note(const Digest& key, std::uint64_t now_unix_s) {
  const std::uint64_t minute = std::min(now_unix_s, kUtcSecondsMax) / kMinute * kMinute;
  const std::lock_guard lock(mutex_);
  std::uint64_t& noted = noted_[key];
  if (std::exchange(noted, std::max(noted, minute)) >= minute) return;
  changes_[key] = minute;
  drop_oldest(noted_);
  drop_oldest(changes_);
}

KeyUseTimes KeyUses::take_changes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(changes_, {});
}

std::string key_uses_path(const std::string& keys_path) {
  return keys_path + ".used";
}

Result<KeyUseTimes> read_key_uses(const std::string& keys_path) {
  const std::string path = key_uses_path(keys_path);
  Result<std::string> text = read_file(path, kKeyFileBytesMax);
  if (!text.ok() && text.error().code() == ErrorCode::NotFound) return KeyUseTimes();
  if (!text.ok()) return std::move(text).take_error();
  Result<KeyUseTimes> uses = parse_uses(text.value());
  if (!uses.ok()) return std::move(uses).take_error().while_(path);
  return uses;
}

Result<void> add_key_uses(const std::string& keys_path, const KeyUseTimes& uses) {
  const std::string path = key_uses_path(keys_path);
  const Descriptor locked = TRY(lock_beside(path));
  KeyUseTimes all = TRY(read_key_uses(keys_path));
  for (const auto& [key, minute] : uses) {
    std::uint64_t& latest = all[key];
    latest = std::max(latest, minute);
  }
  drop_oldest(all);
  return replace_private_file(path, text_of(all));
}

}  // namespace quire::access
