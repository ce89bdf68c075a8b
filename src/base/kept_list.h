#pragma once
// KeptList is a list that keeps its memory if an empty one is moved to it.
//
// So a value that a slab uses again (slab.h) is as new by one assignment, `*this = T()`, and no
// member can be forgotten. A list that has elements moves to it as to any list.
#include <type_traits>
#include <utility>

namespace quire {

template <typename List>
struct KeptList : List {
  using List::List;
  using List::operator=;
  KeptList() = default;
  KeptList(KeptList&&) = default;
  KeptList& operator=(KeptList&& other) noexcept(std::is_nothrow_move_assignable_v<List>) {
    if (other.empty()) {
      List::clear();
    } else {
      List::operator=(static_cast<List&&>(other));
    }
    return *this;
  }
};

}  // namespace quire
