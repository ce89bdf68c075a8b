#pragma once
// quire::store: small values by key that outlive the program and the server. They are the tenant's:
// all its programs see the same.
//
//   const store::Value count = co_await store::get("count");
//   co_await store::put("count", "7", store::Expected::version(count.version));
//   const Json turns = (co_await store::get_json("turns")).json;
//
// Errors   as interface/store.wit says; not-found for a key without a value, already-exists where
//          another version is there than was expected: read again, and try again.
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/bindings.h"
#include "quire/future.h"
#include "quire/json.h"
#include "quire/result.h"
#include "quire/runtime.h"
#include "quire/task.h"

namespace quire {

namespace store {

// The version that a key must have for a change to take effect.
class Expected {
 public:
  static Expected any() { return Expected(-1); }
  static Expected none() { return Expected(0); }
  static Expected version(std::uint64_t version) {
    return Expected(static_cast<std::int64_t>(version));
  }
  std::int64_t number() const { return number_; }

 private:
  explicit Expected(std::int64_t number) : number_(number) {}
  std::int64_t number_;
};

struct Value {
  std::uint64_t version = 0;  // Changes with each put.
  std::string bytes;
};

struct Key {
  std::string name;
  std::uint64_t version = 0;
  std::uint32_t value_bytes = 0;
};

struct KeyList {
  std::vector<Key> keys;
  bool has_more = false;  // After the last of `keys`.
};

}  // namespace store

template <>
struct FutureValue<std::uint64_t> {
  static Result<std::uint64_t> decode(std::span<const std::byte> bytes) {
    std::uint64_t value = 0;
    if (bytes.size() != sizeof value) return Error{ErrorCode::Internal, "a number of 8 bytes"};
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
};

template <>
struct FutureValue<store::Value> {
  static Result<store::Value> decode(std::span<const std::byte> bytes) {
    store::Value value;
    if (bytes.size() < sizeof value.version) return Error{ErrorCode::Internal, "a value"};
    std::memcpy(&value.version, bytes.data(), sizeof value.version);
    const std::span<const std::byte> rest = bytes.subspan(sizeof value.version);
    value.bytes.assign(reinterpret_cast<const char*>(rest.data()), rest.size());
    return value;
  }
};

template <>
struct FutureValue<store::KeyList> {
  static Result<store::KeyList> decode(std::span<const std::byte> bytes) {
    const Error torn{ErrorCode::Internal, "a list of keys that ends too early"};
    std::size_t at = 0;
    const auto number = [&](auto& into) {
      if (bytes.size() - at < sizeof into) return false;
      std::memcpy(&into, bytes.data() + at, sizeof into);
      at += sizeof into;
      return true;
    };
    std::uint32_t count = 0;
    std::uint32_t has_more = 0;
    if (!number(count) || !number(has_more)) return torn;
    store::KeyList list;
    list.has_more = has_more != 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      store::Key key;
      std::uint32_t name_bytes = 0;
      if (!number(key.version) || !number(key.value_bytes) || !number(name_bytes)) return torn;
      if (bytes.size() - at < name_bytes) return torn;
      key.name.assign(reinterpret_cast<const char*>(bytes.data()) + at, name_bytes);
      at += name_bytes;
      list.keys.push_back(std::move(key));
    }
    return list;
  }
};

namespace store {

// Gives the new version, when it is on disk.
inline Future<std::uint64_t> put(std::string_view key, std::string_view value,
                                 Expected expected = Expected::any()) {
  return Future<std::uint64_t>(abi::store::put(detail::bytes_of(key), detail::count_of(key.size()),
                                               detail::bytes_of(value),
                                               detail::count_of(value.size()), expected.number()));
}

inline Future<Value> get(std::string_view key) {
  return Future<Value>(abi::store::get(detail::bytes_of(key), detail::count_of(key.size())));
}

inline Future<void> remove(std::string_view key, Expected expected = Expected::any()) {
  return Future<void>(
      abi::store::delete_(detail::bytes_of(key), detail::count_of(key.size()), expected.number()));
}

inline constexpr std::uint32_t kListedKeyCountMax = 1000;

// Keys that begin with `prefix`, after `after`, in the order of their bytes.
inline Future<KeyList> list_keys(std::string_view prefix, std::string_view after = "",
                                 std::uint32_t count = kListedKeyCountMax) {
  return Future<KeyList>(
      abi::store::list_keys(detail::bytes_of(prefix), detail::count_of(prefix.size()),
                            detail::bytes_of(after), detail::count_of(after.size()), count));
}

// All of them.
inline Task<std::vector<Key>> all_keys(std::string prefix) {
  std::vector<Key> keys;
  for (bool has_more = true; has_more;) {
    KeyList list = co_await list_keys(prefix, keys.empty() ? "" : keys.back().name);
    has_more = list.has_more && !list.keys.empty();
    for (Key& each : list.keys) keys.push_back(std::move(each));
  }
  co_return keys;
}

// A value that is JSON.
struct JsonValue {
  std::uint64_t version = 0;
  Json json;
};
// invalid-argument: the value is not JSON.
inline Task<JsonValue> get_json(std::string key) {
  Value value = co_await get(key);
  Result<Json> json = Json::parse_in_place(std::move(value.bytes));
  if (!json.ok()) {
    co_await fail(json.error().code, "the value of " + key + ": " + json.error().message);
  }
  co_return JsonValue{value.version, std::move(json).take()};
}
inline Future<std::uint64_t> put_json(std::string_view key, const Json& json,
                                      Expected expected = Expected::any()) {
  return put(key, json.str(), expected);
}
inline Future<std::uint64_t> put_json(std::string_view key, const JsonWriter& json,
                                      Expected expected = Expected::any()) {
  return put(key, json.str(), expected);
}

}  // namespace store
}  // namespace quire
