// NAME=VALUE of --limit, and NAME:VALUE of --tenant.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/utf8.h"
#include "cli/spelling.h"
#include "cli/verb.h"

namespace quire::cli {
namespace {

// "3600s", "500ms"; nanoseconds without a unit.
std::optional<std::uint64_t> parse_ns(std::string_view text) {
  struct Unit {
    std::string_view name;
    double ns;
  };
  constexpr Unit kUnits[] = {{"", 1},    {"ns", 1},     {"us", 1e3},   {"ms", 1e6},
                             {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
  const std::size_t number_end = std::min(text.find_first_not_of("0123456789."), text.size());
  double number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + number_end, number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + number_end) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (text.substr(number_end) != unit.name) continue;
    const double ns = std::round(number * unit.ns);
    return ns < 0x1p63 ? std::optional(static_cast<std::uint64_t>(ns)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return is_number ? std::optional(value) : std::nullopt;
}

std::optional<std::uint64_t> parse_value(LimitUnit unit, std::string_view text) {
  const std::optional<std::uint64_t> number = parse_count(text);  // Exact, of whatever unit.
  if (number || unit == LimitUnit::Count) return number;
  if (unit == LimitUnit::Nanoseconds) return parse_ns(text);
  const Result<std::uint64_t> bytes = parse_bytes(std::string(text));
  return bytes.ok() ? std::optional(bytes.value()) : std::nullopt;
}

bool is_set_by_limit(const ServerLimitRow& row) {
  return std::string_view(row.option) == "--limit";
}

Error unknown_limit(std::string_view name, LimitScope scope) {
  const std::vector<std::string> known = limit_names(scope);
  std::string all;
  for (const std::string& each : known) all += (all.empty() ? "" : ", ") + each;
  return Error(ErrorCode::InvalidArgument, "--limit: unknown limit " + in_quotes(name) +
                                               did_you_mean(name, known) + " (supported: " + all +
                                               ")");
}

const char* kind_of(LimitUnit unit) {
  if (unit == LimitUnit::Count) return "count";
  return unit == LimitUnit::Bytes ? "number of bytes (as in 512MiB)" : "time (as in 500ms, 3600s)";
}

}  // namespace

std::vector<std::string> limit_names(LimitScope scope) {
  std::vector<std::string> names;
  for (const InstanceLimitName& each : kInstanceLimits) names.emplace_back(each.name);
  for (const ServerLimitRow& each : kServerLimits) {
    if (scope == LimitScope::Server && is_set_by_limit(each)) names.emplace_back(each.name);
  }
  return names;
}

std::optional<std::size_t> find_limit(std::string_view name) {
  for (std::size_t index = 0; index < std::size(kInstanceLimits); ++index) {
    if (name == kInstanceLimits[index].name) return index;
  }
  return std::nullopt;
}

Result<InstanceLimitValue> parse_limit_value(std::size_t index, std::string_view text) {
  const InstanceLimitName& limit = kInstanceLimits[index];
  const std::optional<std::uint64_t> value = parse_value(limit.unit, text);
  if (value && *value >= limit.least && *value <= limit.most) {
    return InstanceLimitValue{index, *value};
  }
  const std::string unit = limit.unit == LimitUnit::Count   ? ""
                           : limit.unit == LimitUnit::Bytes ? " bytes"
                                                            : " ns";
  return Error(ErrorCode::InvalidArgument, std::string(limit.name) + ": " + in_quotes(text) +
                                               " is no " + kind_of(limit.unit) + " from " +
                                               std::to_string(limit.least) + " to " +
                                               std::to_string(limit.most) + unit);
}

Result<std::vector<ServerLimitValue>> take_server_limits(std::vector<std::string>& words) {
  std::vector<ServerLimitValue> limits;
  std::vector<std::string> others;
  for (std::string& word : words) {
    const std::string_view name = std::string_view(word).substr(0, word.find('='));
    const auto* const row = std::ranges::find_if(kServerLimits, [&](const ServerLimitRow& each) {
      return each.name == name && is_set_by_limit(each);
    });
    if (row == std::end(kServerLimits) || name.size() == word.size()) {
      others.push_back(std::move(word));
      continue;
    }
    const auto limit = static_cast<ServerLimit>(row - std::begin(kServerLimits));
    const std::optional<std::uint64_t> value = parse_value(row->unit, word.substr(name.size() + 1));
    if (!value || *value == 0 || *value > kLimitMost) {
      return Error(ErrorCode::InvalidArgument, "--limit: " + in_quotes(word) + " is no " +
                                                   kind_of(row->unit) + " from 1 to " +
                                                   std::to_string(kLimitMost));
    }
    for (const ServerLimitValue& other : limits) {
      if (other.limit != limit) continue;
      return Error(ErrorCode::InvalidArgument,
                   "--limit: " + std::string(row->name) + " is given twice");
    }
    limits.push_back({limit, *value});
  }
  words = std::move(others);
  return limits;
}

Result<std::vector<InstanceLimitValue>> parse_limits(const std::vector<std::string>& words,
                                                     LimitScope scope) {
  std::vector<InstanceLimitValue> limits;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (equals == std::string::npos) {
      return Error(ErrorCode::InvalidArgument,
                   "--limit: " + in_quotes(word) + " is not NAME=VALUE");
    }
    const std::optional<std::size_t> index = find_limit(name);
    if (!index) return unknown_limit(name, scope);
    for (const InstanceLimitValue& other : limits) {
      if (other.index != *index) continue;
      return Error(ErrorCode::InvalidArgument, "--limit: " + name + " is given twice");
    }
    Result<InstanceLimitValue> value = parse_limit_value(*index, word.substr(equals + 1));
    if (!value.ok()) return std::move(value).take_error().while_("--limit");
    limits.push_back(value.value());
  }
  return limits;
}

}  // namespace quire::cli
