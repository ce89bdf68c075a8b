// store: values of the tenant by key. The disk checks what is there; what was asked, this file.
#include <string>
#include <utility>

#include "application/hostcalls/calls.h"

namespace quire::hostcalls {
namespace {

using control::kKeyBytesMax;
using control::kListedKeyCountMax;
using control::kValueBytesMax;

Result<std::string> read_bounded(const HostCall& call, GuestList<std::uint8_t> list,
                                 std::uint32_t bytes_max, const char* what) {
  if (list.count > bytes_max) {
    return Error(ErrorCode::TooLarge, std::string(what) + ": " + std::to_string(list.count) +
                                          " bytes; " + std::to_string(bytes_max) + " at most");
  }
  return call.memory.read_bytes(list, what);
}

Result<std::string> read_key(const HostCall& call, GuestList<std::uint8_t> list) {
  if (list.count == 0) return Error(ErrorCode::InvalidArgument, "key: it has no bytes");
  return read_bounded(call, list, kKeyBytesMax, "key");
}

Result<void> check_expected(std::int64_t expected) {
  if (expected >= -1) return {};
  return Error(ErrorCode::InvalidArgument, "expected: " + std::to_string(expected) +
                                               "; -1 any version, 0 none, else one that was given");
}

}  // namespace

Result<std::int32_t> store_put(HostCall& call, GuestList<std::uint8_t> key,
                               GuestList<std::uint8_t> value, std::int64_t expected) {
  control::PutValue body;
  body.key = TRY(read_key(call, key));
  body.value = TRY(read_bounded(call, value, kValueBytesMax, "value"));
  body.expected = expected;
  TRY(check_expected(expected));
  const std::uint64_t bytes = body.key.size() + body.value.size();
  return submit_unqueued(call, std::move(body), bytes);
}

Result<std::int32_t> store_get(HostCall& call, GuestList<std::uint8_t> list) {
  std::string key = TRY(read_key(call, list));
  const std::uint64_t bytes = key.size();
  return submit_unqueued(call, control::GetValue{std::move(key)}, bytes);
}

Result<std::int32_t> store_delete(HostCall& call, GuestList<std::uint8_t> list,
                                  std::int64_t expected) {
  std::string key = TRY(read_key(call, list));
  TRY(check_expected(expected));
  const std::uint64_t bytes = key.size();
  return submit_unqueued(call, control::DeleteValue{std::move(key), expected}, bytes);
}

Result<std::int32_t> store_list_keys(HostCall& call, GuestList<std::uint8_t> prefix,
                                     GuestList<std::uint8_t> after, std::uint32_t count) {
  control::ListKeys body;
  body.prefix = TRY(read_bounded(call, prefix, kKeyBytesMax, "prefix"));
  body.after = TRY(read_bounded(call, after, kKeyBytesMax, "after"));
  body.count = count;
  if (count == 0 || count > kListedKeyCountMax) {
    return Error(ErrorCode::OutOfRange, "count: " + std::to_string(count) + " keys; 1 to " +
                                            std::to_string(kListedKeyCountMax));
  }
  const std::uint64_t bytes = body.prefix.size() + body.after.size();
  return submit_unqueued(call, std::move(body), bytes);
}

}  // namespace quire::hostcalls
