#pragma once
// Schemas of the Gemini interface, which are a part of OpenAPI 3.0, as JSON schemas: types in
// capitals, "nullable", the order of properties, and limits that clients write as strings.
//
// Errors   those of a request, which name the place in the schema.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemini.h"

namespace endpoints::gemini {

class SchemaReader {
 public:
  // The schema as a JSON schema. `path` names it.
  Result<std::string> read(const Json& schema, const std::string& path) const {
    JsonWriter json;
    TRY(write(json, schema, path, 0));
    return json.str();
  }

 private:
  static constexpr std::size_t kDepthMax = 64;

  // The keyword as JSON schemas spell it.
  static std::string keyword(std::string_view name) {
    constexpr std::string_view kNames[] = {"anyOf",
                                           "minItems",
                                           "maxItems",
                                           "minLength",
                                           "maxLength",
                                           "minProperties",
                                           "maxProperties",
                                           "prefixItems",
                                           "propertyOrdering",
                                           "additionalProperties"};
    for (const std::string_view each : kNames) {
      if (name == each || name == snake_case(each)) return std::string(each);
    }
    if (name == "defs" || name == "ref") return "$" + std::string(name);
    return std::string(name);
  }
  static bool is_limit(std::string_view name) {
    return (name.starts_with("min") || name.starts_with("max")) && name.size() > 3;
  }
  // Keywords that describe a value, and ask nothing of it.
  static bool describes(std::string_view name) { return name == "example" || name == "nullable"; }

  // The name of the type in a JSON schema; empty: any. Null: it is unknown.
  static std::optional<std::string> type_of(const Json& given) {
    constexpr std::string_view kTypes[] = {"string", "number", "integer", "boolean",
                                           "array",  "object", "null"};
    if (given.is_null()) return std::string();
    if (!given.is_text()) return std::nullopt;
    const std::string written = capitals(given.text());
    if (written == "TYPE_UNSPECIFIED") return std::string();
    for (const std::string_view each : kTypes) {
      if (capitals(each) == written) return std::string(each);
    }
    return std::nullopt;
  }

  Result<void> write(JsonWriter& json, const Json& schema, const std::string& path,
                     std::size_t depth) const {
    if (schema.kind() == Json::Kind::Boolean) {  // "additionalProperties": false
      json.boolean(schema.boolean());
      return {};
    }
    if (!schema.is_object()) return wrong(path, "must be a schema, an object");
    if (depth > kDepthMax) {
      return wrong(path, "is a schema within more than " + std::to_string(kDepthMax) + " others");
    }
    if (schema["type"].is_array()) {  // A JSON schema has several types; OpenAPI 3.0 has one.
      json.raw(schema.str());
      return {};
    }
    const std::optional<std::string> type = type_of(schema["type"]);
    if (!type) {
      return wrong(path + ".type", schema["type"].str().substr(0, 40) +
                                       " is not one of STRING, NUMBER, INTEGER, BOOLEAN, ARRAY, "
                                       "OBJECT and NULL");
    }
    const Json nullable = schema["nullable"];
    if (!nullable.is_null() && nullable.kind() != Json::Kind::Boolean) {
      return wrong(path + ".nullable", "must be true or false");
    }
    const bool may_be_null = nullable.boolean() && *type != "null";
    if (may_be_null) json.begin_object().key("anyOf").begin_array();
    json.begin_object();
    if (!type->empty()) json.key("type").text(*type);
    TRY(write_keywords(json, schema, *type, path, depth));
    json.end_object();
    if (may_be_null) json.raw(R"({"type":"null"})").end_array().end_object();
    return {};
  }

