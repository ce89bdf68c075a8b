#include "inference/weights/strict_json.h"

#include <limits>

namespace quire::inference {

Error corrupted_at(const std::string& where, const std::string& what) {
  return Error(ErrorCode::Corrupted, where + ": " + what);
}

const Json* JsonObject::find(const char* key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

Error JsonObject::wrong_type(const char* key, const char* wanted) const {
  const Json& value = *find(key);
  const std::string is =
      value.is_number() ? dump_json(value) : std::string("of the type ") + value.type_name();
  return corrupted_at(
      where_, std::string("\"") + key + "\" is " + is + " where " + wanted + " was expected");
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
