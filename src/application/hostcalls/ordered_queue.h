#pragma once
// OrderedQueue holds what came in and was not handed out yet. Each element is numbered as it comes,
// so that one that was handed out for a future that is dropped gets its place back, whatever the
// order in which futures are dropped.
//
// Thread   its owner's.
//
// Invariants, checked by verify():
//   OQ1  Numbers grow from the front to the back, and none is above the last that was given.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/lazy_deque.h"

namespace quire::hostcalls {

template <class T>
class OrderedQueue {
 public:
  struct Element {
    std::uint64_t order = 0;
    T value;
  };

  void push(T value) { elements_.push_back({++last_order_, std::move(value)}); }
  Element pop() {
    Element first = std::move(elements_.front());
    elements_.pop_front();
    return first;
  }
  void put_back(Element element) { elements_.insert(place(element.order), std::move(element)); }
  // Several that were handed out together, in their order.
  void put_back(std::vector<Element> elements) {
    if (elements.empty()) return;
    const auto count = static_cast<std::ptrdiff_t>(elements.size());
    const std::uint64_t last_order = elements.back().order;
    const auto first =
        elements_.insert(place(elements.front().order), std::make_move_iterator(elements.begin()),
                         std::make_move_iterator(elements.end()));
    const auto rest = first + count;
    if (rest == elements_.end() || last_order < rest->order) return;
    std::inplace_merge(first, rest, elements_.end(),
                       is_before);  // Some between them were put back.
  }

  const T& front() const { return elements_.front().value; }
  bool empty() const { return elements_.empty(); }
  std::size_t size() const { return elements_.size(); }
  auto begin() const { return elements_.begin(); }
  auto end() const { return elements_.end(); }

  void verify() const {
    std::uint64_t before = 0;
    for (const Element& each : elements_) {
      QUIRE_CHECK(before < each.order && each.order <= last_order_, "OQ1");
      before = each.order;
    }
  }

 private:
  static bool is_before(const Element& left, const Element& right) {
    return left.order < right.order;
  }
  auto place(std::uint64_t order) const {
    return std::partition_point(elements_.begin(), elements_.end(),
                                [&](const Element& each) { return each.order < order; });
  }

  LazyDeque<Element> elements_;
  std::uint64_t last_order_ = 0;
};

}  // namespace quire::hostcalls
