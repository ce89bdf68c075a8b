#include "base/json.h"

#include <optional>
#include <set>
#include <vector>

#include "base/utf8.h"

namespace quire {
namespace {

// The depth is bounded before parsing, so that a megabyte of "[" costs a scan and not a stack.
std::optional<std::size_t> too_deep_at(std::string_view text) {
  std::uint32_t depth = 0;
  bool in_string = false;
  for (std::size_t index = 0; index < text.size(); ++index) {
    const char each = text[index];
    if (in_string) {
      if (each == '\\') ++index;
      if (each == '"') in_string = false;
    } else if (each == '"') {
      in_string = true;
    } else if (each == '{' || each == '[') {
      if (++depth > kJsonDepthMax) return index;
    } else if ((each == '}' || each == ']') && depth > 0) {
      --depth;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& source, std::uint64_t offset) {
  if (const auto at = too_deep_at(text)) {
    return Error(ErrorCode::Corrupted, source + ": byte " + std::to_string(offset + *at) +
                                           ": JSON nested deeper than " +
                                           std::to_string(kJsonDepthMax));
  }
  std::vector<std::set<std::string>> open_objects;
  std::string repeated;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == Json::parse_event_t::object_end) open_objects.pop_back();
    if (event == Json::parse_event_t::key && repeated.empty() &&
        !open_objects.back().insert(parsed.get<std::string>()).second) {
      repeated = in_quotes(parsed.get<std::string>());
    }
    return true;
  };
  try {
    Json value = Json::parse(text, watch);
    if (!repeated.empty()) {
      return Error(ErrorCode::Corrupted, source + ": the JSON key " + repeated + " appears twice");
    }
    return value;
  } catch (const Json::parse_error& error) {
    return Error(ErrorCode::Corrupted,
                 source + ": byte " + std::to_string(offset + error.byte) + ": not valid JSON");
  } catch (const Json::exception& error) {
    return Error(ErrorCode::Corrupted, source + ": not valid JSON: " + in_quotes(error.what()));
  }
}

}  // namespace quire
