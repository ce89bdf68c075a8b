#include "cli/adapter_option.h"

#include <cmath>
#include <cstdlib>

#include "base/utf8.h"

namespace quire::cli {
namespace {

// The number after the last '@', if there is one. A path may have an '@' too.
std::optional<float> take_scale(std::string& path) {
  const std::size_t at = path.rfind('@');
  if (at == std::string::npos || at + 1 == path.size()) return std::nullopt;
  const std::string text = path.substr(at + 1);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !std::isfinite(value)) return std::nullopt;
  path.resize(at);
  return static_cast<float>(value);
}

}  // namespace

Result<AdapterOption> parse_adapter(const std::string& text) {
  const std::size_t equals = text.find('=');
  AdapterOption option;
  if (equals != std::string::npos) {
    option.name = text.substr(0, equals);
    option.path = text.substr(equals + 1);
    option.scale = take_scale(option.path);
  }
  const std::size_t colon = option.name.find(':');
  if (colon != std::string::npos) {
    option.model = option.name.substr(0, colon);
    option.name = option.name.substr(colon + 1);
  }
  if (!option.name.empty() && !option.path.empty()) return option;
  return Error(
      ErrorCode::InvalidArgument,
      "--adapter " + in_quotes(text) + " is not NAME=PATH, as in pirate=examples/adapters/pirate");
}

}  // namespace quire::cli
