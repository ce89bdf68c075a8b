#include "base/draw_options.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <string>

namespace quire {
namespace {

constexpr std::size_t kHeadBytes = 8;
constexpr std::uint32_t kKeyMax = 19;
static_assert(kKeyMax == static_cast<std::uint32_t>(DrawOption::PenaltyFirst));

Error invalid(std::string message) {
  return Error(ErrorCode::InvalidArgument, std::move(message));
}

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::uint64_t little_endian(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8 | bytes[i - 1];
  return value;
}
std::uint32_t read_u32(std::span<const std::uint8_t> bytes, std::size_t offset) {
  return static_cast<std::uint32_t>(little_endian(bytes.subspan(offset, 4)));
}

Result<void> check_bytes(const char* name, std::span<const std::uint8_t> value, std::size_t bytes) {
  if (value.size() == bytes) return {};
  return invalid(std::string(name) + " takes " + std::to_string(bytes) + " bytes, not " +
                 std::to_string(value.size()));
}

// The entries of a packed list.
Result<std::size_t> entry_count(const char* name, std::span<const std::uint8_t> value,
                                std::size_t entry_bytes, std::size_t count_max) {
  const std::size_t count = value.size() / entry_bytes;
  if (value.size() % entry_bytes != 0) {
    return invalid(std::string(name) + " takes a multiple of " + std::to_string(entry_bytes) +
                   " bytes, not " + std::to_string(value.size()));
  }
  if (count > count_max) {
    return invalid(std::string(name) + " has " + std::to_string(count) + " entries; at most " +
                   std::to_string(count_max) + " are allowed");
  }
  return count;
}

Result<void> check_token(const char* name, std::uint32_t token, std::uint32_t vocabulary_size) {
  if (token < vocabulary_size) return {};
  return invalid(std::string(name) + " names token " + std::to_string(token) +
                 " of a vocabulary of " + std::to_string(vocabulary_size));
}

Result<void> read_breakers(std::span<const std::uint8_t> value, std::uint32_t vocabulary_size,
                           DrawRule& rule) {
  const std::size_t count = TRY(entry_count("dry_breakers", value, 4, kDryBreakerCountMax));
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t token = read_u32(value, 4 * i);
    TRY(check_token("dry_breakers", token, vocabulary_size));
    rule.dry_breakers.push_back(token);
  }
  return {};
}

Result<void> read_bias(std::span<const std::uint8_t> value, std::uint32_t vocabulary_size,
                       DrawRule& rule) {
  const std::size_t count = TRY(entry_count("logit_bias", value, 8, kLogitBiasCountMax));
  std::vector<std::uint32_t> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    const LogitBias each{read_u32(value, 8 * i), std::bit_cast<float>(read_u32(value, 8 * i + 4))};
    TRY(check_token("logit_bias", each.token, vocabulary_size));
    tokens.push_back(each.token);
    rule.logit_bias.push_back(each);
  }
  std::sort(tokens.begin(), tokens.end());
  const auto twice = std::adjacent_find(tokens.begin(), tokens.end());
  if (twice != tokens.end()) {
    return invalid("logit_bias names token " + std::to_string(*twice) + " twice");
  }
  return {};
}

Result<void> read_option(std::uint32_t key, std::span<const std::uint8_t> value,
                         std::uint32_t vocabulary_size, DrawRule& rule) {
  for (const DrawNumber& each : kDrawNumbers) {
    if (static_cast<std::uint32_t>(each.key) != key) continue;
    TRY(check_bytes(each.name, value, 8));
    rule.*each.field = std::bit_cast<double>(little_endian(value));
    return {};
  }
  for (const DrawCount& each : kDrawCounts) {
    if (static_cast<std::uint32_t>(each.key) != key) continue;
    TRY(check_bytes(each.name, value, 4));
    rule.*each.field = read_u32(value, 0);
    return {};
  }
  if (key == static_cast<std::uint32_t>(DrawOption::DryBreakers)) {
    return read_breakers(value, vocabulary_size, rule);
  }
  return read_bias(value, vocabulary_size, rule);
}

}  // namespace

Result<DrawRule> parse_draw_options(std::span<const std::uint8_t> options,
                                    std::uint32_t vocabulary_size) {
  DrawRule rule;
  bool is_given[kKeyMax + 1] = {};
  std::size_t offset = 0;
  while (offset < options.size()) {
    const std::size_t left = options.size() - offset;
    if (left < kHeadBytes) {
      return invalid("the options end within the head of an option: " + std::to_string(left) +
                     " of 8 bytes at offset " + std::to_string(offset));
    }
    const std::uint32_t key = read_u32(options, offset);
    const std::uint32_t bytes = read_u32(options, offset + 4);
    if (key == 0 || key > kKeyMax) {
      return Error(ErrorCode::NotSupported, "option " + std::to_string(key) +
                                                " of a rule is not known; this host knows 1 to " +
                                                std::to_string(kKeyMax));
    }
    if (bytes > left - kHeadBytes) {
      return invalid("the options end within option " + std::to_string(key) + ": " +
                     std::to_string(left - kHeadBytes) + " of its " + std::to_string(bytes) +
                     " bytes are there");
    }
    if (is_given[key]) return invalid("option " + std::to_string(key) + " occurs twice");
    is_given[key] = true;
    TRY(read_option(key, options.subspan(offset + kHeadBytes, bytes), vocabulary_size, rule));
    offset += kHeadBytes + bytes;
  }
  if (const auto wrong = sampling::out_of_range(rule)) {
    return invalid(std::string(wrong->name) + " must be " + wrong->range + ", not " +
                   text_of(wrong->value));
  }
  return rule;
}

}  // namespace quire
