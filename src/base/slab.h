#pragma once
// Slab: values with stable addresses that are made and destroyed often, and references to them that
// notice when their value is gone.
//
// T has a member `std::uint32_t generation`, which the slab raises when a value dies, and
// `recycle()`, which gives back what the value held and leaves it as new (buffers may keep their
// capacity, see kept_list.h).
#include <cstdint>
#include <deque>
#include <vector>

#include "base/check.h"

namespace quire {

template <typename T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* value) : value_(value), generation_(value->generation) {}
  // Null when the value has died.
  T* get() const {
    return value_ != nullptr && value_->generation == generation_ ? value_ : nullptr;
  }
  // The place of the value, also after it has died; reads nothing of it.
  const T* address() const { return value_; }

 private:
  T* value_ = nullptr;
  std::uint32_t generation_ = 0;
};

template <typename T>
class Slab {
 public:
  T* make() {
    ++live_count_;
    if (free_.empty()) return &values_.emplace_back();
    T* value = free_.back();
    free_.pop_back();
    return value;
  }
  void destroy(T* value) {
    QUIRE_CHECK(live_count_ > 0, "destroyed twice");
    --live_count_;
    ++value->generation;
    value->recycle();
    free_.push_back(value);
  }
  std::size_t live_count() const { return live_count_; }

 private:
  std::deque<T> values_;
  std::vector<T*> free_;
  std::size_t live_count_ = 0;
};

}  // namespace quire
