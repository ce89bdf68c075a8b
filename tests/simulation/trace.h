#pragma once
// Trace: everything that happens in a simulated world, as one number.
//
// Each event has a time, an actor, an action and its bytes. Two runs of one seed have equal hashes
// exactly when they had the same events. With an output each event is a line as well: the first
// line that differs names what was not determined by the seed.
//
// Thread   one.
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "base/clock.h"
#include "control/api/types.h"

namespace quire::simulation {

// As events name an instance.
inline std::uint64_t number(control::InstanceId id) {
  return static_cast<std::uint64_t>(id);
}

class Trace {
 public:
  // Lines go to `output`; null: nowhere.
  Trace(const Clock& clock, std::FILE* output) : clock_(clock), output_(output) {}

  struct Who {
    const char* kind;  // "guest", "device", ...
    std::uint64_t number = 0;
  };
  void note(const Who& who, std::string_view what, std::int64_t value, std::string_view bytes = {});

  std::uint64_t hash() const { return hash_; }
  std::uint64_t event_count() const { return event_count_; }

 private:
  void add(std::string_view bytes);
  void add(std::uint64_t value);
  void print(const Who& who, std::string_view what, std::int64_t value, std::string_view bytes);

  const Clock& clock_;
  std::FILE* const output_;
  std::uint64_t hash_ = 0xcbf29ce484222325u;
  std::uint64_t event_count_ = 0;
};

}  // namespace quire::simulation
