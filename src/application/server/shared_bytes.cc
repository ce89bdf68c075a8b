#include "application/server/shared_bytes.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace quire::server {

SharedBytes::Holder* SharedBytes::who_gives_way(const Holder& holder, std::uint64_t wanted,
                                                Time now) const {
  const auto most = std::ranges::max_element(shares_.counts(), {},
                                             [](const auto& tenant) { return tenant.second; });
  if (most == shares_.counts().end()) return nullptr;
  if (most->first != holder.tenant_ && most->second > wanted &&
      !shares_.is_beyond_given(holder.tenant_, wanted)) {
    return orders_.at(most->first).front();
  }
  const auto own = orders_.find(holder.tenant_);
  if (own == orders_.end()) return nullptr;
  for (Holder* each : own->second) {
    if (each == &holder) continue;
    return now - each->taken_at_ > limits_.own_idle_time_max ? each : nullptr;
  }
  return nullptr;
}

bool SharedBytes::take(Holder& holder, std::uint64_t bytes, Time now) {
  if (bytes == 0) return true;
  while (!shares_.may_take(holder.tenant_, bytes)) {
    const std::uint64_t wanted = shares_.count_of(holder.tenant_) + bytes;
    Holder* gives_way = who_gives_way(holder, wanted, now);
    if (gives_way == nullptr) return false;
    give_all(*gives_way);
    gives_way->give_way();
  }
  shares_.take(holder.tenant_, bytes);
  Order& order = orders_[holder.tenant_];
  if (holder.bytes_ > 0) {
    order.splice(order.end(), order, holder.place_);
  } else {
    holder.place_ = order.insert(order.end(), &holder);
  }
  holder.bytes_ += bytes;
  holder.taken_at_ = now;
  return true;
}

void SharedBytes::give_all(Holder& holder) {
  if (holder.bytes_ == 0) return;
  const auto order = orders_.find(holder.tenant_);
  order->second.erase(holder.place_);
  if (order->second.empty()) orders_.erase(order);
  shares_.give(holder.tenant_, std::exchange(holder.bytes_, 0));
}

void SharedBytes::verify() const {
  for (const auto& [tenant, order] : orders_) {
    QUIRE_CHECK(!order.empty(), "SB2");
    std::uint64_t bytes = 0;
    for (const Holder* each : order) {
      QUIRE_CHECK(each->tenant_ == tenant && each->bytes_ > 0, "SB2");
      bytes += each->bytes_;
    }
    QUIRE_CHECK(bytes == shares_.count_of(tenant), "SB1");
  }
  QUIRE_CHECK(orders_.size() == shares_.counts().size(), "SB1");
  QUIRE_CHECK(shares_.count() <= limits_.bytes_max, "SB1");
}

}  // namespace quire::server
