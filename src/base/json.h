#pragma once
// JSON in and out, without exceptions. Text that comes in may be hostile: its depth is limited and
// no object has a key twice. Text that goes out may hold bytes from outside: a file's name, a
// program's message, a model's metadata.
//
// Everywhere else under src/, tools/check_layers.py refuses nlohmann's own parse and dump.
//
// Thread   any; no state.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quire {

using Json = nlohmann::json;                 // The members of an object by name.
using OrderedJson = nlohmann::ordered_json;  // As they were written.

inline constexpr std::uint32_t kJsonDepthMax = 64;

// Corrupted, naming `source` and the byte (counted from `offset`), for anything that is not one
// JSON value.
Result<Json> parse_json(std::string_view text, const std::string& source, std::uint64_t offset = 0);
Result<OrderedJson> parse_ordered_json(std::string_view text, const std::string& source,
                                       std::uint64_t offset = 0);

// One line without white space. Each byte that is not part of UTF-8 becomes U+FFFD; nlohmann's own
// dump() would throw. `AnyJson` is Json or OrderedJson.
template <typename AnyJson>
std::string dump_json(const AnyJson& json) {
  return json.dump(-1, ' ', false, AnyJson::error_handler_t::replace);
}

}  // namespace quire
