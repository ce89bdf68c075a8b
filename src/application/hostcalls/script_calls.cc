// script: the source that a runtime of scripts runs, and the byte code that it made of it.
#include <string_view>

#include "application/hostcalls/calls.h"

namespace quire::hostcalls {
namespace {

Result<const sandbox::Script*> script_of(const HostCall& call) {
  if (call.guest.script != nullptr) return call.guest.script.get();
  return Error(ErrorCode::NotSupported, "this program is not a script");
}

Result<std::int32_t> give_part(HostCall& call, std::string_view whole, std::uint32_t offset,
                               GuestAddress buffer, std::uint32_t capacity) {
  if (offset > whole.size()) {
    return Error(ErrorCode::OutOfRange, "offset " + std::to_string(offset) + " of " +
                                            std::to_string(whole.size()) + " bytes");
  }
  return give_bytes(call, whole.substr(offset, capacity), buffer, capacity);
}

}  // namespace

Result<std::int32_t> script_size(HostCall& call) {
  return count_result(TRY(script_of(call))->bundle.size());
}

Result<std::int32_t> script_read(HostCall& call, std::uint32_t offset, GuestAddress buffer,
                                 std::uint32_t capacity) {
  const sandbox::Script* script = TRY(script_of(call));
  return give_part(call, script->bundle, offset, buffer, capacity);
}

Result<std::int32_t> script_bytecode_size(HostCall& call) {
  return count_result(TRY(script_of(call))->byte_code.size());
}

Result<std::int32_t> script_read_bytecode(HostCall& call, std::uint32_t offset, GuestAddress buffer,
                                          std::uint32_t capacity) {
  const sandbox::Script* script = TRY(script_of(call));
  return give_part(call, script->byte_code, offset, buffer, capacity);
}

// Byte code is made where nothing of the script runs (sandbox/script_workbench.h), and nowhere
// else.
Result<std::int32_t> script_put_bytecode(HostCall&, GuestList<std::uint8_t>) {
  return Error(ErrorCode::NotSupported, "an instance that runs gives no byte code");
}

}  // namespace quire::hostcalls
