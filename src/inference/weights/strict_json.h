#pragma once
// JSON from files that may be hostile: bounded depth, no key twice in one object, no exceptions
// out.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quire::inference {

using Json = nlohmann::json;

inline constexpr std::uint32_t kJsonDepthMax = 64;

// Corrupted, naming `source` and the byte (counted from `offset`), for anything that is not one
// JSON value.
Result<Json> parse_json(std::string_view text, const std::string& source, std::uint64_t offset = 0);

// Reads members of one JSON object. A null counts as missing. Errors name the member.
class JsonObject {
 public:
  JsonObject(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  const Json* find(const char* key) const;  // Null when missing or JSON null.
  const std::string& where() const { return where_; }
  Result<std::optional<std::uint32_t>> find_u32(const char* key) const;
  Result<std::optional<double>> find_real(const char* key) const;
  Result<std::optional<bool>> find_bool(const char* key) const;
  Result<std::optional<std::string>> find_text(const char* key) const;
  Result<std::optional<JsonObject>> find_object(const char* key) const;
  Result<std::uint32_t> u32(const char* key) const;
  Result<double> real(const char* key) const;
  Result<std::string> text(const char* key) const;

 private:
  Error wrong_type(const char* key, const char* wanted) const;
  Error missing(const char* key) const;
  const Json& object_;
  std::string where_;
};

}  // namespace quire::inference