  Result<void> write_keywords(JsonWriter& json, const Json& schema, std::string_view type,
                              const std::string& path, std::size_t depth) const {
    bool says_others = false;
    for (const auto& [given, value] : schema.members()) {
      const std::string name = keyword(given);
      const std::string at = path + "." + std::string(given);
      if (name == "type" || name == "propertyOrdering" || describes(name) || value.is_null()) {
        continue;
      }
      if (name == "format" && type != "string") continue;  // "int32", which describes.
      if (name == "format" && value.text() == "enum") continue;
      says_others = says_others || name == "additionalProperties";
      json.key(name);
      if (name == "properties") {
        TRY(write_properties(json, schema, at, depth));
      } else if (name == "$defs") {
        TRY(write_named(json, value, at, depth));
      } else if (name == "items" || name == "additionalProperties") {
        TRY(write(json, value, at, depth + 1));
      } else if (name == "anyOf" || name == "prefixItems") {
        TRY(write_list(json, value, at, depth));
      } else if (name == "enum") {
        TRY(write_enum(json, value, type, at));
      } else if (is_limit(name)) {
        TRY(write_limit(json, value, at));
      } else {
        json.raw(value.str());
      }
    }
    const bool lists_some = !schema["properties"].members().empty();
    // The interface's objects have no more, and a grammar would let a model write some.
    if (lists_some && !says_others) {
      json.key("additionalProperties").boolean(false);
    }
    return {};
  }

  // In the order of "propertyOrdering", then all others.
  Result<void> write_properties(JsonWriter& json, const Json& schema, const std::string& path,
                                std::size_t depth) const {
    const Json properties = schema["properties"];
    if (!properties.is_object()) return wrong(path, "must be an object, whose members are schemas");
    const Json camel = schema["propertyOrdering"];
    const Json order = camel.is_null() ? schema["property_ordering"] : camel;
    std::vector<std::string> first;
    for (const Json& each : order.items()) {
      const bool is_new = std::ranges::find(first, each.text()) == first.end();
      if (is_new && properties.has(each.text())) first.emplace_back(each.text());
    }
    json.begin_object();
    for (const std::string& each : first) {
      json.key(each);
      TRY(write(json, properties[each], path + "." + each, depth + 1));
    }
    for (const auto& [name, value] : properties.members()) {
      if (std::ranges::find(first, name) != first.end()) continue;
      json.key(name);
      TRY(write(json, value, path + "." + std::string(name), depth + 1));
    }
    json.end_object();
    return {};
  }

  Result<void> write_named(JsonWriter& json, const Json& schemas, const std::string& path,
                           std::size_t depth) const {
    if (!schemas.is_object()) return wrong(path, "must be an object, whose members are schemas");
    json.begin_object();
    for (const auto& [name, value] : schemas.members()) {
      json.key(name);
      TRY(write(json, value, path + "." + std::string(name), depth + 1));
    }
    json.end_object();
    return {};
  }

  Result<void> write_list(JsonWriter& json, const Json& schemas, const std::string& path,
                          std::size_t depth) const {
    if (!schemas.is_array()) return wrong(path, "must be an array of schemas");
    json.begin_array();
    std::size_t index = 0;
    for (const Json& each : schemas.items()) {
      TRY(write(json, each, at_index(path, index++), depth + 1));
    }
    json.end_array();
    return {};
  }

  // Google's schemas have strings alone, for numbers too.
  static Result<void> write_enum(JsonWriter& json, const Json& values, std::string_view type,
                                 const std::string& path) {
    if (!values.is_array() || values.items().empty()) {
      return wrong(path, "must be an array of values that are allowed");
    }
    const bool is_number = type == "integer" || type == "number";
    json.begin_array();
    for (const Json& each : values.items()) {
      const Result<Json> number = is_number && each.is_text() ? Json::parse(each.text()) : each;
      json.raw(number.ok() ? number.value().str() : each.str());
    }
    json.end_array();
    return {};
  }

  static Result<void> write_limit(JsonWriter& json, const Json& value, const std::string& path) {
    const Result<Json> number = value.is_text() ? Json::parse(value.text()) : value;
    if (!number.ok() || !number.value().is_number()) return wrong(path, "must be a number");
    json.raw(number.value().str());
    return {};
  }
};

}  // namespace endpoints::gemini
