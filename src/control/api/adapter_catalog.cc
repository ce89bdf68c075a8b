#include "control/api/adapter_catalog.h"

#include <algorithm>
#include <string>

#include "base/utf8.h"

namespace quire::control {

Result<void> check_adapter_name(std::string_view name) {
  const auto is_allowed = [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9') || each == '.' || each == '-' || each == '_';
  };
  if (!name.empty() && name.size() <= kAdapterNameBytesMax &&
      std::all_of(name.begin(), name.end(), is_allowed)) {
    return {};
  }
  return Error(ErrorCode::InvalidArgument, "adapter name " + in_quotes(name) + " is not 1 to " +
                                               std::to_string(kAdapterNameBytesMax) +
                                               " letters, digits, dots, dashes and underscores");
}

}  // namespace quire::control
