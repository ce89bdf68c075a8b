#pragma once
// CachedPages are pages that lie in slots of page files without being in a snapshot. They are the
// disk tier of the page cache: limited in number, forgotten at a restart, and given up oldest
// first.
//
// Thread   the store's thread.
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "control/store/records.h"

namespace quire::store {

struct PageKey {
  Digest space{};
  PageName name{};
  auto operator<=>(const PageKey&) const = default;
};

// The place of a page's bytes while it is not in the index.
struct PlacedPage {
  std::uint64_t slot = 0;
  PageName parent{};
  // Found damaged, or written before a failed sync, which may have dropped it. Its checksum shows
  // whether it is there. No snapshot may rely on it, and the next put writes it again.
  bool is_doubtful = false;
};

class CachedPages {
 public:
  // The number of pages, without those that only wait for a ticket to end.
  std::size_t count() const { return pages_.size() - dropped_.size(); }

  const PlacedPage* find(const PageKey& key) const {
    const auto found = pages_.find(key);
    return found == pages_.end() ? nullptr : &found->second.placed;
  }
  // One that a snapshot can rely on when its file is synced.
  const PlacedPage* find_sound(const PageKey& key) const {
    const PlacedPage* placed = find(key);
    return placed == nullptr || placed->is_doubtful ? nullptr : placed;
  }
  void doubt_all(const Digest& space) {
    for (auto& [key, entry] : pages_) entry.placed.is_doubtful |= key.space == space;
  }
  void doubt(const PageKey& key) { pages_.at(key).placed.is_doubtful = true; }
  void trust(const PageKey& key) { pages_.at(key).placed.is_doubtful = false; }
  // The page was asked for: it becomes the youngest.
  void touch(const PageKey& key) {
    const auto found = pages_.find(key);
    if (found != pages_.end()) order_.splice(order_.end(), order_, found->second.place);
  }
  // To be forgotten when no ticket keeps it any more, unless it is put again.
  void drop_later(const PageKey& key) { dropped_.insert(key); }
  void keep(const PageKey& key) { dropped_.erase(key); }
  bool is_dropped(const PageKey& key) const { return dropped_.contains(key); }
  void insert(const PageKey& key, const PlacedPage& placed) {
    order_.push_back(key);
    pages_[key] = {placed, std::prev(order_.end())};
  }
  void erase(const PageKey& key) {
    const auto found = pages_.find(key);
    if (found == pages_.end()) return;
    dropped_.erase(key);
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
  std::set<PageKey> dropped_;
};

}  // namespace quire::store
