#pragma once
// detail::Placed<T>: a base of T, so that a reference to an object of T finds it where it was moved
// to, and knows when it is gone.
//
// Owns     the place, a pointer to the object; references share it.
// Thread   a program has one.
#include <memory>
#include <utility>

namespace quire::detail {

template <typename T>
class Placed {
 public:
  Placed() = default;
  Placed(Placed&& other) noexcept : place_(std::move(other.place_)) { settle(); }
  Placed& operator=(Placed&& other) noexcept {
    if (this == &other) return *this;
    leave();
    place_ = std::move(other.place_);
    settle();
    return *this;
  }

  // Points to the object, or to nothing once that is gone.
  using Place = std::shared_ptr<T*>;
  Place place() {
    if (place_ == nullptr) place_ = std::make_shared<T*>(static_cast<T*>(this));
    return place_;
  }

 protected:
  ~Placed() { leave(); }

 private:
  void settle() {
    if (place_ != nullptr) *place_ = static_cast<T*>(this);
  }
  void leave() {
    if (place_ != nullptr) *place_ = nullptr;
  }
  Place place_;  // None until there is a reference to the object.
};

}  // namespace quire::detail
