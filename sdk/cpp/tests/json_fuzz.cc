// Arbitrary bytes as JSON: Json reads what nlohmann's parser reads, as the same value, up to its own depth;
// what else it reads is a number that is too large for a double. A zero byte ends a text for nlohmann's
// parser, so texts with one are left out.
//
// The SDK's namespace has another name here, because what replays seeds uses the host's own Result,
// whose names are the same.
#include <nlohmann/json.hpp>
#define quire quire_guest
#include "quire/json.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace quire::abi::runtime {

// panic() logs before it traps.
std::int32_t log(std::uint32_t, const std::uint8_t*, std::uint32_t) {
  return 0;
}

}  // namespace quire::abi::runtime

namespace {

using quire::Json;

bool has_large_number(const Json& json) {
  if (!json.number().ok()) return true;
  for (const Json& each : json.items()) {
    if (has_large_number(each)) return true;
  }
  for (const auto& [name, value] : json.members()) {
    if (has_large_number(value)) return true;
  }
  return false;
}

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (text.find('\0') != std::string::npos) return 0;
  const quire::Result<Json> ours = Json::parse(text);
  const bool theirs = nlohmann::json::accept(text);
  std::size_t end = 0;
  const quire::Result<Json> first = Json::parse_first(text, end);
  require(end <= text.size());
  if (!ours.ok()) {
    const bool is_deep = ours.error().message.find("nesting of at most") != std::string::npos;
    require(!theirs || is_deep);
    return 0;
  }
  require(theirs || has_large_number(ours.value()));
  const std::string written = ours.value().str();
  require(Json::parse(written).ok() && Json::parse(written).value().str() == written);
  if (theirs) require(nlohmann::json::parse(text) == nlohmann::json::parse(written));
  if (!text.starts_with("\xEF\xBB\xBF")) require(first.ok() && first.value().str() == written);
  return 0;
}
