#pragma once
// KeepWheel says whose time to be kept is over: a ring of lists, one for each second of the
// longest time. Rounds up to whole seconds.
//
// Thread   engine thread only. Reads no clock.
#include <cstdint>
#include <vector>

#include "control/pages/eviction_policy.h"

namespace quire::control {

inline constexpr std::uint64_t kKeepSecondsMax = 3600;

class KeepWheel {
 public:
  explicit KeepWheel(std::uint32_t entry_count);

  bool has(EntryId entry) const { return links_[index_of(entry)].slot != kNone; }
  // Until `seconds` from now, at most kKeepSecondsMax. After advance() to the same time.
  void put(EntryId entry, std::uint64_t seconds, std::uint64_t now_ns);
  void erase(EntryId entry);
  // Appends those whose time is over to `ended`; they are gone from here.
  void advance(std::uint64_t now_ns, std::vector<EntryId>& ended);
  void verify() const;

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  static constexpr std::uint32_t kSlotCount = kKeepSecondsMax + 2;
  struct Link {
    EntryId next = kNoEntry;
    EntryId previous = kNoEntry;
    std::uint32_t slot = kNone;
  };
  std::vector<Link> links_;
  std::vector<EntryId> slots_;
  std::uint64_t second_ = 0;  // All up to and with this one are over.
  std::uint32_t count_ = 0;
};

}  // namespace quire::control
