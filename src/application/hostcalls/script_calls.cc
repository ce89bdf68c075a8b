// script: the source that a runtime of scripts runs.
#include <algorithm>
#include <cstring>

#include "application/hostcalls/calls.h"

namespace quire::hostcalls {
namespace {

Result<std::string_view> script_of(const HostCall& call) {
  if (call.guest.script != nullptr) return std::string_view(*call.guest.script);
  return Error(ErrorCode::NotSupported, "this program is not a script");
}

}  // namespace

Result<std::int32_t> script_size(HostCall& call) {
  return count_result(TRY(script_of(call)).size());
}

Result<std::int32_t> script_read(HostCall& call, std::uint32_t offset, GuestAddress buffer,
                                 std::uint32_t capacity) {
  const std::string_view script = TRY(script_of(call));
  if (offset > script.size()) {
    return Error(ErrorCode::OutOfRange, "offset " + std::to_string(offset) + " of " +
                                            std::to_string(script.size()) + " bytes");
  }
  const std::string_view part = script.substr(offset, capacity);
  (void)TRY(give_bytes(call, part, buffer, capacity));
  return count_result(part.size());
}

}  // namespace quire::hostcalls
