#pragma once
// CachedPages: pages that lie in slots of page files without being anybody's snapshot. The disk
// tier of the page cache: bounded, forgotten at a restart, and given up oldest first.
//
// Thread   the store's thread.
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "control/store/records.h"

namespace quire::store {

struct PageKey {
  Digest space{};
  PageName name{};
  auto operator<=>(const PageKey&) const = default;
};

// Where a page's bytes lie while the index does not say so.
struct PlacedPage {
  std::uint64_t slot = 0;
  PageName parent{};
};

class CachedPages {
 public:
  std::size_t count() const { return pages_.size(); }

  const PlacedPage* find(const PageKey& key) const {
    const auto found = pages_.find(key);
    return found == pages_.end() ? nullptr : &found->second.placed;
  }
  // It was asked for: it becomes the youngest.
  void touch(const PageKey& key) {
    const auto found = pages_.find(key);
    if (found != pages_.end()) order_.splice(order_.end(), order_, found->second.place);
  }
  void insert(const PageKey& key, const PlacedPage& placed) {
    order_.push_back(key);
    pages_[key] = {placed, std::prev(order_.end())};
  }
  void erase(const PageKey& key) {
    const auto found = pages_.find(key);
    if (found == pages_.end()) return;
    order_.erase(found->second.place);
    pages_.erase(found);
  }
  // The oldest for which `may_go` holds.
  std::optional<PageKey> oldest(const std::function<bool(const PageKey&)>& may_go) const {
    for (const PageKey& key : order_) {
      if (may_go(key)) return key;
    }
    return std::nullopt;
  }
  template <typename Visit>
  void each(const Visit& visit) const {
    for (const auto& [key, entry] : pages_) visit(key, entry.placed);
  }

 private:
  struct Entry {
    PlacedPage placed;
    std::list<PageKey>::iterator place;
  };
  std::list<PageKey> order_;  // Oldest first.
  std::map<PageKey, Entry> pages_;
};

}  // namespace quire::store
