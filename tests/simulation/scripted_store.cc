// What scripted guests do with values by key: they count up, each in its turn, and no count is
// lost.
#include <string>

#include "simulation/guest_bytes.h"

namespace quire::simulation {
namespace {

constexpr std::size_t kVersionBytes = 8;
constexpr std::int64_t kNone = 0;  // As `expected`: that there is none.

}  // namespace

// Reads a counter of the tenant, and puts one more in its place if nobody was quicker.
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
           if (!town_.tried_counts.contains({tenant_, key, count})) {
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
               if (taken.error == ErrorCode::AlreadyExists) return;  // Others were quicker.
               if (disk_failed("put", taken, {})) return;
               if (taken.bytes.size() != kVersionBytes) find("put gives no version");
               if (!town_.counts.insert({tenant_, key, count}).second) {
                 find("two programs made " + key + " " + std::to_string(count));
               }
             });
  if (made) town_.tried_counts.insert({tenant_, key, count});
}

}  // namespace quire::simulation
