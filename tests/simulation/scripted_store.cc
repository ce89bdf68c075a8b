// Actions of scripted guests with values by key: they count up, each in its turn, and no count is
// lost.
#include <string>

#include "simulation/guest_bytes.h"

namespace quire::simulation {
namespace {

constexpr std::size_t kVersionBytes = 8;
constexpr std::int64_t kNone = 0;  // As `expected`: that there is none.

}  // namespace

// Reads a counter of the tenant, and puts one more in its place if no other guest was quicker.
void ScriptedGuest::count_up() {
  const std::string key = "counter " + std::to_string(dice_.below(2));
  const std::int64_t address = put_bytes(key);
  expect("get", call("store.get", {address, length_of(key)}), Comes::Surely,
         [this, key](const Taken& taken) {
           if (taken.error == ErrorCode::NotFound) return put_count(key, 1, kNone);
           if (disk_failed("get", taken, {})) return;
           if (taken.bytes.size() <= kVersionBytes) {
             find("get gives no value");
             return;
           }
           const std::uint64_t count = std::stoull(taken.bytes.substr(kVersionBytes));
           if (!town_.counters.tried.contains({tenant_, key, count})) {
             find(key + " holds " + std::to_string(count) + ", which nobody put");
           }
           put_count(key, count + 1, value_at<std::int64_t>(taken.bytes, 0));
         },
         {}, {ErrorCode::NotSupported});
}

void ScriptedGuest::put_count(const std::string& key, std::uint64_t count, std::int64_t expected) {
  const std::string value = std::to_string(count);
  const std::int64_t address = put_bytes(key);
  const std::int64_t bytes = put_bytes(value);
  const bool made =
      expect("put", call("store.put", {address, length_of(key), bytes, length_of(value), expected}),
             Comes::Surely, [this, key, count](const Taken& taken) {
               if (taken.error == ErrorCode::AlreadyExists) return;  // Another guest was quicker.
               if (disk_failed("put", taken, {})) return;
               if (taken.bytes.size() != kVersionBytes) find("put gives no version");
               if (!town_.counters.put.insert({tenant_, key, count}).second) {
                 find("two programs made " + key + " " + std::to_string(count));
               }
             });
  if (made) town_.counters.tried.insert({tenant_, key, count});
}

// A value of its own, which no other guest puts: there as it was put, and gone when it was deleted.
void ScriptedGuest::keep_and_delete() {
  const std::string key = "own " + std::to_string(instance_) + " " + std::to_string(value_count_++);
  const std::string value = "value of " + key;
  const std::int64_t address = put_bytes(key);
  const std::int64_t bytes = put_bytes(value);
  expect("put", call("store.put", {address, length_of(key), bytes, length_of(value), kNone}),
         Comes::Surely,
         [this, key, value](const Taken& taken) {
           if (disk_failed("put", taken, {})) return;
           const auto version = value_at<std::int64_t>(taken.bytes, 0);
           const std::int64_t at = put_bytes(key);
           expect("get", call("store.get", {at, length_of(key)}), Comes::Surely,
                  [this, key, value, version](const Taken& got) {
                    if (disk_failed("get", got, {})) return;
                    if (got.bytes.substr(kVersionBytes) != value ||
                        value_at<std::int64_t>(got.bytes, 0) != version) {
                      find(key + " is not what was put");
                    }
                    delete_value(key, version);
                  });
         },
         {}, {ErrorCode::NotSupported});
}

void ScriptedGuest::delete_value(const std::string& key, std::int64_t version) {
  const std::int64_t address = put_bytes(key);
  expect("delete", call("store.delete", {address, length_of(key), version}), Comes::Surely,
         [this, key](const Taken& taken) {
           if (disk_failed("delete", taken, {})) return;
           const std::int64_t at = put_bytes(key);
           expect("get", call("store.get", {at, length_of(key)}), Comes::Surely,
                  [this, key](const Taken& got) {
                    if (got.ok()) {
                      find(key + " is there behind its deletion");
                    } else if (got.error != ErrorCode::NotFound) {
                      disk_failed("get", got, {});
                    }
                  });
         });
}

// The tenant's counters by name: all that were there before the call, each with some count of its.
void ScriptedGuest::list_keys() {
  const std::string prefix = "counter ";
  const std::string after = dice_.one_in(2) ? "" : "counter 0";
  std::set<std::string> wanted;
  for (const auto& [tenant, key, count] : town_.counters.put) {
    if (tenant == tenant_ && key > after) wanted.insert(key);
  }
  const std::int64_t at = put_bytes(prefix);
  const std::int64_t behind = put_bytes(after);
  const std::int64_t count_max = dice_.between(1, 3);
  expect("list-keys",
         call("store.list-keys", {at, length_of(prefix), behind, length_of(after), count_max}),
         Comes::Surely,
         [this, after, wanted, count_max](const Taken& taken) {
           if (!disk_failed("list-keys", taken, {})) check_keys(taken, after, wanted, count_max);
         },
         {}, {ErrorCode::NotSupported});
}

void ScriptedGuest::check_keys(const Taken& taken, const std::string& after,
                               std::set<std::string> wanted, std::int64_t count_max) {
  constexpr std::size_t kEntryBytes = 16;  // Without the key.
  const auto count = value_at<std::uint32_t>(taken.bytes, 0);
  const bool has_more = value_at<std::uint32_t>(taken.bytes, 4) != 0;
  std::string last = after;
  std::size_t at = 8;
  for (std::uint32_t index = 0; index < count && at < taken.bytes.size(); ++index) {
    const auto key_bytes = value_at<std::uint32_t>(taken.bytes, at + 12);
    const std::string key = taken.bytes.substr(at + kEntryBytes, key_bytes);
    at += kEntryBytes + key_bytes;
    if (key <= last) find("list-keys gives " + key + " behind " + last);
    const auto tried = town_.counters.tried.lower_bound({tenant_, key, 0});
    if (tried == town_.counters.tried.end() || std::get<0>(*tried) != tenant_ ||
        std::get<1>(*tried) != key) {
      find("list-keys gives " + key + ", which nobody put");
    }
    wanted.erase(key);
    last = key;
  }
  if (count > count_max || at != taken.bytes.size()) find("list-keys gives no list");
  if (!has_more && !wanted.empty()) find("list-keys lacks " + *wanted.begin());
}

}  // namespace quire::simulation
