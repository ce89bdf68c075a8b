#pragma once
// What the calls of the module "quire/raw" share; they are written by tools/interface_javascript.py.
#include "bind.h"

namespace quire::javascript {

// A typed array that the host writes to.
struct Buffer {
  std::uint8_t* data = nullptr;
  std::size_t bytes = 0;
};
template <>
struct FromJs<Buffer> {
  static const char* read(JSContext* js, JSValueConst value, Buffer& into) {
    const ByteView view = byte_view(js, value);
    if (!view.is_view) return "a typed array that is written to";
    into = {view.data, view.bytes};
    return nullptr;
  }
};

namespace raw {

inline Result<std::int64_t> checked_wide(std::int64_t returned) {
  if (returned >= 0) return returned;
  return Error{static_cast<ErrorCode>(-returned), last_error_message()};
}
inline Error too_little_room() {
  return {ErrorCode::InvalidArgument, "the typed array is too short for what is written to it"};
}
// The bytes of a future's result.
inline Task<Bytes> result(std::int32_t future) {
  co_return Bytes{co_await Future<std::string>(future)};
}

}  // namespace raw

}  // namespace quire::javascript
