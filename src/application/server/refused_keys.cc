#include "application/server/refused_keys.h"

#include <utility>

namespace quire::server {

std::optional<std::uint64_t> RefusedKeys::take(const ClientAddress& address, std::uint64_t now_ns) {
  std::erase_if(last_line_ns_,
                [&](const auto& each) { return now_ns - each.second >= kRefusalPeriodNs; });
  if (last_line_ns_.contains(address) || lines_.wait_ns(now_ns, 1) > 0) {
    ++held_back_count_;
    return std::nullopt;
  }
  lines_.add(now_ns, 1);
  last_line_ns_.emplace(address, now_ns);
  return std::exchange(held_back_count_, 0);
}

}  // namespace quire::server
