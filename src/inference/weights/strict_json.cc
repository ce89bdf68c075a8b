#include "inference/weights/strict_json.h"

#include <limits>
#include <set>
#include <vector>

#include "inference/weights/byte_source.h"

namespace quire::inference {
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

const Json* JsonObject::find(const char* key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

Error JsonObject::wrong_type(const char* key, const char* wanted) const {
  return Error(ErrorCode::Corrupted, where_ + ": \"" + key + "\" is " + find(key)->type_name() +
                                         " where " + wanted + " was expected");
}

Error JsonObject::missing(const char* key) const {
  return Error(ErrorCode::NotFound, where_ + ": \"" + key + "\" is missing");
}

Result<std::optional<std::uint32_t>> JsonObject::find_u32(const char* key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<std::uint32_t>();
  if (!value->is_number_unsigned() ||
      value->get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
    return wrong_type(key, "an integer of 0 to 2^32 - 1");
  }
  return std::optional(value->get<std::uint32_t>());
}

Result<std::optional<double>> JsonObject::find_real(const char* key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<double>();
  if (!value->is_number()) return wrong_type(key, "a number");
  return std::optional(value->get<double>());
}

Result<std::optional<bool>> JsonObject::find_bool(const char* key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<bool>();
  if (!value->is_boolean()) return wrong_type(key, "a bool");
  return std::optional(value->get<bool>());
}

Result<std::optional<std::string>> JsonObject::find_text(const char* key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<std::string>();
  if (!value->is_string()) return wrong_type(key, "a text");
  return std::optional(value->get<std::string>());
}

Result<std::optional<JsonObject>> JsonObject::find_object(const char* key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<JsonObject>();
  if (!value->is_object()) return wrong_type(key, "an object");
  return std::optional(JsonObject(*value, where_ + ": \"" + key + "\""));
}

Result<std::uint32_t> JsonObject::u32(const char* key) const {
  const auto value = TRY(find_u32(key));
  if (!value) return missing(key);
  return *value;
}

Result<double> JsonObject::real(const char* key) const {
  const auto value = TRY(find_real(key));
  if (!value) return missing(key);
  return *value;
}

Result<std::string> JsonObject::text(const char* key) const {
  auto value = TRY(find_text(key));
  if (!value) return missing(key);
  return *std::move(value);
}

}  // namespace quire::inference
