#pragma once
// FlatMap: 32-bit keys to small values, open addressing with linear probing in one array.
//
// Every instance has a few; a look-up touches one cache line. Key 0 is not allowed (no id is 0).
// Pointers to values are valid until the next insert or erase.
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace quire {

template <typename Value>
class FlatMap {
 public:
  Value* find(std::uint32_t key) {
    if (cells_.empty()) return nullptr;
    for (std::size_t index = home(key);; index = next(index)) {
      if (cells_[index].key == key) return key == 0 ? nullptr : &cells_[index].value;
      if (cells_[index].key == 0) return nullptr;
    }
  }
  const Value* find(std::uint32_t key) const { return const_cast<FlatMap*>(this)->find(key); }

  // The value of `key`, made if it is missing.
  Value& operator[](std::uint32_t key) {
    QUIRE_CHECK(key != 0, "key 0 is not allowed");
    if ((count_ + 1) * 4 > cells_.size() * 3) grow();
    for (std::size_t index = home(key);; index = next(index)) {
      if (cells_[index].key == key) return cells_[index].value;
      if (cells_[index].key == 0) {
        ++count_;
        cells_[index].key = key;
        return cells_[index].value;
      }
    }
  }

  // Brings where `key` would be closer, for a find() soon.
  void fetch(std::uint32_t key) const {
    if (!cells_.empty()) __builtin_prefetch(&cells_[home(key)]);
  }

  bool erase(std::uint32_t key) {
    Value* found = find(key);
    if (found == nullptr) return false;
    std::size_t hole = home(key);
    while (cells_[hole].key != key) hole = next(hole);
    for (std::size_t index = next(hole); cells_[index].key != 0; index = next(index)) {
      const std::size_t wanted = home(cells_[index].key);
      const std::size_t mask = cells_.size() - 1;
      if (((index - wanted) & mask) < ((index - hole) & mask))
        continue;  // Must not move before home.
      cells_[hole] = std::move(cells_[index]);
      hole = index;
    }
    cells_[hole] = Cell{};
    --count_;
    return true;
  }

  std::size_t count() const { return count_; }

  template <typename Visit>
  void for_each(Visit&& visit) {
    for (Cell& cell : cells_) {
      if (cell.key != 0) visit(cell.key, cell.value);
    }
  }
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const Cell& cell : cells_) {
      if (cell.key != 0) visit(cell.key, cell.value);
    }
  }

 private:
  struct Cell {
    std::uint32_t key = 0;
    Value value{};
  };
  std::size_t home(std::uint32_t key) const {
    return (key * 0x9e3779b97f4a7c15ull >> 32) & (cells_.size() - 1);
  }
  std::size_t next(std::size_t index) const { return (index + 1) & (cells_.size() - 1); }

  void grow() {
    std::vector<Cell> old(cells_.empty() ? 8 : cells_.size() * 2);
    old.swap(cells_);
    for (Cell& cell : old) {
      if (cell.key == 0) continue;
      std::size_t index = home(cell.key);
      while (cells_[index].key != 0) index = next(index);
      cells_[index] = std::move(cell);
    }
  }

  std::vector<Cell> cells_;  // A power of two.
  std::size_t count_ = 0;
};

}  // namespace quire
