#pragma once
// A binary heap of tenants, by index, with the one that has the most pages for its weight on top;
// of equals, the lower index. Knows where each is, so that one can change or leave.
//
// Thread   engine thread only.
#include <cstdint>
#include <vector>

namespace quire::control {

class ShareHeap {
 public:
  bool empty() const { return heap_.empty(); }
  std::uint32_t top() const { return heap_.front().tenant; }
  bool has(std::uint32_t tenant) const {
    return tenant < position_.size() && position_[tenant] != kNone;
  }
  void put(std::uint32_t tenant, std::uint32_t page_count, std::uint32_t weight);  // Or change.
  void erase(std::uint32_t tenant);
  void verify() const;

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  struct Item {
    std::uint32_t tenant = 0;
    std::uint32_t page_count = 0;
    std::uint32_t weight = 1;
  };
  static bool is_above(const Item& one, const Item& other);
  void place(std::uint32_t position, const Item& item);
  void settle(std::uint32_t position);

  std::vector<Item> heap_;
  std::vector<std::uint32_t> position_;  // Of each tenant; kNone: not here.
};

}  // namespace quire::control
