#pragma once

#include <algorithm>
#include <boost/container/deque.hpp>

namespace quire {

// A std::deque that takes no memory before the first element; libstdc++'s takes 576 bytes at once.
// For what every instance has and few use.
template <class T>
using LazyDeque = boost::container::deque<T>;

// As std::erase, which knows the standard's containers only.
template <class T>
void erase_value(LazyDeque<T>& values, const T& value) {
  values.erase(std::remove(values.begin(), values.end(), value), values.end());
}

}  // namespace quire
