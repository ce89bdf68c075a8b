#include "control/api/adapter_catalog.h"

#include <algorithm>
#include <string>

#include "base/utf8.h"

namespace quire::control {

CalledAdapter called_adapter(const std::string& text) {
  const std::size_t colon = text.rfind(':');  // A name has none, and a model's may.
  if (colon == std::string::npos) return {std::nullopt, text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

Result<void> check_adapter_name(std::string_view name) {
  const auto is_allowed = [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9') || each == '.' || each == '-' || each == '_';
  };
  // Proxies fold a path that ends in one of these two.
  const bool is_folder = name == "." || name == "..";
  if (!name.empty() && !is_folder && name.size() <= kAdapterNameBytesMax &&
      std::all_of(name.begin(), name.end(), is_allowed)) {
    return {};
  }
  return Error(ErrorCode::InvalidArgument, "adapter name " + in_quotes(name) + " is not 1 to " +
                                               std::to_string(kAdapterNameBytesMax) +
                                               " letters, digits, dots, dashes and underscores, "
                                               "and not . or ..");
}

}  // namespace quire::control
