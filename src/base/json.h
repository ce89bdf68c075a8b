#pragma once
// JSON that may be hostile: bounded depth, no key twice in one object, no exceptions out.
//
// Thread   any; no state.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quire {

using Json = nlohmann::json;

inline constexpr std::uint32_t kJsonDepthMax = 64;

// Corrupted, naming `source` and the byte (counted from `offset`), for anything that is not one
// JSON value.
Result<Json> parse_json(std::string_view text, const std::string& source, std::uint64_t offset = 0);

}  // namespace quire
