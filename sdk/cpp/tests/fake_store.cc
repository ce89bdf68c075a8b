// FakeHost's store: a map with versions. A change is there at once.
#include <cstring>

#include "fake_host.h"

namespace quire::abi::store {
namespace {

using test::host;

std::string text(const std::uint8_t* bytes, std::uint32_t count) {
  return std::string(reinterpret_cast<const char*>(bytes), count);
}

void append(std::string& out, const auto& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::int32_t failed(ErrorCode code, const std::string& message) {
  const std::int32_t future = host.new_future();
  host.fail(future, code, message);
  return future;
}

// A failed future where something else is there than was expected, or 0.
std::int32_t check(const std::string& key, std::int64_t expected, bool must_exist) {
  const auto found = host.values.find(key);
  const bool exists = found != host.values.end();
  if (!exists && (must_exist || expected > 0)) return failed(ErrorCode::NotFound, "no value");
  if (exists && expected >= 0 && static_cast<std::int64_t>(found->second.version) != expected) {
    return failed(ErrorCode::AlreadyExists, "another version");
  }
  return 0;
}

}  // namespace

std::int32_t put(const std::uint8_t* key, std::uint32_t key_count, const std::uint8_t* value,
                 std::uint32_t value_count, std::int64_t expected) {
  const std::string name = text(key, key_count);
  if (const std::int32_t refused = check(name, expected, false)) return refused;
  host.values[name] = {++host.last_version, text(value, value_count)};
  std::string bytes;
  append(bytes, host.last_version);
  return host.ready_future(bytes);
}

std::int32_t get(const std::uint8_t* key, std::uint32_t key_count) {
  const std::string name = text(key, key_count);
  if (const std::int32_t refused = check(name, -1, true)) return refused;
  std::string bytes;
  append(bytes, host.values[name].version);
  return host.ready_future(bytes + host.values[name].bytes);
}

std::int32_t delete_(const std::uint8_t* key, std::uint32_t key_count, std::int64_t expected) {
  const std::string name = text(key, key_count);
  if (const std::int32_t refused = check(name, expected, true)) return refused;
  host.values.erase(name);
  return host.ready_future("");
}

std::int32_t list_keys(const std::uint8_t* prefix, std::uint32_t prefix_count,
                       const std::uint8_t* after, std::uint32_t after_count, std::uint32_t count) {
  const std::string begin = text(prefix, prefix_count);
  const std::string behind = text(after, after_count);
  std::string records;
  std::uint32_t given = 0;
  std::uint32_t has_more = 0;
  for (const auto& [name, value] : host.values) {
    if (!name.starts_with(begin) || name <= behind) continue;
    if (given == count) {
      has_more = 1;
      break;
    }
    ++given;
    append(records, value.version);
    append(records, static_cast<std::uint32_t>(value.bytes.size()));
    append(records, static_cast<std::uint32_t>(name.size()));
    records += name;
  }
  std::string head;
  append(head, given);
  append(head, has_more);
  return host.ready_future(head + records);
}

}  // namespace quire::abi::store
