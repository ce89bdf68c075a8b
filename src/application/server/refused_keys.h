#pragma once
// RefusedKeys says which refusals of keys have a line in the operator's log: of an address one in
// kRefusalPeriodNs, and of all addresses kRefusalLinesPerMinute. A refusal without a line is
// counted, and the next line has the count.
//
// Thread   of its owner; the time is passed in.
// Bound    an entry for each line of the last kRefusalPeriodNs, of which there are at most twice
//          kRefusalLinesPerMinute.
#include <cstdint>
#include <map>
#include <optional>

#include "application/access/rate.h"
#include "application/server/connection_table.h"
#include "base/clock.h"

namespace quire::server {

inline constexpr std::uint64_t kRefusalPeriodNs = 10 * kSecond;
inline constexpr std::uint64_t kRefusalLinesPerMinute = 20;

class RefusedKeys {
 public:
  // How many refusals had no line since the last one; none: this one has no line, too.
  std::optional<std::uint64_t> take(const ClientAddress& address, std::uint64_t now_ns);

 private:
  access::LeakyBucket lines_{kRefusalLinesPerMinute};
  std::map<ClientAddress, std::uint64_t> last_line_ns_;
  std::uint64_t held_back_count_ = 0;
};

}  // namespace quire::server
