#pragma once
// Members of JSON objects from files that may be hostile, each of the type that is wanted or an
// Error that names it.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace quire::inference {

// "WHERE: WHAT".
Error corrupted_at(const std::string& where, const std::string& what);

// Reads members of one JSON object. A null counts as missing. Errors name the member.
class JsonObject {
 public:
  JsonObject(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  bool empty() const { return object_.empty(); }
  bool has(const char* key) const { return object_.contains(key); }  // Also as JSON null.
  auto members() const { return object_.items(); }                   // Pairs of name and value.
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
